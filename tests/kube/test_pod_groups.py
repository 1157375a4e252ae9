"""Groups of pods on a real API server that has them: by the same flag, Fairway and kube-scheduler say the same."""

from __future__ import annotations

import secrets

import pytest

from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import GATES
from tests.kube.processes import wait_until

PATIENCE = 60.0


@pytest.fixture(params=["fairway", "kube-scheduler"])
def scheduler(grouping_plane: ControlPlane, request: pytest.FixtureRequest) -> str:
    """Who schedules."""
    start = grouping_plane.start_fairway if request.param == "fairway" else grouping_plane.start_kube_scheduler
    start({}, flags=[GATES])
    return str(request.param)


def node(name: str) -> Json:
    amounts = {"cpu": "2", "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": status,
    }


def group(name: str, namespace: str, least: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }


def member(name: str, namespace: str, of: str) -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "schedulingGroup": {"podGroupName": of}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def told(api: Api, name: str, namespace: str) -> tuple[str, str, str]:
    path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups/{name}"
    conditions = api.request("GET", path).get("status", {}).get("conditions", [])
    return next(((each["status"], each["reason"], each["message"]) for each in conditions), ("", "", ""))


def bound(api: Api, namespace: str) -> set[str]:
    return {each["metadata"]["name"] for each in api.items("Pod", namespace) if each["spec"].get("nodeName")}


def waits(api: Api, name: str, namespace: str) -> str:
    conditions = api.get("Pod", name, namespace).get("status", {}).get("conditions", [])
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def test_a_group_starts_together_and_one_that_does_not_fit_says_so(
    grouping_plane: ControlPlane, scheduler: str
) -> None:
    api, namespace = grouping_plane.api(), f"groups-{secrets.token_hex(4)}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for name in ("a", "b"):
        api.create(node(name))
    path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
    api.create(member("train-0", namespace, "train"))
    if scheduler == "fairway":  # kube-scheduler tells nobody
        words = 'waiting for pods\'s pod group "train" to appear in scheduling queue'
        wait_until(lambda: words in waits(api, "train-0", namespace), "it waits for its group", PATIENCE)
    api.request("POST", path, group("train", namespace, 3))
    api.create(member("train-1", namespace, "train"))
    if scheduler == "fairway":
        words = "waiting for minCount pods from a gang to appear in scheduling queue"
        wait_until(lambda: words in waits(api, "train-1", namespace), "it waits for the others", PATIENCE)
    api.create(member("train-2", namespace, "train"))
    wait_until(lambda: len(bound(api, namespace)) == 3, "all are bound", PATIENCE)
    wait_until(lambda: told(api, "train", namespace) == ("True", "Scheduled", ""), "people are told", PATIENCE)

    api.request("POST", path, group("wide", namespace, 2))
    for number in range(2):
        api.create(member(f"wide-{number}", namespace, "wide"))
    unschedulable = ("False", "Unschedulable", "pod group is unschedulable")
    wait_until(lambda: told(api, "wide", namespace) == unschedulable, "people are told", PATIENCE)
    fitted = "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    wait_until(
        lambda: (
            sorted(waits(api, f"wide-{number}", namespace)[:40] for number in range(2))
            == sorted([fitted[:40], "0/2 nodes are available: 2 Insufficient cpu."[:40]])
        ),
        "each is told why",
        PATIENCE,
    )
    assert len(bound(api, namespace)) == 3
    api.delete("Pod", "train-0", namespace)
    wait_until(lambda: {"wide-0", "wide-1"} <= bound(api, namespace), "there is room now", PATIENCE)
    wait_until(lambda: told(api, "wide", namespace)[:2] == ("True", "Scheduled"), "people are told", PATIENCE)


@pytest.mark.parametrize("is_known", [False, True], ids=["a node without such pods", "a node with one"])
def test_a_member_overlooks_what_one_before_it_in_the_attempt_wants(
    grouping_plane: ControlPlane, scheduler: str, is_known: bool
) -> None:
    """Anti-affinity of a member that was just placed counts only on nodes where pods had some before."""
    api, namespace = grouping_plane.api(), f"groups-{secrets.token_hex(4)}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    api.create(node("a"))
    if is_known:
        resident = wary("resident", namespace, "train", "nobody")
        del resident["spec"]["schedulingGroup"]
        resident["spec"]["nodeName"] = "a"
        resident["spec"]["containers"][0]["resources"] = {}
        api.create(resident)
    first = wary("first", namespace, "train", "quiet")
    first["spec"]["priorityClassName"] = "system-cluster-critical"
    second = member("second", namespace, "train")
    second["metadata"]["labels"] = {"app": "quiet"}
    for each in (first, second):
        api.create(each)
    herald = member("herald", namespace, "")  # pods are seen in order: when it is bound, the two are in the queue
    del herald["spec"]["schedulingGroup"]
    herald["spec"]["containers"][0]["resources"] = {}
    api.create(herald)
    wait_until(lambda: "herald" in bound(api, namespace), "the two are seen", PATIENCE)
    path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
    api.request("POST", path, group("train", namespace, 1))
    wait_until(lambda: "first" in bound(api, namespace), "the first is bound", PATIENCE)
    if is_known:
        words = "node(s) didn't satisfy existing pods anti-affinity rules"
        wait_until(lambda: words in waits(api, "second", namespace), "the second is told why not", PATIENCE)
    else:
        wait_until(lambda: "second" in bound(api, namespace), "so is the second", PATIENCE)


def wary(name: str, namespace: str, of: str, app: str) -> Json:
    """A member that does not want to be where pods of that app are."""
    made = member(name, namespace, of)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    made["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return made
