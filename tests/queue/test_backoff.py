from __future__ import annotations

import math
from itertools import count

import pytest

from fairway.queue.backoff import Backoff
from fairway.queue.queued_pod import QueuedPod, priority_order
from tests.queue.builders import names, waiting


def backoff(initial: float = 1.0, maximum: float = 10.0) -> Backoff:
    return Backoff(initial, maximum, priority_order, count(1))


@pytest.mark.parametrize(
    ("initial", "maximum", "failures", "seconds"),
    [
        pytest.param(1, 10, 0, 0, id="no failure, no backoff"),
        pytest.param(1, 10, 1, 1, id="the first"),
        pytest.param(1, 10, 2, 2, id="doubles"),
        pytest.param(1, 10, 4, 8, id="doubles again and again"),
        pytest.param(1, 10, 5, 10, id="up to the maximum"),
        pytest.param(3, 1000, 5, 48, id="from another start"),
        pytest.param(1, 32, 6, 32, id="the maximum exactly"),
        pytest.param(1, 32, 16, 32, id="stays there"),
        pytest.param(1, 2**31 - 1, 32, 2**31 - 1, id="past 32 bits"),
        pytest.param(1, 2.0**63, 64, 2.0**63, id="past 64 bits"),
        pytest.param(1, 10, 5000, 10, id="past the range of floats"),
        pytest.param(0, 10, 7, 0, id="nothing doubled is nothing"),
    ],
)
def test_duration(initial: float, maximum: float, failures: int, seconds: float) -> None:
    assert backoff(initial, maximum).duration(failures) == seconds


@pytest.mark.parametrize(
    ("queued", "maximum", "expected"),
    [
        pytest.param(waiting(timestamp=100.0), 32, -math.inf, id="never tried"),
        pytest.param(waiting(timestamp=100.0, unschedulable_count=1), 32, 101.0, id="refused once"),
        pytest.param(waiting(timestamp=100.999, unschedulable_count=1), 32, 101.0, id="rounded down to the second"),
        pytest.param(waiting(timestamp=100.0, unschedulable_count=16), 32, 132.0, id="refused often"),
        pytest.param(
            waiting(timestamp=100.0, unschedulable_count=5, consecutive_errors=2), 32, 102.0, id="errors count instead"
        ),
        pytest.param(waiting(timestamp=100.0, unschedulable_count=16), 0, -math.inf, id="turned off"),
    ],
)
def test_expiration(queued: QueuedPod, maximum: float, expected: float) -> None:
    assert backoff(min(1, maximum), maximum).expiration(queued) == expected


def test_expiration_is_kept_until_the_next_failure() -> None:
    queued = waiting(timestamp=100.0, unschedulable_count=1)
    one = backoff()
    assert one.expiration(queued) == 101.0
    queued.unschedulable_count = 3
    assert one.expiration(queued) == 101.0
    queued.note_failure(frozenset({"Fit"}), frozenset(), 200.0, 1)
    assert one.expiration(queued) == 208.0


@pytest.mark.parametrize(
    ("now", "rests"),
    [
        pytest.param(100.5, True, id="before the second"),
        pytest.param(101.0, True, id="at its start"),
        pytest.param(101.99, True, id="within it"),
        pytest.param(102.0, False, id="after it"),
    ],
)
def test_a_pod_rests_until_the_second_in_which_its_backoff_ends_is_over(now: float, rests: bool) -> None:
    queued = waiting(timestamp=100.3, unschedulable_count=1, refused=["Fit"])
    one = backoff()
    assert one.is_resting(queued, now) is rests
    one.push(queued)
    assert names(one.pop_completed(now)) == ([] if rests else ["a"])
    assert len(one) == (1 if rests else 0)


def test_within_a_second_priority_decides_then_time() -> None:
    one = backoff()
    now = 1000.0
    for sequence, (name, priority, timestamp) in enumerate(
        [
            ("pod0", 1, now),
            ("pod1", 1, now - 1),
            ("pod2", 2, now - 2 + 0.001),
            ("pod3", 1, now - 2),
            ("pod4", 2, now - 2),
            ("pod5", 1, now - 3),
        ]
    ):
        one.push(
            waiting(
                name,
                priority=priority,
                timestamp=timestamp,
                sequence=sequence,
                refused=["plugin"],
                unschedulable_count=1,
            )
        )
    assert names(one.pop_completed(now)) == ["pod5", "pod4", "pod2", "pod3"]
    assert names(list(one)) == ["pod1", "pod0"]


def test_broken_pods_rest_apart_and_are_never_popped_early() -> None:
    one = backoff()
    broken = waiting("broken", timestamp=10.0, consecutive_errors=1)
    refused = waiting("refused", timestamp=12.0, unschedulable_count=1, refused=["Fit"])
    one.push(refused)
    one.push(broken)
    assert one.next_completion() == 12.0  # of the broken one
    assert one.pop() is refused
    assert not one.is_poppable
    assert one.pop() is None
    assert names(one.pop_completed(11.9)) == []
    assert names(one.pop_completed(12.0)) == ["broken"]
    assert one.next_completion() is None


def test_remove_and_reorder() -> None:
    one = backoff()
    first = waiting("first", timestamp=0.0, sequence=0, unschedulable_count=1, refused=["Fit"])
    second = waiting("second", timestamp=0.0, sequence=1, unschedulable_count=1, refused=["Fit"])
    one.push(first)
    one.push(second)
    second.pod = waiting("second", priority=7).pod
    one.reorder(second)
    assert names(list(one)) == ["second", "first"]
    one.remove(second)
    assert names(list(one)) == ["first"]
