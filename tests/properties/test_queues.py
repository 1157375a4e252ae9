"""Jobs in queues through the whole engine: promises are kept, nothing is given twice, everybody has one reason."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.reasons import JobState
from fairway.batch.settings import BatchSettings
from fairway.config import default_configuration
from fairway.model.batch import QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.plan import Discipline
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from fairway.trace.workload import Arrival
from tests.plan.pool_log import LoggedJob, play

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)
NAME = "default-scheduler"


class Wanted(NamedTuple):
    cpu: int
    members: int
    limit: float
    gap: float  # since the arrival before
    part: float  # of its limit that it needs


WANTED = st.builds(
    Wanted,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 25).map(float),
    st.sampled_from([0.0, 0.0, 1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 1.0, 0.5, 0.2]),
)


def arrivals(wanted: list[Wanted]) -> list[Arrival]:
    time, found = 0.0, []
    for number, want in enumerate(wanted):
        time += want.gap
        said = {"fairway.dev/time-limit": f"{want.limit}", "fairway.dev/duration": f"{want.limit * want.part}"}
        if want.members > 1:
            said |= {"fairway.dev/gang": f"job-{number}", "fairway.dev/gang-size": str(want.members)}
        for index in range(want.members):
            name = f"job-{number}" if want.members == 1 else f"job-{number}-{index}"
            each = pod(name, cpu=want.cpu, labels={"fairway.dev/queue": "q"}, annotations=said)
            found.append(Arrival(time, each))
    return found


class Watched:
    """A simulation that is looked at after every step."""

    def __init__(self, wanted: list[Wanted], nodes: list[int], discipline: str, ties: str = "ends-first") -> None:
        limits = QueueLimits(max=Duration(1e6), kill_grace=Duration(0))
        queue = QueueSpec(discipline=discipline, weights=PLAIN, limits=limits).completed()  # type: ignore[arg-type]
        batch = BatchSettings({"q": queue}, ties=ties, horizon=math.inf)  # type: ignore[arg-type]
        scheduler = SchedulerPlan(NAME, default_configuration(REGISTRY), batch=batch)
        times = KubeletSettings(start_latency=0.0, termination_latency=0.0)
        machine = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(nodes)]
        self.simulation = Simulation(Plan(machine, (), arrivals(wanted), [scheduler], kubelet=times), NullRecorder())
        queues = self.simulation.schedulers[0].queues
        assert queues is not None
        self.desk = queues.desk
        self.promised: dict[str, float] = {}  # the first date of each
        self.starts: dict[str, float] = {}

    def run(self) -> None:
        timeline = self.simulation.timeline
        while timeline.step():
            for key, promise in self.desk.machine.calendar.promises.items():
                self.promised.setdefault(key, promise.slot.start)
            for job in self.desk.book:
                if job.started is not None:
                    self.starts.setdefault(job.key.partition("/")[2], job.started)
                elif not job.is_released and not self.desk.is_due:
                    assert job.standing.state is JobState.QUEUED
                    assert job.standing.reason is not None
            if timeline.now() > 1e5:
                raise AssertionError("it goes on for ever")


@settings(max_examples=40, deadline=None)
@given(st.lists(WANTED, min_size=1, max_size=12), st.sampled_from(["easy", "conservative"]))
def test_promises_are_kept_on_many_nodes(wanted: list[Wanted], discipline: str) -> None:
    watched = Watched(wanted, [4, 4, 8], discipline)
    watched.run()
    result = watched.simulation.result
    assert result.failed == 0
    for key, start in watched.starts.items():
        promise = watched.promised.get(f"default/{key}", math.inf)
        assert start <= promise + 1e-6, f"{key} was promised {promise} and started at {start}"
    possible = {
        f"job-{number}"
        for number, want in enumerate(wanted)
        if want.members <= sum(cpu // want.cpu for cpu in (4, 4, 8))
    }
    assert set(watched.starts) == possible


@settings(max_examples=40, deadline=None)
@given(
    st.lists(WANTED, min_size=1, max_size=20),
    st.sampled_from(["fifo", "walk", "easy", "conservative"]),
    st.sampled_from(["ends-first", "each"]),
)
def test_a_pool_starts_jobs_when_a_plain_event_loop_does(wanted: list[Wanted], discipline: str, ties: Any) -> None:
    alone = [want._replace(members=1) for want in wanted]
    watched = Watched(alone, [8], discipline, ties)
    watched.run()
    time, jobs = 0.0, []
    for number, want in enumerate(alone):
        time += want.gap
        jobs.append(LoggedJob(f"job-{number}", time, want.limit * want.part, want.cpu, want.limit))
    assert watched.starts == pytest.approx(play(jobs, 8, Discipline(discipline), ties))
