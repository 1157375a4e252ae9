"""Jobs that hold each other's room are found, and nothing changes by looking for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairway.record import NullRecorder
from fairway.record.vocabulary import DeadlockNote
from fairway.scenario.scenario import decode_scenario
from fairway.sim.simulation import Simulation


class Listener(NullRecorder):
    """Keeps what was told of deadlocks, and where pods went."""

    is_recording = True

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[float, str]] = []

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None:
        if reason in (DeadlockNote.BEGUN, DeadlockNote.OVER):
            self.notes.append((t, reason))


def source(name: str, start: str, **one: Any) -> dict[str, Any]:
    arrivals = {"pattern": "even", "count": 1, "over": "1s", "start": start}
    return {"synthetic": {"name": name, "arrivals": arrivals, "classes": [{"name": "x", "cpu": 1, **one}]}}


def simulation(num_late: int, recorder: NullRecorder) -> Simulation:
    """Two gangs of 10, tried at the same time; nine nodes are there, the others join as the second gang comes."""
    config = {"profiles": [{"fairway": {"gangs": {"mode": "coscheduling"}}}]}
    nodes = [
        {"name": "a-{}", "count": 9, "cpu": 1},
        {"name": "b-{}", "count": num_late, "cpu": 1, "joins": "10500ms"},
    ]
    spec = {
        "end": "65s",
        "cluster": {"nodes": nodes},
        "workload": [source("first", "10s", gang=10), source("second", "10495ms", gang=10)],
        "schedulers": [{"decisionLatency": "10ms", "config": config}],
    }
    document = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    return Simulation(decode_scenario(document, "test").plan(), recorder)


CASES: dict[str, tuple[int, Callable[[list[float]], bool]]] = {
    "each holds nine": (9, lambda times: len(times) == 1 and 10.5 < times[0] < 11),
    "there is room for one": (10, lambda times: not times),
    "nobody else holds anything": (0, lambda times: not times),
}


@pytest.mark.parametrize(("num_late", "holds"), CASES.values(), ids=CASES.keys())
def test_jobs_that_hold_each_other_s_room_are_found(num_late: int, holds: Callable[[list[float]], bool]) -> None:
    listener = Listener()
    simulation(num_late, listener).run()
    assert holds([time for time, note in listener.notes if note == DeadlockNote.BEGUN]), listener.notes


@pytest.mark.parametrize("num_late", [9, 10])
def test_looking_changes_nothing(num_late: int) -> None:
    watched, alone = simulation(num_late, Listener()), simulation(num_late, NullRecorder())
    results = [run.run() for run in (watched, alone)]
    places = [sorted((pod.key, pod.spec.node_name) for pod in run.api.objects("Pod")) for run in (watched, alone)]
    assert places[0] == places[1]
    assert results[0].attempts == results[1].attempts
