"""The clock moves when it is told to, and never back."""

import pytest

from fairway.testing import FakeClock


def test_clock_stands_still_until_it_is_advanced() -> None:
    clock = FakeClock(100)
    assert clock.now() == clock.now() == 100.0
    assert clock.advance(2.5) == 102.5
    assert clock.now() == 102.5


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_clock_refuses_to_run_backwards(seconds: float) -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="can not be advanced"):
        clock.advance(seconds)
    assert clock.now() == 0.0
