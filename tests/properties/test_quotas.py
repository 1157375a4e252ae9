"""Quotas, the most a queue may have and what users may have, through the whole engine, beside a program that says the
rules again in a few loops; and what holds under every discipline: nobody has more than it may, promises are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.desk import Desk
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobState, Reason, Refused
from fairway.batch.settings import BatchSettings
from fairway.config import default_configuration
from fairway.model import Pod
from fairway.model.batch import PreemptionRules, QueueLimits, QueueSpec, UserLimits, WeightSpec
from fairway.model.duration import Duration
from fairway.model.quantity import parse_quantity
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from fairway.trace.workload import Arrival

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)
POOL = 8


class Wanted(NamedTuple):
    queue: str
    user: str
    cpu: int
    limit: float
    gap: float  # since the arrival before
    part: float  # of its limit that it needs


class Allowed(NamedTuple):
    """What a queue says."""

    quota: int | None
    most: int | None
    running: int | None
    user_cpu: int | None

    def spec(self, **more: Any) -> QueueSpec:
        user = {} if self.user_cpu is None else {"cpu": parse_quantity(str(self.user_cpu))}
        return QueueSpec(
            weights=PLAIN,
            limits=QueueLimits(max=Duration(1e6), kill_grace=Duration(0)),
            quota={} if self.quota is None else {"cpu": parse_quantity(str(self.quota))},
            max={} if self.most is None else {"cpu": parse_quantity(str(self.most))},
            per_user=UserLimits(running=self.running, resources=user),
            preemption=PreemptionRules(by="none", borrowed=False),
            **more,
        ).completed()


WANTED = st.builds(
    Wanted,
    st.sampled_from("ab"),
    st.sampled_from(["ada", "bob"]),
    st.integers(1, 5),
    st.integers(1, 25).map(float),
    st.sampled_from([0.0, 0.0, 1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 1.0, 0.5, 0.2]),
)
ALLOWED = st.builds(
    Allowed,
    st.none() | st.integers(1, 6),
    st.none() | st.integers(6, 8),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(3, 6),
)


def arrivals(wanted: list[Wanted]) -> list[Arrival]:
    time, found = 0.0, []
    for number, want in enumerate(wanted):
        time += want.gap
        said = {
            "fairway.dev/time-limit": f"{want.limit}",
            "fairway.dev/duration": f"{want.limit * want.part}",
            "fairway.dev/user": want.user,
        }
        each = pod(f"job-{number}", cpu=want.cpu, labels={"fairway.dev/queue": want.queue}, annotations=said)
        found.append(Arrival(time, each))
    return found


class Watched:
    """A simulation on one pool of processors."""

    def __init__(self, wanted: list[Wanted], queues: dict[str, QueueSpec], nodes: tuple[int, ...] = (POOL,)) -> None:
        batch = BatchSettings(queues, horizon=math.inf)
        scheduler = SchedulerPlan("default-scheduler", default_configuration(REGISTRY), batch=batch)
        times = KubeletSettings(start_latency=0.0, termination_latency=0.0)
        machine = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(nodes)]
        self.simulation = Simulation(Plan(machine, (), arrivals(wanted), [scheduler], kubelet=times), NullRecorder())
        sim = self.simulation.schedulers[0].queues
        assert sim is not None
        self.desk: Desk = sim.desk
        self.starts: dict[str, float] = {}
        self.simulation.api.watch(self._watch)

    def _watch(self, event: Any) -> None:
        if isinstance(event.object, Pod) and event.object.spec.node_name:
            self.starts.setdefault(event.object.metadata.name, self.simulation.timeline.now())

    def steps(self) -> Iterator[float]:
        timeline = self.simulation.timeline
        while timeline.step():
            yield timeline.now()
            assert timeline.now() < 1e5, "it goes on for ever"


# -- the rules, said again -------------------------------------------------------------------------------------------


@dataclass
class Loop:
    """Who starts when under `walk`: whoever fits now, in the order of arrival."""

    queues: dict[str, Allowed]
    waiting: dict[str, Wanted] = field(default_factory=dict)
    running: dict[str, Wanted] = field(default_factory=dict)
    starts: dict[str, float] = field(default_factory=dict)

    def play(self, wanted: list[Wanted]) -> dict[str, float]:
        time, to_come = 0.0, []
        for number, want in enumerate(wanted):
            time += want.gap
            to_come.append((time, f"job-{number}", want))
        ends: dict[str, float] = {}
        while to_come or ends:
            now = min([each[0] for each in to_come[:1]] + list(ends.values()))
            for name in [name for name, end in ends.items() if end <= now]:
                del ends[name], self.running[name]
            while to_come and to_come[0][0] <= now:
                _, name, want = to_come.pop(0)
                self.waiting[name] = want
            while self.round(now, ends):
                pass
        return self.starts

    def round(self, now: float, ends: dict[str, float]) -> bool:
        lenders = {
            want.queue for want in self.waiting.values() if self.is_let(want) and self.within_quota(want) is True
        }
        started = False
        for name, want in list(self.waiting.items()):
            on_loan = not lenders - {want.queue}
            if self.is_let(want) and (self.within_quota(want) is not False or on_loan) and self.free >= want.cpu:
                self.running[name] = self.waiting.pop(name)
                self.starts[name] = now
                ends[name] = now + want.limit * want.part
                started = True
        return started

    @property
    def free(self) -> int:
        return POOL - sum(want.cpu for want in self.running.values())

    def used(self, queue: str, user: str | None = None) -> list[int]:
        return [want.cpu for want in self.running.values() if want.queue == queue and user in (None, want.user)]

    def is_let(self, want: Wanted) -> bool:
        """By all but its queue's quota."""
        allowed, own = self.queues[want.queue], self.used(want.queue, want.user)
        return (
            (allowed.most is None or sum(self.used(want.queue)) + want.cpu <= allowed.most)
            and (allowed.running is None or len(own) < allowed.running)
            and (allowed.user_cpu is None or sum(own) + want.cpu <= allowed.user_cpu)
        )

    def within_quota(self, want: Wanted) -> bool | None:
        quota = self.queues[want.queue].quota
        return None if quota is None else sum(self.used(want.queue)) + want.cpu <= quota


