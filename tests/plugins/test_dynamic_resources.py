"""DynamicResources: pods without claims pass, pods with claims are told that they can not be served yet."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Resource
from fairway.model import NodeSelectorRequirement, NodeSelectorTerm, Pod, PodResourceClaim
from fairway.plugin import Code
from fairway.plugins.dynamic_resources import DynamicResources
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview
from tests.cycle.profiles import profile
from tests.plugins.volume_verdicts import helps, judge

UNSUPPORTED = "pods with resource claims (resource.k8s.io) are not supported yet by Fairway"
CLAIMING = pod(resource_claims=(PodResourceClaim(name="gpu", resource_claim_name="mine"),))
CONFLICT = NodeSelectorTerm(
    match_fields=tuple(NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,)) for name in "ab")
)


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), "skip", id="no claims"),
        pytest.param(CLAIMING, ("UnschedulableAndUnresolvable", UNSUPPORTED), id="a claim"),
    ],
)
def test_claims_are_refused_before_any_node_is_looked_at(incoming: Pod, expected: object) -> None:
    assert judge(DynamicResources(cluster(1)), incoming) == expected


def test_a_pod_with_claims_is_told_so_and_preempts_nobody() -> None:
    what = cluster(node("a"), pod("low", node="a", priority=-5))
    decision = profile(what, defaults=True).decide(CLAIMING)
    assert decision.unschedulable_plugins == {"DynamicResources"}
    assert decision.message.startswith(f"0/1 nodes are available: {UNSUPPORTED}. ")
    assert decision.preemption is not None
    assert decision.preemption.chosen is None


@pytest.mark.parametrize(
    ("incoming", "code", "reasons"),
    [
        pytest.param(pod(cpu=9), Code.UNSCHEDULABLE, ("no new claims to deallocate",), id="the filters refused it"),
        pytest.param(
            pod(node_affinity=CONFLICT), Code.ERROR, ("not found",), id="a pre-filter refused it before this one's turn"
        ),
    ],
)
def test_there_is_nothing_to_deallocate(incoming: Pod, code: Code, reasons: tuple[str, ...]) -> None:
    made = profile(cluster(node("a", cpu=8)), "NodeAffinity", "NodeResourcesFit", "DynamicResources")
    preemption = made.decide(incoming).preemption
    assert preemption is not None
    assert (preemption.code, preemption.reasons) == (code, reasons)


def test_every_node_scores_nothing() -> None:
    assert Interview(DynamicResources(cluster(2)), pod()).answers().scores == {"node-1": 0, "node-2": 0}


@pytest.mark.parametrize(
    ("resource", "action", "expected"),
    [
        pytest.param(Resource.RESOURCE_CLAIM, Action.ADD, True, id="a claim comes"),
        pytest.param(Resource.RESOURCE_CLAIM, Action.DELETE, False, id="a claim goes"),
        pytest.param(Resource.NODE, Action.ADD, False, id="a node comes"),
    ],
)
def test_events_that_help(resource: Resource, action: Action, expected: bool) -> None:
    assert helps(DynamicResources(cluster(1)), CLAIMING, resource, action) is expected
