from __future__ import annotations

from fairway.cluster import Change
from fairway.queue.in_flight import InFlight
from tests.queue.builders import NODE_ADDED, change


def numbered(number: int) -> Change:
    return change(NODE_ADDED, None, number)


def missed(flight: InFlight, uid: str) -> list[int]:
    return [happened.new for happened in flight.missed(uid)]


def test_a_pod_misses_what_happens_after_its_start() -> None:
    flight = InFlight()
    flight.record(numbered(0))  # nobody is in flight: nobody misses it
    flight.start("a")
    flight.record(numbered(1))
    flight.start("b")
    flight.record(numbered(2))
    assert missed(flight, "a") == [1, 2]
    assert missed(flight, "b") == [2]
    assert list(flight) == ["a", "b"]


def test_changes_are_kept_no_longer_than_needed() -> None:
    flight = InFlight()
    flight.start("a")
    flight.record(numbered(1))
    flight.start("b")
    flight.record(numbered(2))
    flight.start("c")
    flight.record(numbered(3))
    flight.finish("b")  # not the oldest: nothing can be forgotten
    assert flight.num_changes == 3
    assert missed(flight, "a") == [1, 2, 3]
    flight.finish("a")
    assert flight.num_changes == 1
    assert missed(flight, "c") == [3]
    flight.finish("c")
    assert (flight.num_changes, len(flight)) == (0, 0)


def test_positions_hold_across_generations() -> None:
    flight = InFlight()
    for number in range(100):
        flight.start(f"pod{number}")
        flight.record(numbered(number))
        if number:
            assert missed(flight, f"pod{number - 1}") == [number - 1, number]
            flight.finish(f"pod{number - 1}")
    assert flight.num_changes == 1
    assert missed(flight, "pod99") == [99]


def test_finishing_a_pod_that_is_not_in_flight_changes_nothing() -> None:
    flight = InFlight()
    flight.start("a")
    flight.record(numbered(1))
    flight.finish("b")
    assert missed(flight, "a") == [1]
