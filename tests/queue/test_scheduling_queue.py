from __future__ import annotations

import pytest

from fairway.model import ObjectMeta, Pod
from fairway.plugin import Hint, Refusal
from fairway.queue import Place, QueuedPod, SchedulingQueue
from tests.queue.builders import (
    NODE_ADDED,
    NODE_LABEL,
    POD_DELETED,
    VirtualClock,
    change,
    drain,
    gates,
    names,
    ordered,
    pod,
    popped,
    queue_of,
)

ACTIVE, BACKOFF, UNSCHEDULABLE, GATED = Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED


def backing_off(queue: SchedulingQueue, name: str, priority: int = 0) -> QueuedPod:
    """A pod that was refused, while something happened that may help it."""
    queue.add(pod(name, priority=priority))
    queued = queue.take(name)
    assert queued is not None
    queue.move([change(POD_DELETED)])
    assert queue.requeue_failed(queued, ["Fit"]) is BACKOFF
    return queued


def test_priority_first_then_time_then_arrival() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    for time, name, priority in ((0, "a", 0), (0, "b", 0), (1, "c", 10), (2, "d", 10), (3, "e", -1), (3, "f", 11)):
        clock.time = time
        queue.add(pod(name, priority=priority))
    assert names(queue.pending().active) == ["f", "c", "d", "a", "b", "e"]
    assert drain(queue) == ["f", "c", "d", "a", "b", "e"]


def test_a_pod_that_was_tried_goes_behind_those_that_were_not() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    for name in ("a", "b", "c"):
        queue.add(pod(name))
    first = popped(queue)
    queue.requeue_failed(first, ["Fit"])
    clock.time = 5.0
    queue.move([change(POD_DELETED)])
    assert first.place is ACTIVE
    assert drain(queue) == ["b", "c", "a"]


def test_failures_at_one_instant_keep_the_order_of_their_attempts() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    for name in ("a", "b", "c"):
        queue.add(pod(name))
    attempts = [popped(queue) for _ in range(3)]
    for queued in (attempts[2], attempts[0], attempts[1]):
        queue.requeue_failed(queued, ["Fit"])
    clock.time = 5.0
    queue.move([change(POD_DELETED)])
    assert drain(queue) == ["c", "a", "b"]


def test_another_order() -> None:
    queue = queue_of(VirtualClock(), rules=ordered(lambda queued: (queued.pod.metadata.name,)))
    for name in ("b", "c", "a"):
        queue.add(pod(name, priority=ord(name)))
    assert drain(queue) == ["a", "b", "c"]


def test_an_attempt_is_counted_and_ends() -> None:
    clock = VirtualClock(3.0)
    queue = queue_of(clock)
    queue.add(pod("a"))
    clock.time = 4.0
    queued = popped(queue)
    assert (queued.attempts, queued.timestamp, queued.initial_attempt_timestamp) == (1, 3.0, 3.0)
    assert queued.place is Place.IN_FLIGHT
    assert queue.counts()[Place.IN_FLIGHT] == 1
    assert queue.pop() is None
    queue.done("a")
    assert queued.place is None
    assert "a" not in queue
    queue.done("a")  # once more does no harm
    assert len(queue) == 0


def test_done_is_for_pods_in_flight() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a"))
    queue.done("a")
    assert drain(queue) == ["a"]


# -- the backoff is popped when nothing else is left -----------------------------------------------------------------


def test_the_backoff_is_popped_when_nothing_is_active() -> None:
    clock = VirtualClock(10.0)
    queue = queue_of(clock)
    backing_off(queue, "early")
    clock.time = 11.5
    backing_off(queue, "late, low", priority=-5)
    backing_off(queue, "late, high", priority=5)
    queue.add(pod("fresh", priority=-100))
    assert drain(queue) == ["fresh", "early", "late, high", "late, low"]


def test_a_pod_whose_attempt_broke_is_not_popped_early() -> None:
    clock = VirtualClock(10.0)
    queue = queue_of(clock)
    queue.add(pod("a"))
    assert queue.requeue_failed(popped(queue), error=True) is BACKOFF
    assert queue.pop() is None
    clock.time = 12.0
    assert drain(queue) == ["a"]


# -- updates and deletions -------------------------------------------------------------------------------------------


def test_an_update_of_an_active_pod_gives_it_the_turn_it_deserves() -> None:
    queue = queue_of(VirtualClock())
    for name in ("a", "b"):
        queue.add(pod(name))
    queue.update(pod("b"), pod("b", priority=1))
    assert names(queue.pending().active) == ["b", "a"]
    assert drain(queue) == ["b", "a"]


