"""Of what the cluster has already, only the missing pods are placed."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.testing import node, pod
from tests.cli.trial_files import Folder
from tests.explain.workloads.custom_objects import CASES
from tests.explain.workloads.fleets import deployment_pods, replica_set, running, workload

NODES = [node("n1", cpu=16), node("n2", cpu=16)]
NAMES = ["n1", "n2"]


def of_case(pod: dict[str, Any], name: str) -> dict[str, Any]:
    """The pod, with the containers of a case's template."""
    return pod | {"spec": pod["spec"] | CASES[name].thing["spec"]["template"]["spec"]}


THERE: dict[str, tuple[dict[str, Any], list[Any], list[str]]] = {
    "Deployment": (workload("Deployment", replicas=10), deployment_pods(8, NAMES), ["web-8", "web-9"]),
    "Deployment with its ReplicaSet": (
        workload("Deployment", replicas=10),
        [replica_set(8), *deployment_pods(8, NAMES)],
        ["web-8", "web-9"],
    ),
    "ReplicaSet": (
        workload("ReplicaSet", replicas=3),
        [running("web-x", "n1", "ReplicaSet/web")],
        ["web-1", "web-2"],
    ),
    "ReplicationController": (
        workload("ReplicationController", replicas=3),
        [running("web-x", "n1", "ReplicationController/web")],
        ["web-1", "web-2"],
    ),
    "StatefulSet": (
        workload("StatefulSet", replicas=4),
        [running(f"web-{index}", "n1", "StatefulSet/web") for index in (0, 2)],
        ["web-1", "web-3"],
    ),
    "DaemonSet": (workload("DaemonSet"), [running("web-x", "n1", "DaemonSet/web")], ["web-n2"]),
    "DaemonSet that has them all": (
        workload("DaemonSet"),
        [running(f"web-{name}", name, "DaemonSet/web") for name in NAMES],
        [],
    ),
    "Job": (workload("Job", parallelism=3), [running("web-x", "n1", "Job/web")], ["web-1", "web-2"]),
    "Job that did some of its work": (
        workload("Job", parallelism=3, completions=4),
        [running("web-x", "n1", "Job/web"), *(running(f"web-{n}", "n1", "Job/web", phase="Succeeded") for n in "yz")],
        ["web-1"],
    ),
    "all there": (workload("Deployment", replicas=3), deployment_pods(3, NAMES), []),
    "too many there": (workload("Deployment", replicas=2), deployment_pods(3, NAMES), []),
    "RayCluster": (
        CASES["RayCluster"].thing,
        [
            running(
                "r-1",
                "n1",
                "RayCluster/x",
                labels={
                    "ray.io/cluster": "x",
                    "ray.io/node-type": "worker",
                    "ray.io/group": "small",
                    "ray.io/is-ray-node": "yes",
                },
            )
        ],
        ["x-head", "x-small-worker-1", *(f"x-big-worker-{number}" for number in range(4))],
    ),
    "JobSet": (
        CASES["JobSet"].thing,
        [
            running(
                "x-workers-1-0-abcde",
                "n1",
                "Job/x-workers-1",
                labels={
                    "jobset.sigs.k8s.io/jobset-name": "x",
                    "jobset.sigs.k8s.io/replicatedjob-name": "workers",
                },
            )
        ],
        ["x-driver-0-0", "x-workers-0-1", "x-workers-1-0", "x-workers-1-1"],
    ),
    "CloneSet": (
        CASES["CloneSet"].thing,
        [of_case(running("x-abc", "n1", "CloneSet/x", app="a"), "CloneSet")],
        ["x-1"],
    ),
}


@pytest.mark.parametrize(("thing", "pods", "missing"), THERE.values(), ids=THERE)
def test_only_what_is_missing_is_placed(
    thing: dict[str, Any], pods: list[Any], missing: list[str], folder: Folder
) -> None:
    printed = folder.attempt([*NODES, *pods], [thing], "-o", "json")
    assert [row["pod"].removeprefix("default/") for row in printed.document["pods"]] == missing
    assert printed.code == 0
    there = sum(one["kind"] == "Pod" and one["status"]["phase"] == "Running" for one in pods)
    assert list(printed.document["there"].values()) == [there]
    assert f"{there} there already" in printed.err


