from __future__ import annotations

import pytest

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.model import Pod
from fairway.plugin import Hint, Refusal
from fairway.queue import Place, QueuedPod, QueueRules, QueueSettings, SchedulingQueue
from tests.queue.builders import (
    EVERYTHING,
    NODE_ADDED,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETED,
    VirtualClock,
    change,
    drain,
    gates,
    hinted,
    pod,
    popped,
    queue_of,
)

ACTIVE, BACKOFF, UNSCHEDULABLE, GATED = Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED


def failed(queue: SchedulingQueue, name: str, *refused: str, pending: tuple[str, ...] = ()) -> QueuedPod:
    """A pod that came, was tried and refused."""
    queue.add(pod(name))
    queued = queue.take(name)
    assert queued is not None
    queue.requeue_failed(queued, refused, pending)
    return queued


@pytest.mark.parametrize(
    ("refused", "pending", "happened", "seconds_later", "place"),
    [
        pytest.param(["Fit"], [], NODE_ADDED, 0, BACKOFF, id="helps, but it has to rest"),
        pytest.param(["Fit"], [], NODE_ADDED, 1.9, BACKOFF, id="still has to"),
        pytest.param(["Fit"], [], NODE_ADDED, 2, ACTIVE, id="has rested"),
        pytest.param(["Fit"], [], NODE_LABEL, 2, UNSCHEDULABLE, id="does not help"),
        pytest.param(["Fit"], [], NODE_TAINT, 2, UNSCHEDULABLE, id="the hint says no"),
        pytest.param([], ["Callback"], NODE_ADDED, 0, ACTIVE, id="the plugin it waits for calls: no rest"),
        pytest.param(["Fit"], ["Callback"], POD_DELETED, 0, BACKOFF, id="another one calls: rest"),
        pytest.param(["Fit"], [], EVERYTHING, 0, BACKOFF, id="everything"),
        pytest.param([], ["Callback"], EVERYTHING, 0, BACKOFF, id="everything, even if a plugin is to call"),
    ],
)
def test_a_change_moves_a_pod(
    refused: list[str], pending: list[str], happened: ClusterEvent, seconds_later: float, place: Place
) -> None:
    clock = VirtualClock(100.0)
    queue = queue_of(clock)
    queued = failed(queue, "a", *refused, pending=tuple(pending))
    clock.time += seconds_later
    queue.move([change(happened)])
    assert queued.place is place


def test_only_the_pods_meant_are_moved() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    low, high = failed(queue, "low", "Fit"), failed(queue, "high", "Fit")
    queue.update(None, pod("high", priority=9))
    clock.time = 5
    queue.move([change(POD_DELETED)], only=lambda waiting: waiting.priority <= 0)
    assert (low.place, high.place) == (ACTIVE, UNSCHEDULABLE)


def test_only_hints_of_plugins_that_refused_are_asked() -> None:
    asked: list[tuple[str, str]] = []

    def asking(plugin: str) -> Hint:
        def helps(waiting: Pod, happened: Change) -> bool:
            asked.append((plugin, waiting.metadata.name))
            return False

        return Hint(NODE_ADDED, helps)

    queue = queue_of(VirtualClock(), rules=hinted(A=asking("A"), B=asking("B"), C=Hint(NODE_LABEL)))
    failed(queue, "a", "A")
    failed(queue, "b", "B")
    failed(queue, "c", "C")
    queue.move([change(NODE_ADDED)])
    assert asked == [("A", "a"), ("B", "b")]


@pytest.mark.parametrize(
    ("refused", "pending", "events", "place"),
    [
        pytest.param(["Fit"], [], [], UNSCHEDULABLE, id="nothing happened"),
        pytest.param(["Fit"], [], [NODE_LABEL], UNSCHEDULABLE, id="nothing that helps"),
        pytest.param(["Fit"], [], [NODE_LABEL, POD_DELETED], BACKOFF, id="something that helps"),
        pytest.param(["Fit"], ["Callback"], [POD_DELETED, NODE_ADDED], ACTIVE, id="the plugin called meanwhile"),
        pytest.param([], [], [], BACKOFF, id="it broke"),
    ],
)
def test_what_happened_while_in_flight_counts(
    refused: list[str], pending: list[str], events: list[ClusterEvent], place: Place
) -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a"))
    queue.move([change(NODE_ADDED)])  # before its attempt: it will see the result itself
    queued = popped(queue)
    for event in events:
        queue.move([change(event)])
    assert queue.requeue_failed(queued, refused, pending) is place
    assert queued.place is place


