"""PrioritySort: the name by which a profile says how its queue is sorted; the queue has the order itself."""

from __future__ import annotations

from fairway.config import default_configuration
from fairway.cycle import Profile
from fairway.plugin import overrides
from fairway.plugins.priority_sort import PrioritySort
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster


def test_a_profile_names_it_for_its_queue() -> None:
    profile = Profile(default_configuration(REGISTRY).profiles[0], cluster(1))
    assert profile.queue_sort == "PrioritySort"
    assert isinstance(profile.plugin("PrioritySort"), PrioritySort)


def test_it_says_nothing_about_nodes() -> None:
    plugin = PrioritySort(cluster(1))
    assert [
        name for name in ("pre_enqueue", "pre_filter", "filter", "score", "reserve") if overrides(plugin, name)
    ] == []
