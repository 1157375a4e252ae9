"""Windows and reservations through the whole engine, against a slow program that says the same rules again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.actions import CORDONED_BY, Action
from fairway.batch.reasons import JobState, Reason
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event, Verb
from fairway.config import default_configuration
from fairway.model import Node, Pod
from fairway.model.batch import QueueLimits, QueueSpec
from fairway.model.duration import Duration
from fairway.model.meta import EPOCH
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.scheduler import Scheduler
from fairway.sim.api_server import ApiServer
from fairway.sim.batch_world import SimDesk, planned
from fairway.sim.timeline import Timeline
from fairway.testing import node, pod
from tests.batch.room import PLAIN, Room, job
from tests.batch.upkeep.closed_times import reservation, window

RACKS = ("x", "y", "x")


class Span(NamedTuple):
    start: int
    length: int
    rack: str
    mode: str

    def covers(self, rack: str, time: float) -> bool:
        return self.rack in ("", rack) and self.start <= time < self.start + self.length


class Wanted(NamedTuple):
    gap: int
    cpu: int
    limit: int
    part: float
    user: str


SPANS = st.lists(
    st.builds(
        Span,
        st.integers(0, 120),
        st.integers(1, 60),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["avoid", "drain", "kill"]),
    ),
    min_size=1,
    max_size=3,
)
WANTED = st.lists(
    st.builds(
        Wanted,
        st.sampled_from([0, 0, 1, 5, 30]),
        st.integers(1, 4),
        st.integers(1, 60),
        st.sampled_from([1.0, 0.5]),
        st.sampled_from(["ada", "bob"]),
    ),
    min_size=1,
    max_size=12,
)


class Seen(NamedTuple):
    """A stretch in which a pod was on a node, with when it would have had to leave."""

    name: str
    node: str
    start: float
    limit: float


def rack_of(name: str) -> str:
    return RACKS[int(name.removeprefix("n"))]


class Watched:
    """A simulation that is looked at after every step."""

    def __init__(self, wanted: Sequence[Wanted], discipline: str = "easy", **closed: Any) -> None:
        time, arrivals = 0.0, []
        self.limits: dict[str, float] = {}
        for number, want in enumerate(wanted):
            time += want.gap
            name = f"j{number}"
            self.limits[name] = float(want.limit)
            made = job(name, want.cpu, want.limit * want.part, want.limit, user=want.user, requeue="recreate")
            arrivals.append((time, made))
        queues = {"q": {"discipline": discipline}}
        self.room = Room(arrivals, cpus=(4, 4, 4), racks=RACKS, queues=queues, horizon=math.inf, **closed)
        self.seen: list[Seen] = []
        self.promised: dict[str, float] = {}
        self.room.simulation.api.watch(self._watch)

    def _watch(self, event: Any) -> None:
        pod = event.object
        if isinstance(pod, Pod) and pod.spec.node_name and event.verb is Verb.MODIFIED:
            known = any(each.name == pod.metadata.uid for each in self.seen)
            if not known:
                now, name = self.room.simulation.timeline.now(), pod.metadata.name
                self.seen.append(Seen(pod.metadata.uid, pod.spec.node_name, now, self.limits[name]))

    def run(self) -> None:
        timeline, desk = self.room.simulation.timeline, self.room.desk
        while timeline.step(2000.0):
            for key, promise in desk.machine.calendar.promises.items():
                first = self.promised.setdefault(key, promise.slot.start)
                assert promise.slot.start <= first, "a promise never moves later"
            for each in desk.book:
                assert each.state is not JobState.REFUSED
                if each.state is JobState.QUEUED and not desk.is_due:
                    assert isinstance(each.standing.reason, Reason | None)


@settings(max_examples=60, deadline=None)
@given(wanted=WANTED, spans=SPANS, discipline=st.sampled_from(["easy", "conservative", "walk", "fifo"]))
def test_nothing_of_a_limited_job_overlaps_a_window_on_its_rows(
    wanted: list[Wanted], spans: list[Span], discipline: str
) -> None:
    windows = {
        f"w{number}": window(each.start, each.length, each.mode, rack=each.rack) for number, each in enumerate(spans)
    }
    watched = Watched(wanted, discipline, windows=windows)
    watched.run()
    assert len(watched.seen) == len(wanted), "all ran, and each once: nobody was in the way"
    for seen in watched.seen:
        for span in spans:
            is_there = span.rack in ("", rack_of(seen.node))
            assert not (is_there and seen.start < span.start + span.length and seen.start + seen.limit > span.start)
    for key, start in watched.promised.items():
        name = key.removeprefix("default/")
        assert watched.room.starts[name] <= start
    nodes: list[Node] = watched.room.simulation.api.objects("Node")
    assert not any(each.spec.unschedulable or CORDONED_BY in each.metadata.annotations for each in nodes)


@settings(max_examples=40, deadline=None)
@given(wanted=WANTED, start=st.integers(0, 60), length=st.integers(1, 80), count=st.integers(1, 3))
def test_inside_a_reservation_is_nobody_else(wanted: list[Wanted], start: int, length: int, count: int) -> None:
    watched = Watched(wanted, reservations={"r": reservation(start, length, count)})
    watched.run()
    (status,) = watched.room.desk.world.statuses()
    assert len(status.nodes) == count, "it was made before anybody came"
    users = {f"j{number}": want.user for number, want in enumerate(wanted)}
    assert set(watched.room.starts) == set(users)
    pods = {each.name: each for each in watched.seen}
    for uid, seen in pods.items():
        user = users[uid.removeprefix("default/")]
        overlaps = seen.start < start + length and seen.start + seen.limit > start
        assert user == "ada" or seen.node not in status.nodes or not overlaps


# -- killed and made anew --------------------------------------------------------------------------------------------


class CutError(Exception):
    """The desk is killed."""


class CuttingDesk(SimDesk):
    """One that is killed after so many actions or writes."""

    left = math.inf

    def carry_out(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._count()
            super().carry_out([action])

    def write_status(self, status: Any) -> None:
        self._count()
        super().write_status(status)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise CutError


class Cluster:
    """Nodes and pods that stay, while desks come and go."""

    def __init__(self, windows: dict[str, Any], persons: Iterable[int]) -> None:
        self.timeline = Timeline()
        self.api = ApiServer(self.timeline)
        limits = QueueLimits(max=Duration(1e6), kill_grace=Duration(0))
        queue = QueueSpec(weights=PLAIN, limits=limits).completed()
        self.settings = BatchSettings({"q": queue}, windows=windows)
        self.evicted: list[str] = []
        for number, rack in enumerate(RACKS):
            self.api.create(node(f"n{number}", cpu=4, labels={"rack": rack}, unschedulable=number in persons))
            self.api.create(pod(f"p{number}", cpu=1, node=f"n{number}", annotations={"fairway.dev/duration": "1e6"}))
        self.api.watch(self._watch)

    def _watch(self, event: Event) -> None:
        if isinstance(event.object, Pod) and event.object.is_terminating:
            self.evicted.append(event.object.metadata.name)

    def look(self, time: float, cuts: int | None) -> bool:
        """A new desk looks; is it killed after so many actions?"""
        self.timeline.run(time)
        desk = CuttingDesk("s", self.settings, self.api, NullRecorder(), lambda _: None)
        scheduler = Scheduler(
            planned(default_configuration(REGISTRY), self.settings),
            _World(self.timeline),  # type: ignore[arg-type]
            attendant=desk.desk,
            start=EPOCH.timestamp(),
        )
        desk.desk.attend(scheduler)
        for kind in ("Node", "Pod"):
            for each in self.api.objects(kind):
                event = Event(Verb.ADDED, each)
                desk.desk.observe(event)
                scheduler.observe(event)
        if cuts is not None:
            desk.left = cuts
        try:
            desk.desk.run_pass()
        except CutError:
            return True
        return False

    def cordons(self) -> dict[str, tuple[bool, bool]]:
        nodes: list[Node] = self.api.objects("Node")
        return {
            each.metadata.name: (each.spec.unschedulable, CORDONED_BY in each.metadata.annotations) for each in nodes
        }


class _World:
    """Nobody is tried here."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def now(self) -> float:
        return self._timeline.now()


@settings(max_examples=60, deadline=None)
@given(
    spans=SPANS,
    persons=st.sets(st.integers(0, 2), max_size=1),
    looks=st.lists(st.tuples(st.integers(0, 200), st.none() | st.integers(0, 6)), max_size=8),
)
def test_cordons_are_as_they_should_be_whenever_desks_are_killed(
    spans: list[Span], persons: set[int], looks: list[tuple[int, int | None]]
) -> None:
    windows = {
        f"w{number}": window(each.start, each.length, each.mode, rack=each.rack) for number, each in enumerate(spans)
    }
    cluster = Cluster(windows, persons)
    for time, cuts in [*sorted(looks, key=lambda look: look[0]), (300, None)]:
        if cluster.look(time, cuts):
            cluster.look(time, None)
        for number, rack in enumerate(RACKS):
            covered = any(span.covers(rack, time) for span in spans)
            expected = (covered or number in persons, covered and number not in persons)
            assert cluster.cordons()[f"n{number}"] == expected
        assert len(set(cluster.evicted)) == len(cluster.evicted), "nobody is asked twice"
    assert {status.phase for status in cluster.api.job_stores["s"].statuses.values()} == {"Done"}