def test_what_happened_before_a_later_pod_was_popped_does_not_count_for_it() -> None:
    queue = queue_of(VirtualClock())
    for name in ("first", "second"):
        queue.add(pod(name))
    first = popped(queue)
    queue.move([change(POD_DELETED)])
    second = popped(queue)
    assert queue.requeue_failed(second, ["Fit"]) is UNSCHEDULABLE
    assert queue.requeue_failed(first, ["Fit"]) is BACKOFF


def test_its_own_update_while_in_flight_counts_and_the_new_version_comes_back() -> None:
    updates = ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL)
    queue = queue_of(VirtualClock(), rules=hinted(Labels=Hint(updates)))
    queue.add(pod("a"))
    queued = popped(queue)
    new = pod("a", labels={"now": "fits"})
    queue.update(pod("a"), new)
    assert queued.pod == pod("a")  # the attempt goes on with what it began with
    assert queue.requeue_failed(queued, ["Labels"]) is BACKOFF
    assert queued.pod == new
    assert queued.latest is None


def test_an_update_may_help_the_pod_itself() -> None:
    less = ClusterEvent(Resource.POD, Action.UPDATE_POD_SCALE_DOWN)
    clock = VirtualClock()
    queue = queue_of(clock, rules=hinted(Fit=Hint(less)))
    queue.add(pod("a", cpu="4"))
    queued = popped(queue)
    queue.requeue_failed(queued, ["Fit"])
    queue.update(pod("a", cpu="4"), pod("a", cpu="4", labels={"x": "y"}))
    assert queued.place is UNSCHEDULABLE
    assert queued.pod.metadata.labels == {"x": "y"}
    queue.update(pod("a", cpu="4"), pod("a", cpu="2"))
    assert queued.place is BACKOFF


# -- gates -----------------------------------------------------------------------------------------------------------


def test_a_gated_pod_enters_when_its_gates_are_gone() -> None:
    clock = VirtualClock(7.0)
    queue = queue_of(clock)
    queue.add(pod("a", gates=["one", "two"]))
    queued = queue.find("a")
    assert queued is not None
    assert queued.place is GATED
    assert queued.gating_plugin == "SchedulingGates"
    assert queued.refusal == Refusal(("waiting for scheduling gates: [one two]",))
    assert queue.pop() is None

    queue.update(pod("a", gates=["one", "two"]), pod("a", gates=["two"]))
    assert queued.place is GATED
    clock.time = 9.0
    queue.update(pod("a", gates=["two"]), pod("a"))
    assert queued.place is ACTIVE
    assert not queued.is_gated
    assert (queued.timestamp, queued.initial_attempt_timestamp) == (7.0, 9.0)


def test_a_gated_pod_is_looked_at_only_for_events_of_its_gate() -> None:
    is_open = False
    asked = 0

    def gate(_: Pod) -> Refusal | None:
        nonlocal asked
        asked += 1
        return None if is_open else Refusal(("closed",))

    rules = gates({"Gate": gate}, {"Gate": [Hint(NODE_LABEL)], "Fit": [Hint(POD_DELETED)]})
    clock = VirtualClock()
    queue = queue_of(clock, rules=rules)
    is_open = True
    queue.add(pod("a"))
    queued = popped(queue)
    is_open = False
    queue.move([change(POD_DELETED)])
    assert queue.requeue_failed(queued, ["Fit"]) is GATED  # it would rest, were the gate open
    assert queued.unschedulable_plugins == {"Gate", "Fit"}

    clock.time, asked, is_open = 60.0, 0, True
    queue.move([change(POD_DELETED)])  # Fit hears of it, the gate does not
    assert (queued.place, asked) == (GATED, 0)
    queue.move([change(NODE_LABEL)])
    assert (queued.place, asked) == (ACTIVE, 1)


