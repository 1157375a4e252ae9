"""Dates that bind: no promise ever moves later, whoever comes, passes or ends early; and forecasts change nothing.

Whole simulations of random jobs, looked at after every step. A promise is what the desk has in its calendar; a date
that is told by a forecast may not be later than the promise it is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.batch_world import PassReport
from fairway.batch.dates.overtaken import overtaken_queues
from fairway.batch.job import BatchJob
from fairway.model import Pod
from fairway.model.batch import PreemptionRules, QueueSpec
from fairway.model.batch.node_choice import NodeChoice
from fairway.plan import StartEstimate
from fairway.record import NullRecorder
from fairway.record.vocabulary import PlanKind
from fairway.testing import node
from tests.batch.room import Room
from tests.properties.test_queues import WANTED, Wanted, arrivals


class DateKeeper(NullRecorder):
    """Wants dates, and keeps them."""

    keeps_estimates = True

    def __init__(self) -> None:
        super().__init__()
        self.dates: dict[str, list[StartEstimate]] = {}
        self.forecasts: list[float] = []

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        self.dates.setdefault(job.key, []).append(estimate)

    def planned(self, t: float, scheduler: str, kind: PlanKind, report: PassReport) -> None:
        if kind is PlanKind.FORECAST:
            self.forecasts.append(t)


def room_of(wanted: list[Wanted], recorder: NullRecorder, latency: float = 0.0, **queue: Any) -> Room:
    """Times are stretched, as dates are told once a minute."""
    came = [(each.time, each.object) for each in arrivals(wanted)]
    return Room(came, (4, 4, 8), queues={"q": queue}, horizon=math.inf, recorder=recorder, latency=latency)


def _is_of(pod: str, key: str) -> bool:
    name = key.partition("/")[2]
    return pod == name or pod.rpartition("-")[0] == name


LONG = WANTED.map(lambda want: want._replace(limit=want.limit * 40, gap=want.gap * 20))


@settings(max_examples=25, deadline=None)
@given(wanted=st.lists(LONG, min_size=1, max_size=12))
def test_conservative_promises_never_move_later(wanted: list[Wanted]) -> None:
    keeper = DateKeeper()
    room = room_of(wanted, keeper, discipline="conservative")
    timeline = room.simulation.timeline
    latest: dict[str, float] = {}
    while timeline.step():
        assert timeline.now() < 1e6
        if room.desk.is_due:
            continue
        for key, promise in room.desk.machine.calendar.promises.items():
            assert promise.slot.start <= latest.get(key, math.inf) + 1e-6, key
            latest[key] = promise.slot.start
    for key, told in keeper.dates.items():
        first = told[0]
        assert first.is_promised
        assert (
            min(time for name, time in room.starts.items() if _is_of(name, key)) <= first.by_limits + 1e-6
        )  # nobody is later than it was first told


@settings(max_examples=30, deadline=None)
@given(wanted=st.lists(LONG, min_size=1, max_size=12), discipline=st.sampled_from(["easy", "conservative"]))
def test_whoever_is_let_pass_delays_no_promise(wanted: list[Wanted], discipline: str) -> None:
    """In every pass: those who were promised a date before it still have one that is no later, or started."""
    room = room_of(wanted, NullRecorder(), discipline=discipline)
    timeline, held = room.simulation.timeline, dict[str, float]()
    while timeline.step():
        assert timeline.now() < 1e6
        if room.desk.is_due:
            continue
        promises = room.desk.machine.calendar.promises
        for key, date in held.items():
            job = room.desk.book.find(key)
            if job is not None and not job.is_released and job.started is None:
                assert promises[key].slot.start <= date + 1e-6
        held = {key: promise.slot.start for key, promise in promises.items()}


@settings(max_examples=25, deadline=None)
@given(
    wanted=st.lists(LONG, min_size=1, max_size=12),
    discipline=st.sampled_from(["fifo", "walk", "easy", "conservative"]),
)
def test_forecasts_change_nothing_and_keep_their_distance(wanted: list[Wanted], discipline: str) -> None:
    keeper = DateKeeper()
    dated, plain = (room_of(wanted, each, discipline=discipline) for each in (keeper, NullRecorder()))
    for room in (dated, plain):
        room.until(1e6)
    assert dated.starts == plain.starts
    assert all(later - sooner >= 60.0 for sooner, later in zip(keeper.forecasts, keeper.forecasts[1:], strict=False))
    for told in keeper.dates.values():
        for each in told:
            assert each.as_of <= each.likely <= each.safe
            assert not each.is_promised or each.safe <= each.by_limits


NODES = [node(f"n{number}", cpu=4, labels={"pool": pool}) for number, pool in enumerate("aab")]
QUEUES = st.dictionaries(
    st.sampled_from("pqr"),
    st.builds(
        lambda tier, pool: QueueSpec(tier=tier, nodes=NodeChoice(selector={"pool": pool} if pool else {})),
        st.sampled_from([None, 0, 1, 5]),
        st.sampled_from(["", "a", "b", "c"]),
    ),
)


@given(queues=QUEUES)
def test_queues_are_overtaken_by_higher_tiers_on_their_nodes(queues: dict[str, QueueSpec]) -> None:
    expected = {
        low
        for low in queues
        for high in queues
        for each in NODES
        if (queues[low].tier or 0) < (queues[high].tier or 0)
        and all(each.metadata.labels.get(key) == value for key, value in queues[low].nodes.selector.items())
        and all(each.metadata.labels.get(key) == value for key, value in queues[high].nodes.selector.items())
    }
    assert overtaken_queues(queues, [*NODES, None]) == expected


@settings(max_examples=25, deadline=None)
@given(
    wanted=st.lists(LONG, min_size=2, max_size=12),
    high=st.lists(st.booleans(), min_size=12, max_size=12),
    discipline=st.sampled_from(["easy", "conservative"]),
)
def test_whatever_is_called_promised_is_kept_also_with_tiers(
    wanted: list[Wanted], high: list[bool], discipline: str
) -> None:
    """Nothing fails, nobody orders anything and all pods are of queues: then no promise is broken."""
    keeper = DateKeeper()
    came = []
    for each in arrivals(wanted):
        pod = each.object
        assert isinstance(pod, Pod)
        is_high = high[int(pod.metadata.name.split("-")[1])]
        labels = pod.metadata.labels | ({"fairway.dev/queue": "high"} if is_high else {})
        metadata = msgspec.structs.replace(pod.metadata, labels=labels)
        came.append((each.time, msgspec.structs.replace(pod, metadata=metadata)))
    rules = {"preemption": PreemptionRules(by="none")}
    queues = {"q": {"discipline": discipline, **rules}, "high": {"policy": "interactive", **rules}}
    room = Room(came, (4, 4, 8), queues=queues, horizon=math.inf, recorder=keeper)
    room.until(1e6)
    for key, told in keeper.dates.items():
        start = min(time for name, time in room.starts.items() if _is_of(name, key))
        assert all(start <= each.by_limits + 1e-6 for each in told if each.is_promised), key


LATE: Final = 2.0


@settings(max_examples=40, deadline=None)
@given(wanted=st.lists(LONG, min_size=2, max_size=12), discipline=st.sampled_from(["easy", "conservative"]))
def test_who_begins_a_little_late_delays_nobody_by_much(wanted: list[Wanted], discipline: str) -> None:
    """Pods take some seconds to begin: each delays those behind it by as much, and no promise by a whole job."""
    room = room_of(wanted, NullRecorder(), discipline=discipline, latency=LATE)
    timeline, first = room.simulation.timeline, dict[str, float]()
    while timeline.step():
        assert timeline.now() < 1e6
        if room.desk.is_due:
            continue
        for key, promise in room.desk.machine.calendar.promises.items():
            date = first.setdefault(key, promise.slot.start)
            assert promise.slot.start <= date + 2 * LATE * len(wanted) + 1e-6, key
