from __future__ import annotations

import pytest

from fairway.queue.unschedulable import FlushTimes, UnschedulablePods
from tests.queue.builders import names, waiting


def test_pods_are_found_by_who_refused_them() -> None:
    pods = UnschedulablePods()
    pods.put(waiting("both", refused=["Fit", "Labels"]))
    pods.put(waiting("fit", refused=["Fit"]))
    pods.put(waiting("pending", pending=["Labels"]))
    pods.put(waiting("other", refused=["Fit"], profile="other"))
    assert names(pods.refused_by({"default-scheduler": ["Fit"]})) == ["both", "fit"]
    assert names(pods.refused_by({"default-scheduler": ["Labels", "Fit"]})) == ["both", "pending", "fit"]
    assert names(pods.refused_by({"other": ["Fit"]})) == ["other"]
    assert pods.refused_by({"other": ["Labels"], "unknown": ["Fit"]}) == []


def test_a_pod_put_again_is_filed_anew() -> None:
    pods = UnschedulablePods()
    queued = waiting("a", refused=["Fit"])
    pods.put(queued)
    queued.unschedulable_plugins = frozenset({"Gate"})
    queued.gating_plugin = "Gate"
    pods.put(queued)
    assert len(pods) == 1
    assert pods.num_gated == 1
    assert pods.refused_by({"default-scheduler": ["Fit"]}) == []
    assert names(pods.refused_by({"default-scheduler": ["Gate"]})) == ["a"]
    queued.gating_plugin = ""
    pods.put(queued)
    assert pods.num_gated == 0


def test_removal_is_from_where_it_was_filed_not_from_what_it_says_now() -> None:
    pods = UnschedulablePods()
    queued = waiting("a", refused=["Fit"], gated_by="Fit")
    pods.put(queued)
    queued.unschedulable_plugins = frozenset({"Labels"})
    queued.gating_plugin = ""
    pods.remove(queued)
    assert (len(pods), pods.num_gated) == (0, 0)
    assert pods.refused_by({"default-scheduler": ["Fit", "Labels"]}) == []


def test_longest_untried_first() -> None:
    pods = UnschedulablePods()
    for name, timestamp in (("a", 0.0), ("b", 10.0), ("c", 20.0)):
        pods.put(waiting(name, timestamp=timestamp, refused=["Fit"]))
    assert names(pods.untried_for(300, 300.0)) == []  # more than, not at least
    assert names(pods.untried_for(300, 310.5)) == ["a", "b"]
    oldest = pods.oldest()
    assert oldest is not None
    oldest.flush_timestamp = 310.5
    pods.postpone(oldest)
    assert names(pods.untried_for(300, 330.0)) == ["b", "c"]
    assert names(list(pods)) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("start", "now", "due", "then"),
    [
        pytest.param(0.0, 29.9, None, 30.0, id="too early"),
        pytest.param(0.0, 30.0, 30.0, 60.0, id="on time"),
        pytest.param(0.0, 45.0, 30.0, 60.0, id="late"),
        pytest.param(0.0, 1000.0, 990.0, 1020.0, id="after a long sleep only the last"),
        pytest.param(0.1, 90.1, 90.1, 120.1, id="a start that floats do not like"),
        pytest.param(1.7e9, 1.7e9 + 86400 * 365, 1.7e9 + 86400 * 365, 1.7e9 + 86400 * 365 + 30, id="a year later"),
    ],
)
def test_flush_times(start: float, now: float, due: float | None, then: float) -> None:
    times = FlushTimes(start, 30.0)
    assert times.due(now) == due
    assert times.due(now) is None
    assert times.due(then) == then


@pytest.mark.parametrize(
    ("since", "seconds", "first"),
    [
        pytest.param(0.0, 300.0, 330.0, id="exactly five minutes is not more than five minutes"),
        pytest.param(-0.5, 300.0, 300.0, id="a little more is"),
        pytest.param(29.0, 300.0, 330.0, id="the next one"),
        pytest.param(30.0, 300.0, 360.0, id="again not at the edge"),
        pytest.param(-5000.0, 300.0, 30.0, id="overdue: at the next flush"),
        pytest.param(3.0, 0.0, 30.0, id="no patience"),
    ],
)
def test_first_flush_after(since: float, seconds: float, first: float) -> None:
    assert FlushTimes(0.0, 30.0).first_after(since, seconds) == first


@pytest.mark.parametrize("start", [0.1, 0.7, 1 / 3, 1.7e9 + 0.1])
def test_flush_times_agree_with_themselves(start: float) -> None:
    times = FlushTimes(start, 30.0)
    for _ in range(1000):
        then = times.first_after(start, 0.0)
        assert times.due(then) == then