def test_a_pod_may_be_gated_when_it_comes_back_from_among_the_unschedulable() -> None:
    is_open = True
    rules = gates(
        {"Gate": lambda _: None if is_open else Refusal(("closed",))}, {"Gate": [], "Fit": [Hint(POD_DELETED)]}
    )
    clock = VirtualClock()
    queue = queue_of(clock, rules=rules)
    queued = failed(queue, "a", "Fit")
    assert queue.counts()[UNSCHEDULABLE] == 1
    is_open = False
    queue.move([change(POD_DELETED)])
    assert queued.place is GATED
    assert queue.counts() == {ACTIVE: 0, BACKOFF: 0, UNSCHEDULABLE: 0, GATED: 1, Place.IN_FLIGHT: 0}


def test_plugins_are_not_asked_again_when_a_backoff_ends() -> None:
    asked = 0

    def gate(_: Pod) -> Refusal | None:
        nonlocal asked
        asked += 1
        return None

    clock = VirtualClock()
    queue = queue_of(clock, rules=gates({"Gate": gate}, {}))
    queue.add(pod("a"))
    queue.requeue_failed(popped(queue), error=True)
    assert asked == 2  # upon its arrival, and upon entering the backoff
    clock.time = 2.0
    assert popped(queue).attempts == 2
    assert asked == 2


def test_nor_when_a_resting_pod_is_activated() -> None:
    is_open = True
    queue = queue_of(VirtualClock(), rules=gates({"Gate": lambda _: None if is_open else Refusal(("closed",))}, {}))
    queue.add(pod("a"))
    queued = popped(queue)
    queue.requeue_failed(queued, error=True)
    is_open = False
    queue.activate([pod("a")])
    assert queued.place is ACTIVE


# -- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "error", "end"),
    [
        pytest.param(1, False, 102.0, id="one second, and the second it ends in"),
        pytest.param(2, False, 103.0, id="two"),
        pytest.param(4, False, 109.0, id="eight"),
        pytest.param(5, False, 111.0, id="ten at most"),
        pytest.param(1, True, 102.0, id="an error"),
        pytest.param(3, True, 105.0, id="three errors in a row"),
    ],
)
def test_a_backoff_takes_its_time(failures: int, error: bool, end: float) -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    queue.add(pod("a"))
    queued = popped(queue)
    for _ in range(failures - 1):
        queue.requeue_failed(queued, ["Fit"], error=error)
        queue.take("a")
    clock.time = 100.25
    queue.move([change(POD_DELETED)])
    assert queue.requeue_failed(queued, ["Fit"], error=error) is BACKOFF
    clock.time = end - 0.001
    queue.tick()
    assert queued.place is BACKOFF
    clock.time = end
    queue.tick()
    assert queued.place is ACTIVE


def test_an_error_in_between_does_not_count_as_a_refusal() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    queued = failed(queue, "a", "Fit")
    for refused in (["Fit"], [], ["Fit"]):
        assert queue.take("a") is queued
        queue.requeue_failed(queued, refused)
    assert (queued.unschedulable_count, queued.consecutive_errors, queued.attempts) == (3, 0, 4)


def test_no_maximum_no_backoff() -> None:
    queue = queue_of(VirtualClock(), settings=QueueSettings(initial_backoff_seconds=0, max_backoff_seconds=0))
    queue.add(pod("a"))
    queued = popped(queue)
    assert queue.requeue_failed(queued, error=True) is ACTIVE


def test_pods_that_waited_too_long_are_flushed() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    clock.time = 10.0
    first = failed(queue, "first", "Fit")
    clock.time = 45.0
    second = failed(queue, "second", "Fit")
    for time, places in (
        (300.0, (UNSCHEDULABLE, UNSCHEDULABLE)),
        (310.0, (UNSCHEDULABLE, UNSCHEDULABLE)),
        (330.0, (ACTIVE, UNSCHEDULABLE)),
        (359.9, (ACTIVE, UNSCHEDULABLE)),
        (360.0, (ACTIVE, ACTIVE)),
    ):
        clock.time = time
        queue.tick()
        assert (first.place, second.place) == places, time
    assert first.was_flushed
    assert first.flush_timestamp == 330.0


