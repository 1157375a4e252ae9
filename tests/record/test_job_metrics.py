"""Metrics of jobs, held against plain loops over what was told."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import Run
from fairway.record.metric_definitions import DEFINITIONS, QUEUE_METRICS, definition_of
from fairway.record.vocabulary import HoldEnd, HoldWhy, PodEnd
from fairway.testing import node, pod
from tests.record.job_runs import recorded
from tests.record.runs import SCHEDULER, profile, small_run, writer
from tests.record.test_metrics import JOBS

END = 24.0
NODES = ("a", "b", "c")
QUARTERS = st.integers(0, 4 * 20).map(lambda quarters: quarters / 4)


@dataclass(frozen=True)
class Member:
    """A pod of a job: when it came, from when to when permit plugins held it, when it was bound."""

    created: float
    hold: tuple[float, float] | None
    bound: float | None
    node: str
    cpu: int


@dataclass(frozen=True)
class Gang:
    """A job."""

    min_count: int
    members: tuple[Member, ...]

    @property
    def complete(self) -> float | None:
        """When the last of those was there that it takes."""
        times = sorted(member.created for member in self.members)
        return times[self.min_count - 1] if len(times) >= self.min_count else None

    @property
    def started(self) -> float | None:
        """When the last of those was bound."""
        times = sorted(member.bound for member in self.members if member.bound is not None)
        return times[self.min_count - 1] if len(times) >= self.min_count else None


@st.composite
def _members(draw: st.DrawFn) -> Member:
    created, wait, held, rest = (draw(QUARTERS) / 4 for _ in range(4))
    hold = (created + wait, created + wait + held) if draw(st.booleans()) else None
    bound = created + wait + held + (0.0 if hold is None else rest) if draw(st.booleans()) else None
    return Member(created, hold, bound, draw(st.sampled_from(NODES)), draw(st.integers(1, 3)))


GANGS = st.builds(Gang, st.integers(1, 3), st.lists(_members(), min_size=1, max_size=4).map(tuple))


def told(path: Path, gangs: list[Gang]) -> Run:
    """Write it down, in order of time."""
    steps: list[tuple[float, int, int, object]] = []
    with writer(path) as made:
        for name in NODES:
            made.node_added(0.0, node(name, cpu=64))
        for number, gang in enumerate(gangs):
            for index, one in enumerate(gang.members):
                said = {"fairway.dev/gang": f"g{number}", "fairway.dev/gang-min": str(gang.min_count)}
                each = pod(f"g{number}-{index}", cpu=one.cpu, annotations=said)
                uid = each.metadata.uid
                steps.append((one.created, 0, len(steps), lambda t, each=each: made.pod_created(t, each, SCHEDULER)))
                if one.hold is not None:
                    begun, over = one.hold
                    steps.append(
                        (begun, 1, len(steps), lambda t, u=uid, n=one.node: made.held(t, u, n, HoldWhy.PERMIT))
                    )
                    steps.append((over, 2, len(steps), lambda t, u=uid: made.released(t, u, HoldEnd.REJECTED)))
                if one.bound is not None:
                    steps.append((one.bound, 3, len(steps), lambda t, u=uid, n=one.node: made.bound(t, u, n)))
        for time, _, _, tell in sorted(steps, key=lambda step: step[:3]):
            tell(time)  # type: ignore[operator]
        made.close(END)
    return Run.open(path)


def held_parts(gangs: list[Gang]) -> list[tuple[str, float, float, int]]:
    """Node, from, to and cpu of what was held for jobs that had not started."""
    found = []
    for gang in gangs:
        until = END if gang.started is None else gang.started
        held = [(one, one.hold) for one in gang.members if one.hold is not None]
        found += [
            (one.node, hold[0], min(hold[1], until), one.cpu) for one, hold in held if hold[0] < min(hold[1], until)
        ]
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(GANGS, min_size=1, max_size=4))
def test_metrics_are_what_plain_loops_count(gangs: list[Gang]) -> None:
    with tempfile.TemporaryDirectory() as folder, told(Path(folder) / "run", gangs) as run:
        flat = run.metrics().flat()
    started = [gang for gang in gangs if gang.started is not None]
    assert (flat["jobs_created"], flat["jobs_started"]) == (len(gangs), len(started))
    waits = [gang.started - gang.complete for gang in started]  # type: ignore[operator]
    spreads = [gang.started - min(one.bound for one in gang.members if one.bound is not None) for gang in started]  # type: ignore[operator]
    for name, values in (("job_wait", waits), ("job_start_spread", spreads)):
        assert flat[f"{name}_count"] == len(values)
        if values:
            assert flat[f"{name}_max"] == pytest.approx(max(values))
            assert flat[f"{name}_mean"] == pytest.approx(sum(values) / len(values))
            assert flat[f"{name}_p50"] == pytest.approx(float(np.median(values)))
    parts = held_parts(gangs)
    seconds = 0.0
    for name in NODES:  # instant by instant, in sixteenths of a second
        for tick in range(int(END * 16)):
            seconds += any(where == name and begun <= tick / 16 < over for where, begun, over, _ in parts) / 16
    assert flat["partial_hold_node_hours"] == pytest.approx(seconds / 3600)
    assert flat["partial_hold_cpu"] == pytest.approx(sum((over - begun) * cpu * 1000 for _, begun, over, cpu in parts))


def test_every_metric_of_jobs_is_defined_and_every_definition_is_met(tmp_path: Path) -> None:
    pods = [pod(f"g-{n}", annotations={"fairway.dev/gang": "g", "fairway.dev/gang-size": "2"}) for n in range(2)]
    with recorded(tmp_path / "run", [node("a", cpu=4)], [(1.0, each) for each in pods]) as run:
        names = run.metrics().flat()
    assert names["jobs_started"] == 1
    of_jobs = {one.name for one in map(definition_of, names) if one and one.name.startswith(JOBS)}
    elsewhere = {
        "blocked_ahead_seconds",
        "pooled_seconds",
    }  # test_blocked_jobs, test_gang_pools: only where there is one
    elsewhere |= {one.name for one in QUEUE_METRICS}  # test_queue_metrics
    assert of_jobs == {one.name for one in DEFINITIONS if one.name.startswith(JOBS)} - elsewhere


def test_a_run_without_jobs_has_no_such_metrics(tmp_path: Path) -> None:
    with small_run(tmp_path / "run") as run:
        assert not [name for name in run.metrics().flat() if name.startswith(("job", "partial_hold"))]


def test_attempts_count_once_a_job_or_by_the_member_that_was_tried_most(tmp_path: Path) -> None:
    said = {"fairway.dev/gang": "g", "fairway.dev/gang-size": "2"}
    pods = [pod(f"g-{n}", cpu=9, annotations=said) for n in range(2)]
    engine = profile([node("a", cpu=1)])
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu=1))
        for each in pods:
            made.pod_created(0.0, each, SCHEDULER)
        for attempt in range(1, 4):
            made.decided(float(attempt), SCHEDULER, attempt, engine.decide(pods[0]), 0.0)
        made.decided(4.0, SCHEDULER, 1, engine.decide(pods[1]), 0.0)
        made.ended(5.0, pods[0].metadata.uid, PodEnd.DELETED)
        made.close(6.0)
    with Run.open(tmp_path / "run") as run:
        assert run.metrics().flat()["job_attempts"] == 3
        assert run.metrics().flat()["attempts"] == 4
