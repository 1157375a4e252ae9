"""Clocks that are set do not change what jobs have used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.steady_clock import ClockReading, SteadyClock


@pytest.mark.parametrize(
    ("wall", "step"),
    [
        pytest.param(1010.0, 0.0, id="as it should be"),
        pytest.param(1014.9, 0.0, id="a little fast"),
        pytest.param(4610.0, 3600.0, id="set forward"),
        pytest.param(910.0, -100.0, id="set back"),
    ],
)
def test_what_passed_is_what_the_counter_says(wall: float, step: float) -> None:
    clock = SteadyClock.begun(1000.0, 50.0)
    assert clock.read(wall, 60.0) == ClockReading(1010.0, wall, step)


def test_who_begins_is_not_before_whoever_was_here_last() -> None:
    assert SteadyClock.begun(1000.0, 0.0, last_known=1200.0).read(1001.0, 1.0).steady == 1201.0


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e4)), max_size=10))
def test_it_never_goes_back(ticks: list[tuple[float, float]]) -> None:
    clock = SteadyClock.begun(0.0, 0.0)
    monotonic, last = 0.0, 0.0
    for wall, passed in ticks:
        monotonic += passed
        steady = clock.read(wall, monotonic).steady
        assert steady >= last
        last = steady
    assert last == pytest.approx(monotonic)