def test_more_than_wanted_is_said(folder: Folder) -> None:
    printed = folder.attempt([*NODES, *deployment_pods(3, NAMES)], [workload("Deployment", replicas=2)])
    assert "0 of Deployment default/web (3 there already, 1 more than wanted)" in printed.err


@pytest.mark.parametrize("extra", [[], [replica_set(8)]], ids=["pods alone", "with the ReplicaSet"])
def test_new_pods_are_spread_among_those_that_are_there(extra: list[Any], folder: Folder) -> None:
    """The cluster's own hash is taken over: by it the scheduler counts pods of one ReplicaSet."""
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread |= {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"]}
    nodes = [node("n1", cpu=16, labels={"zone": "a"}), node("n2", cpu=16, labels={"zone": "b"})]
    pods = deployment_pods(3, ["n1"])
    deployment = workload("Deployment", replicas=5)
    for one in (deployment["spec"]["template"]["spec"], *(one["spec"] for one in pods)):
        one["topologySpreadConstraints"] = [spread]
    for one in extra:
        one["spec"]["template"]["spec"]["topologySpreadConstraints"] = [spread]
    printed = folder.attempt([*nodes, *extra, *pods], [deployment], "-o", "json")
    assert [row["node"] for row in printed.document["pods"]] == ["n2", "n2"]


def test_pods_that_wait_are_not_there(folder: Folder) -> None:
    waiting = running("web-abc-9", "", "ReplicaSet/web-abc", labels={"pod-template-hash": "abc"}, phase="Pending")
    del waiting["spec"]["nodeName"]
    printed = folder.attempt([*NODES, waiting, *deployment_pods(1, NAMES)], [workload("Deployment", replicas=3)])
    assert "2 of Deployment default/web (1 there already)" in printed.err


def test_pods_of_another_deployment_are_not_there(folder: Folder) -> None:
    others = deployment_pods(3, NAMES, name="web-two")
    printed = folder.attempt([*NODES, *others], [workload("Deployment", replicas=2)], "-o", "json")
    assert len(printed.document["pods"]) == 2


def test_a_pod_by_name_that_has_a_node_is_not_placed_again(folder: Folder) -> None:
    printed = folder.attempt([*NODES, pod("a", cpu=1, node="n1")], [pod("a", cpu=1), pod("b", cpu=1)], "-o", "json")
    assert [row["pod"] for row in printed.document["pods"]] == ["default/b"]
    assert "Pod default/a is there already, on n1" in printed.err
    assert folder.attempt([*NODES, pod("a", cpu=1, node="n1")], [pod("a", cpu=1)]).code == 0


def test_a_pod_by_name_that_waits_is_placed(folder: Folder) -> None:
    printed = folder.attempt([*NODES, pod("a", cpu=2)], [pod("a", cpu=1)], "-o", "json")
    assert [row["result"] for row in printed.document["pods"]] == ["scheduled"]


def test_copies_go_on_where_the_fleet_ends(folder: Folder) -> None:
    cluster = [node("n1", cpu=4), *deployment_pods(2, ["n1"])]
    printed = folder.attempt(cluster, [workload("Deployment", replicas=3)], "--copies", "max", "-o", "json")
    assert printed.document[0]["fit"] == 2


def test_another_template_of_a_replica_set_changes_nothing(folder: Folder) -> None:
    cluster = [*NODES, running("web-x", "n1", "ReplicaSet/web")]
    printed = folder.attempt(cluster, [workload("ReplicaSet", image="v2", replicas=2)], "-o", "json")
    assert [row["pod"] for row in printed.document["pods"]] == ["default/web-1"]
    assert "1 there already, 1 of them of another template, which stay as they are" in printed.err
