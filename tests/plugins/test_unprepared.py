"""Plugins that a configuration lets filter, score or reserve without having let them prepare."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.config import decode_configuration
from fairway.cycle import Outcome, Profile
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod

NODES = (node("a", cpu=4), node("b", cpu=4))


def profile(**points: str) -> Profile:
    """The default plugins, each named one left out at that point."""
    plugins: dict[str, Any] = {point: {"disabled": [{"name": name}]} for point, name in points.items()}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    found = decode_configuration(configuration, "test", REGISTRY)
    return Profile(found.profiles[0], cluster(NODES), tie_break="first", sampling="all")


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("VolumeRestrictions", 'cannot read "PreFilterVolumeRestrictions" from cycleState'),
        ("VolumeBinding", "not found"),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("DynamicResources", "not found"),
        ("NodeDeclaredFeatures", 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'),
    ],
)
def test_filter_fails_without_its_pre_filter(plugin: str, words: str) -> None:
    decision = profile(preFilter=plugin).decide(pod())
    assert (decision.outcome, decision.error) == (Outcome.ERROR, f'running "{plugin}" filter plugin: {words}')
    assert decision.unschedulable_plugins == frozenset()


@pytest.mark.parametrize("plugin", ["NodeAffinity", "NodeVolumeLimits", "VolumeZone"])
def test_some_filters_do_without_their_pre_filter(plugin: str) -> None:
    assert profile(preFilter=plugin).decide(pod()).outcome is Outcome.SCHEDULED


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
    ],
)
def test_score_fails_without_its_pre_score(plugin: str, words: str) -> None:
    made = profile(preScore=plugin)
    expected = f'running Score plugins: plugin "{plugin}" failed with: {words}'
    assert made.decide(pod()).error == expected
    assert made.inspect(pod()).feasible == ["a", "b"]


def test_reserve_fails_without_the_pre_filter() -> None:
    made = profile(preFilter="VolumeBinding", filter="VolumeBinding")
    decision = made.decide(pod())
    assert decision.outcome is Outcome.SCHEDULED
    refused = made.assume(decision)
    assert refused is not None
    assert (refused.plugin, refused.refusal.reasons) == ("VolumeBinding", ("not found",))
