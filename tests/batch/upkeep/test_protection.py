"""Nodes of a queue that others respect: promises that bind all pods of our profiles, and taints."""

from __future__ import annotations

import msgspec
import pytest

from fairway.model import Node, Pod
from fairway.model.batch import NodeChoice
from fairway.testing import pod
from tests.batch.room import Room, job


def outside(name: str = "outside", cpu: int = 4, run: float = 100.0, deadline: int | None = None) -> Pod:
    made: Pod = pod(name, cpu=cpu, annotations={"fairway.dev/duration": str(run)})
    if deadline is not None:
        return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, active_deadline_seconds=deadline))
    return made


@pytest.mark.parametrize(
    ("protect", "deadline", "starts"),
    [
        pytest.param("none", None, {"outside": 11.0, "wide": 111.0}, id="none: it takes what was promised"),
        pytest.param("fairway", None, {"outside": 70.0, "wide": 60.0}, id="fairway: for ever is too long"),
        pytest.param("fairway", 40, {"outside": 11.0, "wide": 60.0}, id="fairway: before the promise"),
        pytest.param("fairway", 60, {"outside": 70.0, "wide": 60.0}, id="fairway: not across the promise"),
    ],
)
def test_promises_and_pods_of_no_queue(protect: str, deadline: int | None, starts: dict[str, float]) -> None:
    """One node is free, another until 60; a job for both is promised 60. A pod of no queue comes at 11."""
    jobs = [
        (0.0, job("there", cpu=4, run=60, limit=60)),
        (10.0, job("wide", cpu=4, run=10, limit=10, gang="wide", gang_size="2")),
        (10.0, job("wide-1", cpu=4, run=10, limit=10, gang="wide", gang_size="2")),
        (11.0, outside(run=100.0 if deadline is None else 5.0, deadline=deadline)),
    ]
    room = Room(jobs, cpus=(4, 4), queues={"q": {"nodes": NodeChoice(protect=protect)}})  # type: ignore[arg-type]
    room.until(400.0)
    assert {name: room.starts[name] for name in starts} == starts


def taints(room: Room) -> dict[str, list[tuple[str, str, str]]]:
    nodes: list[Node] = room.simulation.api.objects("Node")
    return {node.metadata.name: [(each.key, each.value, each.effect) for each in node.spec.taints] for node in nodes}


def test_the_nodes_of_a_queue_are_tainted_and_its_own_pods_pass() -> None:
    choice = NodeChoice(selector={"rack": "x"}, protect="taint")
    jobs = [(0.0, job("a", cpu=4)), (1.0, outside("b", run=10)), (1.0, outside("c", run=10))]
    room = Room(jobs, cpus=(4, 4), racks=("x", "y"), queues={"q": {"nodes": choice}})
    room.until(0.0)
    assert taints(room) == {"n0": [("fairway.dev/queue", "q", "NoSchedule")], "n1": []}
    assert room.starts == {"a": 0.0}
    room.until(5.0)
    found = {each.metadata.name: each.spec.node_name for each in room.simulation.api.objects("Pod")}
    assert found["a"] == "n0"
    assert sorted((found["b"], found["c"])) == ["", "n1"]
    room.until(100.0)
    assert room.starts["c"] == 11.0 or room.starts["b"] == 11.0


def test_a_queue_stays_on_its_own_nodes() -> None:
    choice = NodeChoice(selector={"rack": "y"})
    room = Room([(0.0, job("a", cpu=2))], cpus=(8, 4), racks=("x", "y"), queues={"q": {"nodes": choice}})
    room.until(1.0)
    (found,) = room.simulation.api.objects("Pod")
    assert found.spec.node_name == "n1"
