"""A PodGroup of a real API server whose job waits in a queue says so, in the condition that Kubernetes has for it."""

from __future__ import annotations

import secrets

from tests.kube.batch import batch_kinds, job, node, queue, state_of, status_of
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import GATES
from tests.kube.jobs import PATIENCE
from tests.kube.processes import wait_until
from tests.kube.test_pod_groups import group, told


def test_it_says_its_place_its_date_and_what_it_waits_for(grouping_plane: ControlPlane) -> None:
    with batch_kinds(grouping_plane) as api:
        namespace = f"groups-{secrets.token_hex(4)}"
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        api.create(node("a", "2"))
        api.create(queue())
        grouping_plane.start_kubelet()
        grouping_plane.start_fairway({}, kubeconfig=grouping_plane.kubeconfig(), flags=[GATES])
        api.create(job("first", namespace, cpu="2"))
        wait_until(lambda: state_of(api, "first", namespace) == ("Running", ""), "the first one runs", PATIENCE)
        path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
        api.request("POST", path, group("train", namespace, 2))
        for number in range(2):
            member = job(f"train-{number}", namespace, cpu="1")
            member["spec"]["schedulingGroup"] = {"podGroupName": "train"}
            api.create(member)
        wait_until(lambda: "likely" in told(api, "train", namespace)[2], "its group says when", PATIENCE)
        status, reason, message = told(api, "train", namespace)
        record = status_of(api, "train", namespace)
        assert (status, reason) == ("False", "Unschedulable")
        assert message == f"queue batch: 1st, likely {record['start']}, waits for Resources: {record['message']}"
