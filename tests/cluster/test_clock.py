"""The clock that plugins see: it moves in steps, and says so."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import TIME_PASSED, Aspect, Cluster

NOON = dt.datetime(2030, 3, 1, 12, tzinfo=dt.UTC)


def at(seconds: float) -> float:
    return NOON.timestamp() + seconds


def test_it_stands_still_within_a_step_and_tells_when_one_is_over() -> None:
    cluster = Cluster()
    cluster.clock.follow(60)
    cluster.clock.advance(at(0))
    count = cluster.versions.of(Aspect.TIME)
    assert cluster.clock.advance(at(59.9)) is None
    assert cluster.clock.now(60) == NOON
    change = cluster.clock.advance(at(60))
    assert change is not None
    assert change.event == TIME_PASSED
    assert (change.old, change.new) == (NOON + dt.timedelta(seconds=59.9), NOON + dt.timedelta(seconds=60))
    assert cluster.versions.of(Aspect.TIME) == count + 1
    assert cluster.clock.now(60) == NOON + dt.timedelta(minutes=1)


def test_nobody_goes_by_it_nothing_is_counted() -> None:
    cluster = Cluster()
    before = cluster.versions.now
    assert cluster.clock.advance(at(1e6)) is None
    assert cluster.versions.now == before
    assert cluster.clock.next_step() is None


def test_the_next_step_is_that_of_whoever_is_first() -> None:
    cluster = Cluster()
    cluster.clock.follow(3600)
    cluster.clock.follow(900)
    cluster.clock.advance(at(1000))
    assert cluster.clock.next_step(at(0)) == 1800


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=3), st.lists(st.floats(0, 1e6), max_size=10))
def test_what_it_shows_changes_only_when_it_says_so(steps: list[int], times: list[float]) -> None:
    cluster = Cluster()
    for step in steps:
        cluster.clock.follow(step)
    cluster.clock.advance(at(0))
    for seconds in sorted(times):
        before = [cluster.clock.now(step) for step in steps]
        coming = cluster.clock.next_step()
        change = cluster.clock.advance(at(seconds))
        assert (change is not None) == ([cluster.clock.now(step) for step in steps] != before)
        assert coming is not None
        assert (change is not None) == (at(seconds) >= coming)