def test_an_update_of_a_resting_pod_stays_in_the_backoff() -> None:
    queue = queue_of(VirtualClock())
    backing_off(queue, "a")
    backing_off(queue, "b")
    queue.update(None, pod("b", priority=1))
    assert names(queue.pending().backoff) == ["b", "a"]


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    queue = queue_of(VirtualClock())
    queue.update(pod("a"), pod("a", labels={"x": "y"}))
    assert popped(queue).pod.metadata.labels == {"x": "y"}


def test_adding_a_known_pod_updates_it() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a"))
    queue.add(pod("a", priority=3))
    assert len(queue) == 1
    queued = popped(queue)
    assert queued.pod.priority == 3
    queue.add(pod("a", priority=4))
    assert queue.pop() is None
    assert queue.requeue_failed(queued, ["Fit"]) is UNSCHEDULABLE
    assert queued.pod.priority == 4


def test_another_pod_of_the_same_name_replaces_the_old_one() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a", uid="old"))
    queue.update(pod("a", uid="old"), pod("a", uid="new"))
    assert popped(queue).uid == "new"
    assert queue.pop() is None


@pytest.mark.parametrize("place", [ACTIVE, BACKOFF, UNSCHEDULABLE, GATED])
def test_a_deleted_pod_is_gone(place: Place) -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    if place is BACKOFF:
        backing_off(queue, "a")
    else:
        queue.add(pod("a", gates=["wait"] if place is GATED else []))
        if place is UNSCHEDULABLE:
            queue.requeue_failed(popped(queue), ["Fit"])
    assert queue.counts()[place] == 1
    queue.delete(pod("a"))
    assert set(queue.counts().values()) == {0}
    assert len(queue) == 0
    clock.time = 1000.0
    queue.move([change(POD_DELETED)])
    assert queue.pop() is None
    assert queue.next_wakeup() is None


def test_a_pod_deleted_in_flight_does_not_come_back() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a"))
    queued = popped(queue)
    queue.delete(pod("a"))
    assert "a" in queue  # its attempt goes on
    assert queue.requeue_failed(queued, ["Fit"]) is None
    assert len(queue) == 0
    assert queue.pop() is None


def test_a_pod_deleted_and_made_anew_in_flight() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a", uid="old"))
    old = popped(queue)
    queue.delete(old.pod)
    queue.add(pod("a", uid="new"))
    assert queue.requeue_failed(old, ["Fit"]) is None
    assert popped(queue).uid == "new"


def test_a_pod_whose_binding_failed_comes_back_after_done() -> None:
    clock = VirtualClock()
    queue = queue_of(clock)
    queue.add(pod("a"))
    queued = popped(queue)
    queue.done("a")
    assert queue.requeue_failed(queued, error=True) is BACKOFF
    clock.time = 2.0
    assert popped(queue) is queued
    assert queued.attempts == 2


def test_a_pod_that_waits_already_is_not_queued_twice() -> None:
    queue = queue_of(VirtualClock())
    queue.add(pod("a"))
    queued = popped(queue)
    queue.done("a")
    queue.add(pod("a"))
    assert queue.requeue_failed(queued, error=True) is ACTIVE
    assert len(queue) == 1
    again = popped(queue)
    assert queue.requeue_failed(queued, error=True) is Place.IN_FLIGHT
    assert again is not queued
    assert queue.pop() is None


# -- plugins ask for pods --------------------------------------------------------------------------------------------


def test_activate() -> None:
    queue = queue_of(VirtualClock())
    resting = backing_off(queue, "resting")
    queue.add(pod("refused"))
    refused = popped(queue)
    queue.requeue_failed(refused, ["Fit"])
    queue.add(pod("gated", gates=["wait"]))
    queue.activate([pod(name) for name in ("resting", "refused", "gated", "unknown")])
    assert (resting.place, refused.place) == (ACTIVE, ACTIVE)
    assert queue.counts()[GATED] == 1
    assert "unknown" not in queue


def test_activating_a_pod_in_flight_counts_when_it_comes_back() -> None:
    queue = queue_of(VirtualClock())
    for name in ("meant", "other"):
        queue.add(pod(name))
    meant, other = popped(queue), popped(queue)
    queue.activate([pod("meant")])
    assert queue.requeue_failed(other, ["Fit"]) is UNSCHEDULABLE
    assert queue.requeue_failed(meant, ["Fit"]) is BACKOFF


def test_take() -> None:
    queue = queue_of(VirtualClock())
    resting = backing_off(queue, "resting")
    queue.add(pod("first"))
    queue.add(pod("second"))
    queue.add(pod("gated", gates=["wait"]))
    taken = queue.take("second")
    assert taken is not None
    assert (taken.uid, taken.attempts, taken.place) == ("second", 1, Place.IN_FLIGHT)
    assert queue.take("resting") is resting
    assert queue.take("second") is None
    assert queue.take("gated") is None
    assert queue.take("unknown") is None
    assert drain(queue) == ["first"]