@pytest.mark.parametrize(
    ("patience", "interval", "flushed"),
    [
        pytest.param(300.0, 30.0, 330.0, id="kube-scheduler's"),
        pytest.param(60.0, 30.0, 90.0, id="a minute"),
        pytest.param(0.0, 30.0, 30.0, id="none"),
        pytest.param(100.0, 7.0, 105.0, id="another interval"),
    ],
)
def test_when_pods_are_flushed(patience: float, interval: float, flushed: float) -> None:
    clock = VirtualClock()
    queue = queue_of(clock, settings=QueueSettings(max_unschedulable_seconds=patience, flush_interval_seconds=interval))
    queued = failed(queue, "a", "Fit")
    assert queue.next_wakeup() == flushed
    clock.time = flushed
    queue.tick()
    assert queued.place is ACTIVE


def test_the_mark_of_the_flush_goes_with_the_next_failure() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    failed(queue, "a", "Fit")
    clock.time = 330.0
    queued = popped(queue)
    assert queued.was_flushed
    queue.requeue_failed(queued, ["Fit"])
    assert not queued.was_flushed
    assert queued.last_tried == 330.0


def test_a_gated_pod_is_asked_about_at_every_flush_of_its_own() -> None:
    asked: list[float] = []
    clock = VirtualClock()

    def gate(_: Pod) -> Refusal | None:
        asked.append(clock.time)
        return Refusal(("closed",))

    queue = queue_of(clock, rules=gates({"Gate": gate}, {"Gate": []}))
    queue.add(pod("a"))
    for minute in range(1, 31):
        clock.time = minute * 60.0
        queue.tick()
    # Every five minutes and a bit, not at every flush from then on.
    assert asked == [0.0, 360.0, 720.0, 1080.0, 1440.0, 1800.0]
    queued = queue.find("a")
    assert queued is not None
    assert (queued.place, queued.was_flushed) == (GATED, False)


def test_a_flush_is_an_event_for_pods_in_flight() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    failed(queue, "waiting", "Fit")
    queue.add(pod("flying"))
    flying = popped(queue)
    clock.time = 330.0
    queue.tick()
    assert queue.requeue_failed(flying, ["Fit"]) is BACKOFF


def test_the_next_wakeup() -> None:
    clock = VirtualClock(0.5)
    queue = queue_of(clock)
    assert queue.next_wakeup() is None
    queue.add(pod("broken"))
    assert queue.next_wakeup() == 0.5
    queue.requeue_failed(popped(queue), error=True)
    assert queue.next_wakeup() == 2.0  # the end of the backoff; nobody pops a broken pod before
    clock.time = 2.0
    assert drain(queue) == ["broken"]
    assert queue.next_wakeup() is None  # in flight: that is up to others
    queue.done("broken")
    failed(queue, "refused", "Fit")
    assert queue.next_wakeup() == 330.5  # the flush
    queue.move([change(POD_DELETED)])
    assert queue.next_wakeup() == 2.0  # resting, but it may be popped if there is nothing else
    assert drain(queue) == ["refused"]


def test_what_is_overdue_is_due_now() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    failed(queue, "a", "Fit")
    clock.time = 400.0
    assert queue.next_wakeup() == 400.0
    assert drain(queue) == ["a"]


def test_profiles_with_other_rules() -> None:
    clock = VirtualClock()
    queue = queue_of(
        clock,
        rules={
            "default-scheduler": QueueRules(hints={"Fit": [Hint(NODE_ADDED)]}),
            "batch": QueueRules(
                pre_enqueue={"Quota": lambda waiting: Refusal(("used up",)) if waiting.priority < 0 else None},
                hints={"Fit": [Hint(NODE_LABEL)]},
            ),
        },
    )
    web = failed(queue, "web", "Fit")
    queue.add(pod("job", profile="batch"))
    job = popped(queue)
    queue.requeue_failed(job, ["Fit"])
    queue.add(pod("poor", profile="batch", priority=-1))
    queue.add(pod("cheap", priority=-1))
    queue.move([change(NODE_LABEL)])
    assert (web.place, job.place) == (UNSCHEDULABLE, BACKOFF)
    counts = queue.counts()
    assert (counts[ACTIVE], counts[GATED]) == (1, 1)
