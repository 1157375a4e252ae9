"""What plugins take is told to whoever asks, each call to the plugin that made it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairway.cluster import Nodes, PodClass
from fairway.config import decode_configuration, default_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points
from fairway.cycle import Outcome, PluginTimes, Profile, Spent
from fairway.cycle.timing import timed
from fairway.plugin import Attempt, Plugin, PostFilterResult, Refusal, overrides
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod


class Ticks:
    """A clock that plugins turn on themselves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


TICKS = Ticks()


class Filters(Plugin):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        TICKS.seconds += 2.0
        return np.zeros(len(nodes), bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        TICKS.seconds += 0.5
        return Refusal(("node(s) were refused",))


class Asks(Plugin):
    """Asks another plugin, and uses time before and after."""

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        TICKS.seconds += 1.0
        other = self.other
        other.filter(attempt.pod_class, Nodes(self.cluster), None)
        TICKS.seconds += 4.0
        return PostFilterResult(Refusal(("no help",)))

    other: Plugin


class Breaks(Plugin):
    def reserve(self, pod: Any, pod_class: PodClass, row: int) -> Refusal | None:
        TICKS.seconds += 3.0
        raise KeyError("rack")


def profile_of(*kinds: type[Plugin], timer: PluginTimes | None) -> Profile:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {
                        "enabled": [{"name": name} for name in ("PrioritySort", "DefaultBinder", *map(name_of, kinds))],
                        "disabled": [{"name": "*"}],
                    }
                }
            }
        ],
    }
    registry = {**REGISTRY, **{name_of(kind): PluginEntry(kind, implemented_points(kind)) for kind in kinds}}
    there = cluster(2)
    return Profile(decode_configuration(config, "test", registry).profiles[0], there, timer=timer)


def name_of(kind: type[Plugin]) -> str:
    return kind.name


def test_a_call_within_a_call_counts_for_the_plugin_that_was_asked() -> None:
    times = PluginTimes(TICKS)
    profile = profile_of(Filters, Asks, timer=times)
    asking = profile.plugin("Asks")
    assert isinstance(asking, Asks)
    asking.other = profile.plugin("Filters")
    begun = TICKS.seconds
    assert profile.decide(pod("p")).outcome is Outcome.UNSCHEDULABLE
    taken = {(one.plugin, one.point): one for one in times.take()}
    filtered = taken["Filters", "Filter"]
    assert taken["Asks", "PostFilter"] == Spent("Asks", "PostFilter", 1, 5.0)
    assert filtered.num_calls >= 3  # the cycle's, the words', and the one from the other plugin
    assert sum(one.seconds for one in taken.values()) == TICKS.seconds - begun
    assert times.take() == []


def test_a_plugin_that_breaks_is_timed_all_the_same() -> None:
    times = PluginTimes(TICKS)
    profile = profile_of(Breaks, timer=times)
    decision = profile.decide(pod("p"))
    assert profile.assume(decision) is not None
    assert [one for one in times.take() if one.plugin == "Breaks"] == [Spent("Breaks", "Reserve", 1, 3.0)]


def test_without_a_timer_plugins_are_what_they_were() -> None:
    plain = Profile(default_configuration(REGISTRY).profiles[0], cluster(1))
    assert not any(hasattr(type(plugin).filter, "__wrapped__") for plugin in plain.plugins)
    measured = Profile(default_configuration(REGISTRY).profiles[0], cluster(1), timer=PluginTimes())
    assert any(hasattr(type(plugin).filter, "__wrapped__") for plugin in measured.plugins)


def test_timed_plugins_take_part_where_they_did_and_decide_the_same() -> None:
    times = PluginTimes()
    config = default_configuration(REGISTRY).profiles[0]
    there = [node(f"n-{number}", cpu=str(number + 1)) for number in range(8)]
    plain, measured = Profile(config, cluster(there), seed=3), Profile(config, cluster(there), seed=3, timer=times)
    methods = ("pre_filter", "filter", "add_pod", "pre_score", "score", "normalize_scores", "reserve", "permit")
    for bare, watched in zip(plain.plugins, measured.plugins, strict=True):
        assert [overrides(bare, method) for method in methods] == [overrides(watched, method) for method in methods]
    assert plain.remembers_failures == measured.remembers_failures
    for number in range(30):
        one_pod = pod(f"p-{number}", cpu="1")
        one, two = plain.decide(one_pod), measured.decide(one_pod)
        assert (one.outcome, one.node, one.score, one.message) == (two.outcome, two.node, two.score, two.message)
        if one.outcome is Outcome.SCHEDULED:
            plain.assume(one)
            measured.assume(two)
    spent = times.take()
    assert {(one.plugin, one.point) for one in spent} >= {("NodeResourcesFit", "Filter"), ("VolumeBinding", "Reserve")}
    assert all(one.num_calls > 0 and one.seconds >= 0 for one in spent)


def test_a_timer_can_be_told_to_look_away() -> None:
    times = PluginTimes(TICKS)
    plugin = Filters(cluster(1))
    timed([plugin], times)
    times.is_counting = False
    plugin.filter(plugin.cluster.classify(pod("p")), Nodes(plugin.cluster), None)
    assert times.take() == []
    times.add([Spent("A", "Filter", 2, 0.5), Spent("A", "Filter", 1, 0.25)])
    assert times.take() == [Spent("A", "Filter", 3, 0.75)]