# -- looking ---------------------------------------------------------------------------------------------------------


def test_pending_shows_every_pod_once() -> None:
    queue = queue_of(VirtualClock())
    backing_off(queue, "resting")
    queue.add(pod("refused"))
    refused = popped(queue)
    queue.requeue_failed(refused, ["Fit"])
    queue.add(pod("flying"))
    popped(queue)
    queue.add(pod("gated", gates=["wait"]))
    queue.add(pod("ready"))
    pending = queue.pending()
    assert {place: names(pods) for place, pods in pending._asdict().items()} == {
        "active": ["ready"],
        "backoff": ["resting"],
        "unschedulable": ["refused"],
        "gated": ["gated"],
        "in_flight": ["flying"],
    }
    assert queue.counts() == dict.fromkeys(Place, 1)
    assert len(queue) == 5
    assert queue.find("refused") is refused
    assert queue.find("nobody") is None


def test_an_observer_hears_that_a_gated_pod_is_gated_for_another_reason() -> None:
    words = ["no group"]
    heard: list[tuple[Place | None, Place | None, tuple[str, ...]]] = []

    def observe(queued: QueuedPod, before: Place | None, after: Place | None, event: str, time: float) -> None:
        assert queued.refusal is not None
        heard.append((before, after, queued.refusal.reasons))

    rules = gates({"Together": lambda _: Refusal((words[0],))}, {"Together": (Hint(NODE_ADDED),)})
    queue = queue_of(VirtualClock(), rules=rules, observer=observe)
    queue.add(pod("a"))
    queue.move([change(NODE_ADDED)])
    words[0] = "too few"
    queue.move([change(NODE_ADDED)])
    queue.move([change(NODE_ADDED)])
    assert heard == [(None, GATED, ("no group",)), (GATED, GATED, ("too few",))]


def test_an_observer_hears_of_every_move() -> None:
    heard: list[tuple[str, Place | None, Place | None, str, float]] = []
    clock = VirtualClock()
    queue = queue_of(
        clock,
        observer=lambda queued, before, after, event, time: heard.append((queued.uid, before, after, event, time)),
    )
    queue.add(pod("a", gates=["wait"]))
    queue.update(pod("a", gates=["wait"]), pod("a"))
    queued = popped(queue)
    queue.requeue_failed(queued, ["Labels"])
    clock.time = 0.5
    queue.move([change(NODE_LABEL)])
    popped(queue)
    queue.requeue_failed(queued, error=True)
    clock.time = 3.0
    queue.tick()
    popped(queue)
    queue.requeue_failed(queued, ["Fit"])
    clock.time = 330.0
    queue.tick()
    queue.delete(pod("a"))
    queue.update(None, pod("b"))  # news of a pod never heard of: it was added
    popped(queue)
    queue.done("b")
    flying = Place.IN_FLIGHT
    assert heard == [
        ("a", None, GATED, "UnschedulablePodAdd", 0.0),
        ("a", GATED, ACTIVE, "UnschedulablePodUpdatePodSchedulingGatesEliminated", 0.0),
        ("a", ACTIVE, flying, "Pop", 0.0),
        ("a", flying, UNSCHEDULABLE, "ScheduleAttemptFailure", 0.0),
        ("a", UNSCHEDULABLE, BACKOFF, "NodeUpdateNodeLabel", 0.5),
        ("a", BACKOFF, flying, "PopFromBackoffQ", 0.5),
        ("a", flying, BACKOFF, "ScheduleAttemptFailure", 0.5),
        ("a", BACKOFF, ACTIVE, "BackoffComplete", 3.0),
        ("a", ACTIVE, flying, "Pop", 3.0),
        ("a", flying, UNSCHEDULABLE, "ScheduleAttemptFailure", 3.0),
        ("a", UNSCHEDULABLE, ACTIVE, "UnschedulableTimeout", 330.0),
        ("a", ACTIVE, None, "UnschedulablePodDelete", 330.0),
        ("b", None, ACTIVE, "UnschedulablePodAdd", 330.0),
        ("b", ACTIVE, flying, "Pop", 330.0),
        ("b", flying, None, "Done", 330.0),
    ]


def test_pods_that_are_not_ours_are_refused_by_name() -> None:
    queue = queue_of(VirtualClock())
    stranger = pod("a", profile="other-scheduler")
    assert not queue.serves(stranger)
    assert queue.serves(pod("a"))
    with pytest.raises(ValueError, match=r"default/a is for scheduler 'other-scheduler'; here are default-scheduler"):
        queue.add(stranger)
    with pytest.raises(ValueError, match="default/nameless has no uid"):
        queue.add(Pod(metadata=ObjectMeta(name="nameless", namespace="default")))
    assert len(queue) == 0
