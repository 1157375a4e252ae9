"""What a world tells becomes events: every Bound has its one Unbound, and occupancy is that of the run beside it."""

import tracemalloc
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairway.cycle import Outcome, Spent
from fairway.model import Pod
from fairway.queue import Place
from fairway.record import Recorder, Run, Scored
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.stream import told
from fairway.stream.ring import Ring
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.telling import Teller
from fairway.stream.told import (
    Attempt,
    Bound,
    Event,
    NodeSeen,
    PodRef,
    PodSeen,
    Preempted,
    QueueMove,
    Snapshot,
    Unbound,
)
from fairway.testing import node, pod
from tests.record.runs import placed, profile, writer

SCHEDULER = "default-scheduler"


def events_of(recorder: StreamRecorder) -> list[Event]:
    return recorder.ring.read(1, 1_000_000).events


def told_by(recorder: StreamRecorder) -> list[Any]:
    return [event.what for event in events_of(recorder)]


def sized(name: str, cpu: int) -> Pod:
    return pod(name, uid=name, cpu=cpu)


# -- one thing after the other -----------------------------------------------------------------------------------------


def test_a_pods_life() -> None:
    recorder = StreamRecorder("s")
    recorder.node_added(0.0, node("n1", uid="u1", cpu=4, memory="1Gi", pods=10))
    assert recorder.pod_created(1.0, pod("a", uid="a", cpu=2, owner="Job/j", priority=7), SCHEDULER) == 0
    recorder.queue_moved(1.0, SCHEDULER, "a", None, Place.ACTIVE, "PodAdd")
    best = [Scored("n1", 90, {"Fit": 90})]
    recorder.decided(2.0, SCHEDULER, 1, placed(pod("a", uid="a"), "n1"), 0.5, best)
    recorder.bound(3.0, "a", "n1", "0-1")
    recorder.started(4.0, "a")
    recorder.ended(9.0, "a", PodEnd.SUCCEEDED)
    ref = PodRef("default", "a", "a")
    seen, created, move, attempt, bound, started, unbound, ended = told_by(recorder)
    assert msgspec.structs.replace(seen, labels={}) == NodeSeen(
        "n1", "u1", "Added", True, False, {"cpu": 4000, "memory": 1 << 30, "pods": 10}
    )
    assert created == PodSeen(ref, "Created", SCHEDULER, "Job/j", 7, {"cpu": 2000})
    assert move == QueueMove(ref, SCHEDULER, "", "active", "PodAdd")
    assert attempt == Attempt(
        ref, SCHEDULER, 1, "scheduled", "n1", "scores", 0, 1, 1, None, best=(told.Scored(1, "n1", 90, {"Fit": 90}),),
        cycle_seconds=0.5,
    )  # fmt: skip
    assert bound == Bound(ref, "n1", "u1", "0-1", {"cpu": 2000})
    assert started.change == "Started"
    assert unbound == Unbound(ref, "n1", "Succeeded", "", {"cpu": 2000}, 6.0)
    assert ended.change == "Succeeded"
    assert [event.time_seconds for event in events_of(recorder)] == [0, 1, 1, 2, 3, 4, 9, 9]


def test_why_nothing_fitted_adds_up() -> None:
    recorder = StreamRecorder("s")
    nodes = [node(f"n{number}", cpu=1) for number in range(3)] + [node("tainted", taints="gpu")]
    decision = profile(nodes).decide(pod("big", uid="big", cpu=2))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    recorder.decided(1.0, SCHEDULER, 1, decision, 0.1)
    (attempt,) = told_by(recorder)
    assert attempt.outcome == "unschedulable"
    assert attempt.message.startswith("0/4 nodes are available")
    assert sum(refused.num_nodes for refused in attempt.refused) == attempt.num_nodes == 4
    assert {(refused.plugin, refused.num_nodes) for refused in attempt.refused} == {
        ("NodeResourcesFit", 3),
        ("TaintToleration", 1),
    }


def test_who_has_to_go_is_told_for_whom() -> None:
    recorder = StreamRecorder("s")
    victim = pod("victim", uid="victim", cpu=1, node="n1", priority=0)
    decision = profile([node("n1", cpu=1)], [victim]).decide(pod("important", uid="important", cpu=1, priority=10))
    recorder.decided(1.0, SCHEDULER, 1, decision, 0.1)
    attempt, preempted = told_by(recorder)
    assert (attempt.nominated_node, attempt.victims) == ("n1", (PodRef("default", "victim", "victim"),))
    important = PodRef("default", "important", "important")
    assert preempted == Preempted(PodRef("default", "victim", "victim"), "n1", important)


