"""Queues of jobs on a real API server, when things go wrong or operators want something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import (
    CONFIGURATION,
    MERGE,
    VERSION,
    batch_kinds,
    events_of,
    job,
    later,
    let_go,
    node,
    order,
    ours,
    queue,
    start,
    state_of,
    status_of,
    until,
)
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import PATIENCE, bound
from tests.kube.processes import wait_until


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        yield api


def window(name: str, seconds: float, **spec: Any) -> Json:
    return ours("MaintenanceWindow", name, start=later(seconds), **spec)


def cordon(api: Api, name: str) -> tuple[bool, str]:
    found = api.get("Node", name)
    said = found["metadata"].get("annotations", {}).get("fairway.dev/cordoned-by", "")
    return bool(found["spec"].get("unschedulable")), said


def test_a_window_drains_and_gives_back(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    """The scheduler is killed while it lasts, and a person's cordon stays."""
    for name in ("a", "b"):
        api.create(node(name, "2"))
    api.create(queue(limits={"default": "1h"}))
    control_plane.start_kubelet()
    first = start(control_plane)
    api.create(job("endless", namespace, cpu="2"))
    until(api, "endless", namespace, "Running")
    (place,) = bound(api, namespace).values()
    other = "b" if place == "a" else "a"
    api.request("PATCH", f"/api/v1/nodes/{other}", {"spec": {"unschedulable": True}}, content_type=MERGE)
    made = api.create(window("soon", 12, duration="25s", mode="kill", drainLead="10s"))
    uid = made["metadata"]["uid"]
    wait_until(lambda: cordon(api, place) == (True, uid), "its nodes are closed", PATIENCE)
    assert cordon(api, other)[0]
    wait_until(lambda: "endless" not in bound(api, namespace), "who is there has to go", PATIENCE)
    first.kill()

    start(control_plane)
    wait_until(lambda: cordon(api, place) == (False, ""), "they are given back", PATIENCE)
    wait_until(
        lambda: api.get("MaintenanceWindow", "soon")["status"]["phase"] == "Done", "and the window is over", PATIENCE
    )
    assert cordon(api, other)[0], "a person's cordon stays"


def test_an_extension_is_granted_or_refused_with_the_longest_possible(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    api.create(node("a", "2"))
    api.create(queue(limits={"default": "10m", "max": "20m"}))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("it", namespace, cpu="2"))
    until(api, "it", namespace, "Running")
    order(api, "it", namespace, timeLimit="15m")
    wait_until(lambda: status_of(api, "it", namespace)["limit"] == "900s", "it is granted", PATIENCE)
    order(api, "it", namespace, timeLimit="3h")
    wait_until(lambda: bool(events_of(api, namespace, "LimitRefused")), "that is too much", PATIENCE)
    assert status_of(api, "it", namespace)["limit"] == "900s"
    (words,) = events_of(api, namespace, "LimitRefused")
    assert words.startswith("refused: its queue allows no longer limit; longest possible: +5m (until 20")


