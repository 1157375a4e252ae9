"""Users' plugins that break their word, and the words they get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairway.cluster import Nodes, PodClass
from fairway.config import decode_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points
from fairway.cycle import Outcome, PluginError, Profile, Stop
from fairway.model import Pod
from fairway.plugin import Attempt, Code, Plugin, Refusal, overrides
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, pod


class Raises(Plugin):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        raise KeyError("rack")


class WrongShape(Plugin):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.ones((len(nodes), 2), bool)


class NotBoolean(Plugin):
    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.ones(len(nodes))


class Floats(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), 0.5)


class TooHigh(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), 101)


class Negative(Plugin):
    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), -7)


class NegativeRaw(Plugin):
    normalize = "default"

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.full(len(nodes), -7)


class Refuses(Plugin):
    """Refuses every node; the words are up to the classes below."""

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.zeros(len(nodes), bool)


class ExplainsInText(Refuses):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return "node(s) were full"


class ExplainsOneNode(Refuses):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return [Refusal(("node(s) were full",))]


class ForgetsTheTuple(Refuses):
    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return Refusal("node(s) were full")  # type: ignore[arg-type]


class ForgetsTheTupleEarly(Plugin):
    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        return Refusal("no")  # type: ignore[arg-type]


class MakesNoRoom(Refuses):
    def post_filter(self, attempt: Attempt) -> Any:
        return None


class Gates(Plugin):
    def pre_enqueue(self, pod: Pod) -> Any:
        return "not yet"


class NoHints(Refuses):
    def events(self) -> Any:
        return None


class Reserves(Plugin):
    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Any:
        return True


class Permits(Plugin):
    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Any:
        return 5


class Listed(Plugin):
    """Lists are as good as arrays."""

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return [3] * len(nodes)


class Breaks(Plugin):
    """Fails after the choice."""

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Any:
        raise OSError("the licence server is away")

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        raise OSError("and still is")


def test_a_plugin_that_breaks_after_the_choice_undoes_it_and_says_so() -> None:
    profile = profile_with(Breaks)
    decision = profile.decide(pod())
    refused = profile.assume(decision)
    assert refused is not None
    assert refused.refusal.code is Code.ERROR
    (reason,) = refused.refusal.reasons
    assert reason.startswith(
        "plugin Breaks: reserve() raised OSError: the licence server is away (tests/cycle/test_guard.py:"
    )
    assert len(profile.cluster.pods) == 0


def profile_with(kind: type[Plugin]) -> Profile:
    registry = {**REGISTRY, kind.name: PluginEntry(kind, implemented_points(kind))}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": kind.name}]}}}],
    }
    return Profile(decode_configuration(config, "test", registry).profiles[0], cluster(nodes=3))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Raises, "plugin Raises: filter() raised KeyError: 'rack'"),
        (WrongShape, "shape (3,); it returned bool of shape (3, 2)"),
        (NotBoolean, "must return a boolean array"),
        (Floats, "must return an integer array"),
        (TooHigh, 'plugin "TooHigh" returns an invalid score 101'),
        (Negative, 'plugin "Negative" returns an invalid score -7'),
        (NegativeRaw, "must not be negative"),
        (
            ExplainsInText,
            "explain() must return a Refusal, or a list of them with one per node (3); it returned '",
        ),
        (ExplainsOneNode, "with one per node (3); it returned [Refusal("),
        (ForgetsTheTuple, "reasons are 'node(s) were full'; they have to be a tuple of strings"),
        (ForgetsTheTupleEarly, "pre_filter() gave a Refusal whose reasons are 'no'"),
        (MakesNoRoom, "post_filter() must return a PostFilterResult; it returned None"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_mistake_fails_the_attempt_and_names_the_plugin(kind: type[Plugin], words: str) -> None:
    decision = profile_with(kind).decide(pod())
    assert decision.outcome is Outcome.ERROR
    assert words in decision.message


def test_a_wrong_answer_before_or_after_the_decision_is_an_error_of_that_pod() -> None:
    gate = profile_with(Gates).gate(pod())
    assert gate is not None
    assert "pre_enqueue() must return a Refusal or None; it returned 'not yet'" in gate[1].reasons[0]
    with pytest.raises(PluginError, match=r"NoHints: events\(\) must return a list of Hints; it returned None"):
        profile_with(NoHints).hints()
    profile = profile_with(Reserves)
    refused = profile.assume(profile.decide(pod()))
    assert refused is not None
    assert "Reserves: reserve() must return a Refusal or None; it returned True" in refused.refusal.reasons[0]
    profile = profile_with(Permits)
    decision = profile.decide(pod())
    assert profile.assume(decision) is None
    permitted = profile.permit(decision.pod, decision.pod_class, decision.row)
    assert permitted is not None
    assert isinstance(permitted, Stop)
    assert "permit() must return a Refusal or a Wait or None; it returned 5" in permitted.refusal.reasons[0]
    assert len(profile.cluster.pods) == 0


def test_an_unknown_normalization_is_refused() -> None:
    class Sideways(Listed):
        normalize = "sideways"  # type: ignore[assignment]

    with pytest.raises(PluginError, match="normalize is 'sideways'; allowed: none, default, reverse, own"):
        profile_with(Sideways)


def test_what_is_right_passes() -> None:
    profile = profile_with(Listed)
    assert profile.decide(pod()).outcome is Outcome.SCHEDULED
    assert profile.inspect(pod()).scores["Listed"] == {"node-1": 3, "node-2": 3, "node-3": 3}


def test_a_guarded_plugin_takes_part_where_it_did() -> None:
    plugin = profile_with(Listed).plugin("Listed")
    assert isinstance(plugin, Listed)
    assert overrides(plugin, "score")
    assert not overrides(plugin, "filter")


def test_a_plugin_that_can_not_be_made_is_named() -> None:
    class NeedsArgs(Listed):
        def __init__(self, cluster: Any, args: Any = None) -> None:
            super().__init__(cluster, args)
            raise ValueError("args.file is missing")

    with pytest.raises(PluginError, match=r"plugin NeedsArgs can not be made: ValueError: args\.file is missing"):
        profile_with(NeedsArgs)