def test_how_things_stand() -> None:
    recorder = StreamRecorder("s")
    for number in range(1200):
        recorder.node_added(0.0, node(f"n{number}", uid=f"n{number}"))
    recorder.node_changed(1.0, node("n0", uid="n0", unschedulable=True), NodeChange.CORDONED)
    recorder.node_gone(1.0, "n1", NodeEnd.DELETED)
    for name in ("bound", "waiting", "gone", "lost"):
        recorder.pod_created(2.0, sized(name, 1), SCHEDULER)
        recorder.queue_moved(2.0, SCHEDULER, name, None, Place.ACTIVE, "PodAdd")
    for name in ("bound", "gone", "lost"):
        recorder.queue_moved(2.5, SCHEDULER, name, Place.ACTIVE, None, "Bound")
        recorder.bound(3.0, name, "n2")
    recorder.ended(4.0, "gone", PodEnd.FAILED)
    recorder.lost(5.0, "lost")
    following, parts = recorder.snapshot()
    assert following == recorder.ring.next
    assert {part.time_seconds for part in parts} == {5.0}
    whats = [part.what for part in parts if isinstance(part.what, Snapshot)]
    assert [what.is_last for what in whats] == [False, False, True]
    nodes = {one.node: one for what in whats for one in what.nodes}
    assert len(nodes) == 1199
    assert nodes["n0"].is_unschedulable
    assert [one.pod.name for what in whats for one in what.bound] == ["bound"]
    assert [one.pod.name for what in whats for one in what.queue] == ["waiting"]


def test_an_empty_world_has_a_snapshot_too() -> None:
    following, (part,) = StreamRecorder("s").snapshot()
    assert (following, part.what) == (1, Snapshot((), (), (), True))


def test_what_is_kept_takes_no_more_memory_than_is_counted() -> None:
    """Of events with names of their own and the scores of three nodes, as they come from another process."""
    plugins = ("NodeResourcesFit", "NodeAffinity", "TaintToleration", "PodTopologySpread", "InterPodAffinity")

    def note(number: int) -> list[Any]:
        best = [[f"node-{number}-{rank}", 9000, dict.fromkeys(plugins, 1000 + number)] for rank in range(3)]
        ref = [f"{number:032}", "namespace", f"pod-{number}-0123456789"]
        chosen = [f"node-{number}", "scores", 9, 1, number, best, ""]
        row = ["placed", number / 7, *ref, SCHEDULER, 1, number / 9, *chosen]
        return cast("list[Any]", msgspec.msgpack.decode(msgspec.msgpack.encode(row)))

    ring: Ring[Event] = Ring(most_bytes=8 << 20)
    teller = Teller("s", ring)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(10_000):
            teller.take(tuple(note(number)))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 1000 < len(ring) < 10_000  # some had to go
    assert after - before <= 8 << 20


# -- against the run beside it -----------------------------------------------------------------------------------------