def test_pods_that_went_while_nobody_led_are_not_charged_for_ever(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    api.create(node("a", "2"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
    api.create(queue())
    control_plane.start_kubelet()
    first = start(control_plane)
    for name in ("deleted", "done"):
        api.create(job(name, namespace, **({"runs": "6s"} if name == "done" else {})))
        until(api, name, namespace, "Running")
    first.kill()
    api.delete("Pod", "deleted", namespace)
    wait_until(
        lambda: api.get("Pod", "done", namespace)["status"]["phase"] == "Succeeded", "the other ends well", PATIENCE
    )
    start(control_plane)
    until(api, "deleted", namespace, "Finished", "Cancelled")
    until(api, "done", namespace, "Finished", "Succeeded")
    wait_until(
        lambda: all(status_of(api, name, namespace).get("settled") for name in ("deleted", "done")),
        "both are settled",
        PATIENCE,
    )
    charges = [status_of(api, name, namespace)["charge"] for name in ("deleted", "done")]
    assert api.get("Account", "physics")["status"]["book"]["settled"] == round(sum(charges) * 1000)


LEASE = "apis/coordination.k8s.io/v1/namespaces/kube-system/leases/queues"
ELECTED = {
    "leaderElect": True,
    "leaseDuration": "6s",
    "renewDeadline": "4s",
    "retryPeriod": "1s",
    "resourceName": "queues",
    "resourceNamespace": "kube-system",
}


def renewed(api: Api) -> str:
    """When the lease was, to the second."""
    text: str = api.request("GET", LEASE)["spec"]["renewTime"]
    return f"{text[:19]}Z"


def test_what_ends_while_nobody_leads_is_charged_up_to_the_last_renewal_or_to_what_its_node_tells(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    configuration, config = {**CONFIGURATION, "leaderElection": ELECTED}, control_plane.kubeconfig()
    api.create(node("a", "4"))
    api.create(ours("Account", "physics", namespaces=["test-*"], weights={"cpu": 1}))
    api.create(queue())
    control_plane.start_kubelet()
    first = control_plane.start_fairway(configuration, kubeconfig=config)
    names = ("deleted", "told", "untold", "on")
    for name in names:
        api.create(job(name, namespace))
        until(api, name, namespace, "Running")
    last = max(status_of(api, name, namespace)["intervals"][0]["from"] for name in names)
    wait_until(lambda: renewed(api) > last, "the lease is renewed after the last start", PATIENCE)
    first.kill()
    seen, told = renewed(api), later(-0.5)
    api.delete("Pod", "deleted", namespace)
    over: Json = {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    over["state"] = {"terminated": {"exitCode": 0, "finishedAt": told}}
    for name, containers in (("told", [over]), ("untold", [])):
        status = {"status": {"phase": "Succeeded", "containerStatuses": containers}}
        api.request("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", status, content_type=MERGE)

    control_plane.start_fairway(configuration, kubeconfig=config)
    ends = {"deleted": seen, "told": max(told, last), "untold": seen}
    for name, end in ends.items():
        until(api, name, namespace, "Finished", "Cancelled" if name == "deleted" else "Succeeded")
        (interval,) = status_of(api, name, namespace)["intervals"]
        assert interval["uncertain"]
        assert interval["to"] == end
    (interval,) = status_of(api, "on", namespace)["intervals"]
    assert "to" not in interval or not interval["to"], "it goes on uncut"
    assert not interval.get("uncertain")
    wait_until(lambda: all(status_of(api, name, namespace).get("settled") for name in ends), "all is settled", PATIENCE)
    charges = [status_of(api, name, namespace)["charge"] for name in ends]
    assert api.get("Account", "physics")["status"]["book"]["settled"] == round(sum(charges) * 1000)


def test_a_record_that_somebody_deleted_is_there_again(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    api.create(node("a", "2"))
    api.create(queue())
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("it", namespace))
    until(api, "it", namespace, "Running")
    before = api.get("JobRecord", "it", namespace)
    let_go(api, before)
    api.request("DELETE", f"/apis/{VERSION}/namespaces/{namespace}/jobrecords/it")
    until(api, "it", namespace, "Running")
    after = api.get("JobRecord", "it", namespace)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["status"]["intervals"] == before["status"]["intervals"]


def test_a_record_that_was_deleted_while_nobody_led_is_made_from_its_pod(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    """And a pod that names the queue and another scheduler is told that it does not wait there."""
    api.create(node("a", "2"))
    api.create(queue())
    control_plane.start_kubelet()
    first = start(control_plane)
    api.create(job("it", namespace))
    until(api, "it", namespace, "Running")
    before = status_of(api, "it", namespace)
    first.kill()
    let_go(api, api.get("JobRecord", "it", namespace))
    api.request("DELETE", f"/apis/{VERSION}/namespaces/{namespace}/jobrecords/it")
    stranger = job("stranger", namespace)
    stranger["spec"]["schedulerName"] = "other"
    api.create(stranger)

    start(control_plane)
    until(api, "it", namespace, "Running")
    after = status_of(api, "it", namespace)
    assert after["submitted"] == api.get("Pod", "it", namespace)["metadata"]["creationTimestamp"]
    (interval,) = after["intervals"]
    assert interval["uncertain"]
    assert interval["from"] > before["intervals"][0]["from"], "what it used before nobody knows"
    wait_until(lambda: bool(events_of(api, namespace, "QueueIgnored")), "the stranger is told", PATIENCE)
    (words,) = events_of(api, namespace, "QueueIgnored")
    assert "queue batch is served by scheduler default-scheduler; this pod names other" in words


def test_a_cancelled_job_ends_and_a_requeued_one_of_a_closed_queue_waits(
    control_plane: ControlPlane, api: Api, namespace: str
) -> None:
    api.create(node("a", "2"))
    api.create(queue(limits={"killGrace": "1s"}))
    control_plane.start_kubelet()
    start(control_plane)
    api.create(job("it", namespace, cpu="2"))
    until(api, "it", namespace, "Running")
    api.request("PATCH", f"/apis/{VERSION}/queues/batch", {"spec": {"state": "Paused"}}, content_type=MERGE)
    api.create(job("next", namespace, cpu="2"))
    until(api, "next", namespace, "Queued", "QueueStopped")
    order(api, "it", namespace, cancel=True)
    until(api, "it", namespace, "Finished", "Cancelled")
    assert "it" not in bound(api, namespace)
    assert state_of(api, "next", namespace) == ("Queued", "QueueStopped")
    wait_until(
        lambda: api.get("Queue", "batch").get("status", {}).get("waiting") == 1, "the queue tells who waits", PATIENCE
    )
    api.request("PATCH", f"/apis/{VERSION}/queues/batch", {"spec": {"state": "Open"}}, content_type=MERGE)
    until(api, "next", namespace, "Running")
