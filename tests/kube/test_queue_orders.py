"""Queues are paused and opened, maintenance is announced and called off, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, events_of, job, node, queue, start, until
from tests.kube.control_plane import ControlPlane
from tests.kube.jobs import PATIENCE
from tests.kube.people import Person
from tests.kube.processes import wait_until


@pytest.fixture
def api(control_plane: ControlPlane) -> Iterator[Api]:
    with batch_kinds(control_plane) as api:
        yield api


def closed(api: Api, name: str) -> bool:
    return bool(api.get("Node", name)["spec"].get("unschedulable"))


def test_a_queue_is_paused_for_a_while_and_opens_by_itself(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.create(node("a", "2"))
    api.create(queue())
    control_plane.start_kubelet()
    start(control_plane)
    admin = Person(control_plane, capsys)

    def spec() -> Json:
        found: Json = api.get("Queue", "batch")["spec"]
        return found

    paused = admin.run("queue", "batch", "pause", "--until", "+8s")
    assert paused.code == 0, paused.err
    assert paused.out.startswith("batch is Paused until ")
    assert "nothing starts; jobs are taken, and wait (0 jobs now)" in paused.out
    api.create(job("it", namespace))
    until(api, "it", namespace, "Queued", "QueueStopped")
    assert spec()["stateUntil"]
    until(api, "it", namespace, "Running")
    assert spec()["state"] == "Paused", "the scheduler does not write what operators say"
    wait_until(lambda: api.get("Queue", "batch")["status"]["state"] == "Open", "it says that it is open", PATIENCE)
    wait_until(lambda: bool(events_of(api, "default", "QueueOpened")), "and an event tells it", PATIENCE)

    drained = admin.run("queue", "batch", "drain", "-o", "json")
    assert (drained.code, json.loads(drained.out)["state"], json.loads(drained.out)["heard"]) == (0, "Draining", True)
    assert "stateUntil" not in spec()
    api.create(job("late", namespace))
    until(api, "late", namespace, "Refused", "QueueClosed")
    assert "batch is Open: jobs are taken" in admin.run("queue", "batch", "open").out
    assert "batch is Open already" in admin.run("queue", "batch", "open").out
    until(api, "late", namespace, "Running")

    misnamed = admin.run("queue", "bacth", "pause")
    assert misnamed.code == 2
    assert "no queue “bacth”; there are batch" in misnamed.err
    nobody = Person(control_plane, capsys, "nobody").run("queue", "batch", "close")
    assert (nobody.code, "nobody may not get queues.fairway.dev" in nobody.err) == (4, True)
    assert admin.run("queue", "batch", "pause", "--until", "2020-01-01T00:00Z").code == 2


def test_maintenance_is_announced_and_called_off_and_its_nodes_are_given_back(
    control_plane: ControlPlane, api: Api, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        made = node(name, "2")
        made["metadata"]["labels"]["rack"] = "r7" if name == "a" else "r8"
        api.create(made)
    api.create(queue())
    start(control_plane)
    admin = Person(control_plane, capsys)
    words = ("--for", "4h", "--selector", "rack=r7")
    ahead = admin.run("maintenance", "add", "--start", "2031-01-01T06:00Z", *words, "--mode", "drain")
    assert ahead.code == 0, ahead.err
    assert ahead.out.startswith("rack-r7 is announced: 2031-01-01 ")
    assert ahead.out.rstrip().endswith("for 4h · 1 node · drain")
    again = admin.run("maintenance", "add", "--start", "+1h", *words)
    assert (again.code, "there is a window rack-r7 already" in again.err) == (2, True)
    shown = admin.run("maintenance", "rack-r7", "-o", "json")
    assert (shown.code, json.loads(shown.out)["windows"][0]["nodes"]) == (0, ["a"])
    gone = admin.run("maintenance", "cancel", "rack-r7")
    assert (gone.code, gone.out) == (0, "rack-r7 is called off; it was announced\n")

    now = admin.run("maintenance", "add", "--start", "+1s", *words, "--name", "now", "--message", "new disk")
    assert now.code == 0, now.err
    wait_until(lambda: closed(api, "a"), "its node is closed", PATIENCE)
    wait_until(lambda: api.get("MaintenanceWindow", "now")["status"]["phase"] == "Active", "it says so", PATIENCE)
    gone = admin.run("maintenance", "cancel", "now")
    assert (gone.code, gone.out) == (0, "now is called off; it was active; 1 node given back\n")
    assert not closed(api, "a")
    assert admin.run("maintenance", "cancel", "now").code == 2
    over = admin.run("maintenance", "add", "--start", "2020-01-01T06:00Z", *words)
    assert (over.code, "is over already" in over.out) == (3, True)