acts = st.tuples(
    st.sampled_from(["create", "bind", "start", "resize", "lose", "regain", "end"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(1, 3),
)


def occupancy_of(events: list[Event]) -> list[tuple[Any, ...]]:
    """Naively: each Bound opens an interval, the next Unbound of the pod closes it; anything else is wrong."""
    opened: dict[str, tuple[float, Bound]] = {}
    rows: list[tuple[Any, ...]] = []
    for event in events:
        t, what = event.time_seconds, event.what
        if isinstance(what, Bound):
            assert what.pod.uid not in opened, "bound twice"
            opened[what.pod.uid] = (t, what)
        elif isinstance(what, Unbound):
            since, bound = opened.pop(what.pod.uid)
            assert (what.node, what.held, what.held_seconds) == (bound.node, bound.held, t - since)
            rows.append((what.pod.uid, what.node, since, t, what.reason, what.held["cpu"]))
    rows += [(uid, bound.node, since, None, None, bound.held["cpu"]) for uid, (since, bound) in opened.items()]
    return sorted(rows, key=str)


def possible(story: list[tuple[str, str, int]]) -> list[tuple[float, str, str, int]]:
    """What a world could tell: nothing of a pod before it is there or after it ended, and it is bound once."""
    names: dict[str, str] = {}
    bound, steps = set(), []
    for number, (act, name, amount) in enumerate(story, 1):
        if (act == "create") == (name in names) or (act == "bind" and names[name] in bound):
            continue
        uid = names.setdefault(name, f"{name}-{number}")
        steps.append((float(number), act, uid, amount))
        if act == "bind":
            bound.add(uid)
        if act == "end":
            del names[name]
    return steps


def tell(recorder: Recorder, t: float, act: str, uid: str, amount: int) -> None:
    match act:
        case "create":
            recorder.pod_created(t, sized(uid, amount), SCHEDULER)
        case "bind":
            recorder.bound(t, uid, f"n{amount}")
        case "start":
            recorder.started(t, uid)
        case "resize":
            recorder.resized(t, sized(uid, amount))
        case "lose":
            recorder.lost(t, uid)
        case "regain":
            recorder.regained(t, uid)
        case "end":
            recorder.ended(t, uid, PodEnd.DELETED)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.lists(acts, min_size=10, max_size=80))
def test_occupancy_is_that_of_the_run(tmp_path: Path, story: list[tuple[str, str, int]]) -> None:
    stream, file = StreamRecorder("s"), tmp_path / "run.duckdb"
    with writer(file) as run:
        for recorder in (stream, run):
            for place in (1, 2, 3):
                recorder.node_added(0.0, node(f"n{place}"))
            for step in possible(story):
                tell(recorder, *step)
        run.close(100.0)
        stream.close(100.0)
    with Run.open(file) as opened:
        columns = ("pod", "node", "from_seconds", "to_seconds", "reason", opened.resources.get("cpu", "pod"))
        recorded = [tuple(row[column] for column in columns) for row in opened.occupancy.rows()]
    named = sorted(((row[0].removeprefix("default/"), *row[1:]) for row in recorded), key=str)
    assert occupancy_of(events_of(stream)) == named


@pytest.mark.parametrize("times", [1, 2])
def test_what_holds_nothing_is_not_unbound(times: int) -> None:
    recorder = StreamRecorder("s")
    recorder.pod_created(0.0, sized("a", 1), SCHEDULER)
    for _ in range(times):
        recorder.lost(1.0, "a")
        recorder.ended(2.0, "a", PodEnd.DELETED)
        recorder.regained(3.0, "a")
    assert [type(what).__name__ for what in told_by(recorder)] == ["PodSeen", "PodSeen"]


def test_what_plugins_took_comes_with_the_attempt() -> None:
    recorder, spent = StreamRecorder("s"), Spent("NodeResourcesFit", "Filter", 3, 0.25)
    recorder.is_timed = True
    cluster = profile([node("n1", cpu=4)], [])
    for number in range(3):
        recorder.decided(float(number), SCHEDULER, 1, cluster.decide(pod(f"p{number}", cpu=1)), 0.1)
        if number != 1:  # of that one nobody tells
            recorder.plugin_times(float(number), SCHEDULER, [spent])
        recorder.plugin_times(float(number), SCHEDULER, [spent], is_of_attempt=False)
    recorder.close(3.0)
    events = recorder.ring.read(1, 9).events
    assert [event.time_seconds for event in events] == [0.0, 1.0, 2.0]
    times = (told.PluginTime("NodeResourcesFit", "Filter", 3, 0.25),)
    assert [event.what.plugin_times for event in events if isinstance(event.what, Attempt)] == [times, (), times]


@pytest.mark.parametrize("is_timed", [False, True])
def test_a_choice_is_told_before_what_came_of_it(is_timed: bool) -> None:
    """A simulated server binds at once, before anybody could tell of the attempt that asked for it."""
    recorder = StreamRecorder("s")
    recorder.is_timed = is_timed
    pods = [sized(name, 1) for name in ("a", "b", "c")]
    for each in pods:
        recorder.pod_created(0.0, each, SCHEDULER)
    for each in pods:
        recorder.bound(1.0, each.metadata.uid, "n1")
    for each in pods[:2]:
        recorder.decided(1.0, SCHEDULER, 1, placed(each, "n1"), 0.1)
        recorder.plugin_times(1.0, SCHEDULER, [Spent("NodeResourcesFit", "Filter", 3, 0.25)])
    recorder.started(2.0, "a")
    told_then = [(type(what).__name__, what.pod.name) for what in told_by(recorder)[3:]]
    assert told_then == [
        ("Attempt", "a"),
        ("Bound", "a"),
        ("Attempt", "b"),
        ("Bound", "b"),
        ("Bound", "c"),  # somebody else's choice
        ("PodSeen", "a"),
    ]
    assert [bool(what.plugin_times) for what in told_by(recorder) if isinstance(what, Attempt)] == [is_timed] * 2
