"""DefaultPreemption: its gate, its arguments and its words; the search itself is `cycle.preemption`'s."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Resource
from fairway.plugin import Code
from fairway.plugins.default_preemption import DefaultPreemption
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile
from tests.plugins.volume_verdicts import helps, words

WANTED = ("NodeResourcesFit", "DefaultPreemption")


def test_a_pod_whose_victims_are_being_evicted_waits() -> None:
    what = Cluster()
    plugin = DefaultPreemption(what)
    waiting = pod("a")
    assert plugin.pre_enqueue(waiting) is None
    what.preemptions.begin(waiting.metadata.uid)
    refusal = plugin.pre_enqueue(waiting)
    assert refusal is not None
    assert words(refusal) == (
        "UnschedulableAndUnresolvable",
        "waiting for the preemption for this pod to be finished",
    )
    assert plugin.pre_enqueue(pod("b")) is None
    what.preemptions.end(waiting.metadata.uid)
    assert plugin.pre_enqueue(waiting) is None


def test_success_says_nothing_and_failure_says_whose_words_these_are() -> None:
    what = cluster(node("a", cpu=2), pod("low", node="a", cpu=2))
    made = profile(what, *WANTED)
    gained = made.decide(pod("high", cpu=2, priority=1)).preemption
    assert gained is not None
    assert (gained.code, gained.reasons, gained.nominated_node) == (None, (), "a")
    lost = made.decide(pod("equal", cpu=2)).preemption
    assert lost is not None
    assert (lost.code, lost.clear_nomination) == (Code.UNSCHEDULABLE, True)
    assert lost.reasons == ("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, 8, id="by default at least a hundred"),
        pytest.param({"minCandidateNodesPercentage": 50, "minCandidateNodesAbsolute": 1}, 4, id="half of them"),
        pytest.param({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 3}, 3, id="a number"),
        pytest.param({"minCandidateNodesPercentage": 30, "minCandidateNodesAbsolute": 1}, 2, id="a share is cut"),
        pytest.param({"minCandidateNodesPercentage": 25, "minCandidateNodesAbsolute": 5}, 5, id="the larger counts"),
    ],
)
def test_how_many_candidates_are_enough(args: dict[str, int], expected: int) -> None:
    what = cluster(
        [node(f"n{number}", cpu=1) for number in range(8)],
        [pod(f"p{number}", node=f"n{number}", cpu=1) for number in range(8)],
    )
    preemption = profile(what, *WANTED, args={"DefaultPreemption": args}).decide(pod(cpu=1, priority=1)).preemption
    assert preemption is not None
    assert len(preemption.candidates) == expected


@pytest.mark.parametrize(
    ("resource", "action"),
    [
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, id="a victim goes: others say whether that is enough"),
        pytest.param(Resource.NODE, Action.ADD, id="a node comes"),
    ],
)
def test_no_event_is_reason_to_try_again(resource: Resource, action: Action) -> None:
    assert not helps(DefaultPreemption(Cluster()), pod(), resource, action, pod("victim", node="a"))
