"""The control plane that other tests build on is itself what it says."""

from __future__ import annotations

import pytest

from tests.kube.api import ApiError, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import wait_until


def make_node(name: str, **resources: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **resources}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def make_pod(name: str, namespace: str, annotations: Json | None = None, **spec: object) -> Json:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations or {}}
    container = {"name": "main", "image": "example/image"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def phase(control_plane: ControlPlane, namespace: str, name: str) -> str:
    return str(control_plane.api().get("Pod", name, namespace)["status"]["phase"])


def test_the_server_is_of_the_version_that_the_corpus_is_of(control_plane: ControlPlane) -> None:
    assert control_plane.api().request("GET", "/version")["gitVersion"] == "v1.36.4"


def test_a_node_is_ready_to_be_used_as_it_is_created(control_plane: ControlPlane) -> None:
    made = control_plane.api().create(make_node("node-1"))
    assert made["spec"] == {}
    assert made["status"]["allocatable"]["cpu"] == "4"


def test_roles_are_enforced(control_plane: ControlPlane, namespace: str) -> None:
    assert control_plane.api("system:kube-scheduler").items("Node") == []
    for identity in ("nobody", "alice"):
        with pytest.raises(ApiError, match=r'403: .*cannot list resource "nodes"'):
            control_plane.api(identity).items("Node")


def test_service_accounts_have_tokens(control_plane: ControlPlane, namespace: str) -> None:
    token = control_plane.service_account_token(namespace, "worker")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = control_plane.api().request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
    assert answer["status"]["user"]["username"] == f"system:serviceaccount:{namespace}:worker"


def test_objects_outlive_restarts(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.api().create(make_node("node-1"))
    control_plane.restart_etcd()
    control_plane.restart_api_server()
    assert [node["metadata"]["name"] for node in control_plane.api().items("Node")] == ["node-1"]


def test_requests_are_recorded(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.api().create(make_pod("pod-1", namespace))
    made = [
        record["requestObject"]["metadata"]["name"]
        for record in control_plane.audit_records()
        if record["verb"] == "create" and record["objectRef"].get("namespace") == namespace
    ]
    assert made == ["pod-1"]


def test_kube_scheduler_binds_and_the_kubelet_runs_pods(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.api()
    api.create(make_node("node-1"))
    control_plane.start_kube_scheduler()
    control_plane.start_kubelet()
    api.create(make_pod("service", namespace))
    api.create(make_pod("job", namespace, {"fairway.test/runs-for": "100ms"}))
    wait_until(lambda: phase(control_plane, namespace, "service") == "Running", "the service runs")
    wait_until(lambda: phase(control_plane, namespace, "job") == "Succeeded", "the job is done")
    assert api.get("Pod", "service", namespace)["spec"]["nodeName"] == "node-1"
    assert api.get("Node", "node-1")["status"]["allocatable"]["cpu"] == "4"
    path = f"/api/v1/namespaces/{namespace}/pods/service"
    api.request("DELETE", path)  # with a grace period, which a kubelet ends
    wait_until(lambda: len(api.items("Pod", namespace)) == 1, "the service is gone")


def test_each_test_finds_the_cluster_empty(control_plane: ControlPlane) -> None:
    assert control_plane.api().items("Node") == []
    assert control_plane.api().items("Pod") == []


def test_what_a_finalizer_holds_is_removed_too(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.api()
    held = make_pod("held", namespace)
    held["metadata"]["finalizers"] = ["fairway.test/held"]
    api.create(held)
    control_plane.clear()
    assert api.items("Pod") == []
