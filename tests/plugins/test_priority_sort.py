"""PrioritySort: who is more important goes first, then who has waited longer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairway.config import default_configuration
from fairway.cycle import Profile
from fairway.plugin import overrides
from fairway.plugins.priority_sort import PrioritySort
from fairway.plugins.registry import REGISTRY
from fairway.queue import QueuedPod, priority_order
from fairway.testing import cluster, pod


def test_a_profile_sorts_its_queue_by_it() -> None:
    profile = Profile(default_configuration(REGISTRY).profiles[0], cluster(1))
    assert isinstance(profile.queue_sort, PrioritySort)


@given(st.integers(-(2**31), 2**31 - 1), st.floats(0, 1e9))
def test_it_is_the_order_of_a_queue_without_plugins(priority: int, timestamp: float) -> None:
    queued = QueuedPod(pod=pod(priority=priority), profile="any", timestamp=timestamp, sequence=0)
    assert PrioritySort(cluster(1)).queue_sort(queued) == priority_order(queued)


def test_it_says_nothing_about_nodes() -> None:
    plugin = PrioritySort(cluster(1))
    assert [
        name for name in ("pre_enqueue", "pre_filter", "filter", "score", "reserve") if overrides(plugin, name)
    ] == []