@settings(max_examples=60, deadline=None)
@given(st.lists(WANTED, min_size=1, max_size=16), ALLOWED, ALLOWED)
def test_jobs_start_as_the_rules_say(wanted: list[Wanted], first: Allowed, second: Allowed) -> None:
    allowed = {"a": first, "b": second}
    watched = Watched(wanted, {name: each.spec(discipline="walk") for name, each in allowed.items()})
    for _ in watched.steps():
        pass
    assert watched.starts == Loop(allowed).play(wanted)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WANTED, min_size=1, max_size=16),
    ALLOWED,
    ALLOWED,
    st.sampled_from(["easy", "conservative", "walk", "fifo"]),
    st.sampled_from([(8,), (4, 4), (5, 3)]),
)
def test_nobody_has_more_than_it_may_and_promises_are_kept(
    wanted: list[Wanted], first: Allowed, second: Allowed, discipline: str, nodes: tuple[int, ...]
) -> None:
    allowed = {"a": first, "b": second}
    watched = Watched(wanted, {name: each.spec(discipline=discipline) for name, each in allowed.items()}, nodes)
    promised: dict[str, float] = {}
    for now in watched.steps():
        running = [wanted[_number(job)] for job in watched.desk.book if job.started is not None]
        for name, each in allowed.items():
            there = [want for want in running if want.queue == name]
            assert each.most is None or sum(want.cpu for want in there) <= each.most
            for user in ("ada", "bob"):
                own = [want.cpu for want in there if want.user == user]
                assert each.running is None or len(own) <= each.running
                assert each.user_cpu is None or sum(own) <= each.user_cpu
        for key, promise in watched.desk.machine.calendar.promises.items():
            assert promise.slot.start <= promised.get(key, math.inf) + 1e-6, f"{key} at {now}"
            promised[key] = promise.slot.start
        for job in watched.desk.book:
            _check_reason(watched.desk, job)
    for name, start in watched.starts.items():
        assert start <= promised.get(f"default/{name}", math.inf) + 1e-6
    for number, want in enumerate(wanted):
        each = allowed[want.queue]
        fits = want.cpu <= max(nodes) and want.cpu <= min(each.most or POOL, each.user_cpu or POOL)
        assert (f"job-{number}" in watched.starts) == fits or discipline == "fifo"


def _number(job: BatchJob) -> int:
    return int(job.key.rpartition("-")[2])


def _check_reason(desk: Desk, job: BatchJob) -> None:
    """What is told of a job that waits is so."""
    if job.started is not None or job.is_released or desk.is_due:
        return
    standing = job.standing
    spec, own = desk.settings.queues[job.queue], {"cpu": 0, "jobs": 0}
    if standing.reason is Refused.OVER_MAXIMUM:
        assert standing.state is JobState.REFUSED
        assert standing.detail["needs"] > standing.detail["of"]  # type: ignore[operator]
    if standing.reason is not Reason.QUOTA_EXCEEDED:
        return
    column = str(standing.detail["resource"])
    for other in desk.book:
        counts = standing.detail["which"] != "perUser" or other.wishes.user == job.wishes.user
        if (other.started is not None or other.is_released) and other.queue == job.queue and counts:
            own["cpu"] += int(desk.cluster.classify(next(iter(other.members.values()))).amounts[0])
            own["jobs"] += 1
    assert own[column] == standing.detail["used"]
    assert spec.quota or standing.detail["which"] != "quota"
