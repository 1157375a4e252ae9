"""Usage fades by itself: it does not matter when one looks."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.usage import DecayedUsage, UsageInterval, billed_rate, decayed, interval_usage

HALF_LIFE = 7 * 86400.0
TIMES = st.floats(0, 1e7)


@pytest.mark.parametrize(
    ("interval", "now", "half_life", "usage"),
    [
        (UsageInterval(0, 100, 2.0), 100, math.inf, 200.0),
        (UsageInterval(0, 100, 2.0), 50, math.inf, 100.0),  # what is to come does not count
        (UsageInterval(60, 100, 2.0), 50, 10, 0.0),
        (UsageInterval(0, math.inf, 1.0), 50, math.inf, 50.0),
        (UsageInterval(0, 10, 1.0), 10, 10, 0.5 * 10 / math.log(2)),
        (UsageInterval(0, 10, 1.0), 20, 10, 0.25 * 10 / math.log(2)),  # a half-life later it is the half
        (UsageInterval(0, 1e-6, 1e6), 1e-6, HALF_LIFE, 1.0),  # the shortest job counts
    ],
)
def test_what_an_interval_weighs(interval: UsageInterval, now: float, half_life: float, usage: float) -> None:
    assert interval_usage(interval, now, half_life) == pytest.approx(usage, rel=1e-12)


@given(
    start=TIMES, length=st.floats(1, 1e6), later=st.floats(0, 1e6), rate=st.floats(0.1, 1e4), t_half=st.floats(1e3, 1e7)
)
def test_it_is_the_sum_of_small_steps(start: float, length: float, later: float, rate: float, t_half: float) -> None:
    end = start + length
    now = end + later
    steps = 2000
    step = (end - start) / steps
    middles = (start + (number + 0.5) * step for number in range(steps))
    integral = math.fsum(rate * step * 2 ** (-(now - middle) / t_half) for middle in middles)
    # The midpoint rule is off by the square of a step, in half-lives.
    tolerance = 1e-9 + (step / t_half) ** 2
    assert interval_usage(UsageInterval(start, end, rate), now, t_half) == pytest.approx(integral, rel=tolerance)


@given(cuts=st.lists(st.floats(0, 1e5), max_size=5), looks=st.lists(st.floats(0, 1e5), max_size=5))
def test_neither_cuts_nor_looks_change_it(cuts: list[float], looks: list[float]) -> None:
    times = sorted([0.0, *cuts, 1e5])
    pieces = [UsageInterval(start, end, 3.0) for start, end in itertools.pairwise(times)]
    total = DecayedUsage()
    for piece in pieces:
        for look in sorted(look for look in looks if total.as_of < look < piece.end):
            total = DecayedUsage(total.at(look, HALF_LIFE), look)
        total = total.plus(piece, piece.end, HALF_LIFE)
    whole = interval_usage(UsageInterval(0.0, 1e5, 3.0), 2e5, HALF_LIFE)
    assert total.at(2e5, HALF_LIFE) == pytest.approx(whole, rel=1e-9)


def test_half_is_left_after_a_half_life_and_all_of_it_without_one() -> None:
    assert decayed(8.0, 2 * HALF_LIFE, HALF_LIFE) == 2.0
    assert decayed(8.0, 1e12, math.inf) == 8.0


def test_a_rate_is_what_requests_cost() -> None:
    requests = {"cpu": 1500, "memory": 4 << 30, "nvidia.com/gpu": 2, "pods": 1}
    weights = {"cpu": 1.0, "memory": 0.25, "nvidia.com/gpu": 20.0, "example.com/other": 5.0}
    assert billed_rate(requests, weights) == 1.5 + 1.0 + 40.0
    assert billed_rate(requests, weights, "max") == 40.0
    assert billed_rate(requests, {}) == billed_rate(requests, {}, "max") == 0.0
