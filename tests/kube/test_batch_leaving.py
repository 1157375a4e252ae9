"""Queues leave a real cluster without a trace, and a shadow of them writes nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from deploy.crds import definitions
from tests.kube.api import Api, Json
from tests.kube.batch import MERGE, batch_kinds, job, later, node, ours, queue, start, status_of, until
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import DEFINITIONS, is_served
from tests.kube.jobs import PATIENCE, bound
from tests.kube.processes import wait_until


def clean_up(plane: ControlPlane) -> subprocess.Popen[str]:
    """As the chart's hook does."""
    command = [sys.executable, "-m", "fairway", "run", "--clean-up", f"--kubeconfig={plane.kubeconfig()}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_open(api: Api, name: str) -> bool:
    spec = api.get("Node", name)["spec"]
    taints = [each for each in spec.get("taints", ()) if each["key"].startswith("fairway.dev/")]
    return not spec.get("unschedulable") and not taints


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        yield api


def test_what_queues_have_put_there_goes_and_the_kinds_can_be_deleted(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    for name in ("a", "b", "c"):
        made = node(name, "2")
        made["metadata"]["labels"]["pool"] = "batch" if name == "a" else "other"
        api.create(made)
    api.create(queue(nodes={"selector": {"pool": "batch"}, "protect": "taint"}))
    control_plane.start_kubelet()
    scheduler = start(control_plane)
    api.create(job("runs", namespace, cpu="2"))
    until(api, "runs", namespace, "Running")
    api.create(job("waits", namespace, cpu="2"))
    until(api, "waits", namespace, "Queued", "Resources")
    wait_until(lambda: not is_open(api, "a"), "the queue's node has its taint", PATIENCE)
    api.create(ours("MaintenanceWindow", "now", start=later(3), duration="1h", nodes={"selector": {"pool": "other"}}))
    wait_until(lambda: not is_open(api, "b") and not is_open(api, "c"), "the window's nodes are closed", PATIENCE)
    api.request("PATCH", "/api/v1/nodes/a", {"spec": {"unschedulable": True}}, content_type=MERGE)

    cleaning = clean_up(control_plane)
    assert not is_open(api, "b"), "as long as somebody works nothing is taken away"
    scheduler.stop()
    words, errors = cleaning.communicate(timeout=PATIENCE)
    assert (cleaning.returncode, words.strip()) == (
        0,
        "records let go: 2, nodes uncordoned: 2, taints removed: 1",
    ), errors

    assert is_open(api, "b")
    assert is_open(api, "c")
    assert api.get("Node", "a")["spec"].get("unschedulable"), "a person's cordon stays"
    assert not any("finalizers" in each["metadata"] for each in api.items("JobRecord", namespace))
    assert "runs" in bound(api, namespace), "pods are left alone"
    api.delete("Pod", "runs", namespace)
    for each in definitions():
        api.request("DELETE", f"{DEFINITIONS}/{each['metadata']['name']}")
    names = {each["metadata"]["name"] for each in definitions()}

    def are_gone() -> bool:
        there = api.request("GET", DEFINITIONS).get("items", [])
        return not names & {each["metadata"]["name"] for each in there}

    wait_until(are_gone, "the kinds are gone", PATIENCE)
    for each in definitions():  # for those who take them away again
        api.request("POST", DEFINITIONS, each)

    wait_until(lambda: all(is_served(api, each) for each in definitions()), "they are there again", PATIENCE)
    assert api.items("JobRecord") == []


def versions(api: Api, namespace: str) -> Json:
    """Everything that a scheduler of queues may write to."""
    found: Json = {}
    for kind in ("Pod", "JobRecord", "Queue", "Account", "MaintenanceWindow", "Node"):
        items = api.items(kind, namespace) if kind in ("Pod", "JobRecord") else api.items(kind)
        found |= {f"{kind}/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in items}
    return found


@pytest.mark.parametrize("flag", ["--shadow", "--batch=false"])
def test_nothing_is_written_of_queues(control_plane: ControlPlane, api: Api, namespace: str, flag: str) -> None:
    api.create(node("a", "2"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
    api.create(queue(nodes={"selector": {"kubernetes.io/hostname": "a"}, "protect": "taint"}, limits={"default": "1h"}))
    api.create(ours("MaintenanceWindow", "soon", start=later(2), duration="1h", mode="kill", announce="1h"))
    for name in ("one", "two"):
        made = job(name, namespace, cpu="2")
        if flag == "--batch=false":
            made["spec"]["schedulerName"] = "nobody"  # it would bind them, as pods of no queue
        api.create(made)
    before = versions(api, namespace)
    scheduler = start(control_plane, flag)
    if flag == "--shadow":
        scheduler.wait_until(lambda: "queues of jobs are on" in scheduler.log.read_text(), "queues are on")
        seen = control_plane.metrics
        wait_until(
            lambda: any(name.startswith("fairway_jobs{") and value for name, value in seen(scheduler).items()),
            "it has jobs in its queues",
            PATIENCE,
        )
        wait_until(lambda: seen(scheduler)["fairway_plan_seconds_count"] >= 1, "it plans", PATIENCE)
    else:
        scheduler.wait_until(lambda: "in sync" in scheduler.log.read_text(), "it works")
    window_begins = api.get("MaintenanceWindow", "soon")["spec"]["start"]
    wait_until(lambda: later(-2) > window_begins, "the window has begun", PATIENCE)
    scheduler.stop()
    assert versions(api, namespace) == before
    assert status_of(api, "one", namespace) == {}
    assert api.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events").get("items", []) == []
