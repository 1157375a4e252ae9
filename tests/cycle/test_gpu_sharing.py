"""Devices in the cycle: preemption clears them, weights combine policies, scores have words, failures can be bare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairway.cluster import Nodes, PodClass
from fairway.config import default_configuration
from fairway.cycle import Outcome, PluginError, Profile
from fairway.plugin import Plugin
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import profile
from tests.plugins.gpu_world import gpu_node, gpu_pod

HALVES = {"FGD": {"typicalPods": [{"milliCpu": 1000, "gpuMilli": 500, "gpuCount": 1}]}}


def test_preemption_clears_devices_for_a_more_important_pod() -> None:
    placed = [gpu_pod(f"p{number}", 600, index=str(number), node="n") for number in (0, 1)]
    here = cluster(gpu_node("n", 2), placed)
    chosen = profile(here, "GpuShare", "DefaultPreemption")
    before = fingerprint(here)
    decision = chosen.decide(gpu_pod("urgent", 700, priority=10))
    assert decision.message.startswith("0/1 nodes are available: 1 node(s) had no GPU with 700m left.")
    assert decision.preemption is not None
    assert decision.preemption.chosen is not None
    assert len(decision.preemption.chosen.victims) == 1
    assert differences(before, fingerprint(here)) == []
    whole = chosen.decide(gpu_pod("whole", count=2, priority=10))
    assert whole.preemption is not None
    assert whole.preemption.chosen is not None
    assert len(whole.preemption.chosen.victims) == 2


def test_a_nominated_pod_keeps_its_devices_from_others() -> None:
    here = cluster(gpu_node("n", 1))
    chosen = profile(here, "GpuShare")
    here.nominations.update(gpu_pod("promised", 700, nominated_node="n", priority=5))
    assert chosen.decide(gpu_pod("late", 400)).outcome is Outcome.UNSCHEDULABLE
    assert chosen.decide(gpu_pod("small", 300)).outcome is Outcome.SCHEDULED


@pytest.mark.parametrize(
    ("policies", "expected"),
    [(("PWR", "FGD"), 2), (("FGD", "PWR"), 0)],
    ids=["FGD chooses the device", "PWR chooses the device"],
)
def test_weights_combine_policies_and_the_last_chooses_the_device(policies: tuple[str, ...], expected: int) -> None:
    placed = [gpu_pod("a", 100, index="0", node="n"), gpu_pod("b", 550, index="2", node="n")]
    here = cluster([gpu_node("n", 4), gpu_node("idle", 4)], placed)  # 900, 1000, 450, 1000 left
    chosen = profile(here, "GpuShare", *policies, weights={"PWR": 500, "FGD": 500}, args=HALVES)
    wanted = gpu_pod("new", 450)
    seen = chosen.inspect(wanted)
    assert seen.scores["PWR"] == {"n": 50_000, "idle": 0}
    assert seen.scores["FGD"] == {"n": 61 * 500, "idle": 50 * 500}
    assert seen.best == ["n"]
    decision = chosen.decide(wanted)
    assert chosen.assume(decision) is None
    assert here.devices.indices_of("default/new") == (expected,)


def test_scores_have_words_where_a_plugin_has_them() -> None:
    here = cluster([gpu_node("n", 1), gpu_node("m", 1), node("plain")])
    chosen = profile(here, "GpuShare", "BestFit", "FGD", args=HALVES)
    words = chosen.score_words(gpu_pod("new", 600))
    assert words == {
        "FGD": dict.fromkeys(
            ("n", "m"),
            (
                "on GPU 0, fragmentation goes from 0.000 to 0.400 GPUs, of 0.400 idle then",
                "strands 1 of 1 typical pods, 100.0 % of arrivals:",
                "  1 CPU, 500m of a GPU (100.0 %) then lacks GPU",
            ),
        )
    }
    assert profile(here, "GpuShare", "BestFit").score_words(gpu_pod("new", 600)) == {}
    assert chosen.score_words(gpu_pod("new", 600, count=3)) == {}  # makes no sense


class Loud(Plugin):
    """Explains with one string, where lines for each node are wanted."""

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return nodes.num_pods * 0

    def explain_score(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[Sequence[str]]:
        return ["because"]


def test_a_users_words_are_checked() -> None:
    with pytest.raises(PluginError, match=r"explain_score\(\) must return a list of lines for each node \(1\)"):
        profile(cluster(node("n")), Loud).score_words(pod())


def test_failures_can_be_bare() -> None:
    here = cluster(gpu_node("n", 1), gpu_pod("a", count=1, node="n"))
    config = default_configuration(REGISTRY).profiles[0]
    decision = Profile(config, here, diagnoses=False).decide(pod(cpu=999, priority=10))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert (decision.diagnosis, decision.preemption, decision.message) == (None, None, "")
    assert "Insufficient cpu" in Profile(config, here).decide(pod(cpu=999, priority=10)).message
