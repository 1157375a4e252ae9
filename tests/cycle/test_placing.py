"""The steps of one placing, and preemption imagined as done."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cluster import Cluster, PodClass
from fairway.cycle import Hold, Outcome, Stop
from fairway.cycle.placing import fail_at, make_room, place, place_in_room, settle
from fairway.model import Pod
from fairway.plugin import Code, Plugin, Refusal, Wait
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import profile

NO = Refusal(("not there",))


class Refuses(Plugin):
    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal:
        return NO


class Waits(Plugin):
    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Wait:
        return Wait(30)


def crowded() -> Cluster:
    """One node, full of a pod that may go, and promised to another that matters as little."""
    here = cluster([node("a", cpu=2)], [pod("small", cpu=2, node="a")])
    here.nominations.add(pod("promised", cpu=1), "a")
    return here


def test_a_pod_that_fits_counts_on_its_node() -> None:
    made = profile(cluster([node("a")]), "NodeResourcesFit")
    placement = place(made, pod("p", cpu=1))
    assert placement.is_placed
    assert placement.obstacle is None
    assert made.cluster.pods.by_uid["default/p"].assumed


def test_a_pod_that_fits_nowhere_has_no_obstacle_to_meet() -> None:
    placement = place(profile(cluster([node("a", cpu=1)]), "NodeResourcesFit", Waits), pod("p", cpu=2))
    assert (placement.is_placed, placement.obstacle) == (False, None)
    assert placement.decision.outcome is Outcome.UNSCHEDULABLE


def test_who_is_held_counts_and_who_is_stopped_does_not() -> None:
    held = profile(cluster([node("a")]), Waits)
    placement = place(held, pod("p"))
    assert (placement.is_placed, placement.obstacle) == (True, Hold({"Waits": 30}))
    assert len(held.cluster.pods) == 1
    stopped = profile(cluster([node("a")]), Waits, Refuses)
    before = fingerprint(stopped.cluster)
    placement = place(stopped, pod("p"))
    assert (placement.is_placed, placement.obstacle) == (False, Stop("Permit", "Refuses", NO))
    assert differences(before, fingerprint(stopped.cluster)) == []


def test_a_newer_version_of_the_pod_may_be_settled() -> None:
    made = profile(cluster([node("a")]))
    decision = made.decide(pod("p"))
    newer = pod("p", labels={"v": "2"})
    assert settle(made, decision, newer) is None
    assert made.cluster.pods.by_uid["default/p"].pod is newer


@pytest.mark.parametrize(
    ("refusal", "outcome", "message"),
    [
        pytest.param(NO, Outcome.UNSCHEDULABLE, "0/1 nodes are available: 1 not there.", id="refused"),
        pytest.param(
            Refusal(("broken", "twice"), Code.ERROR),
            Outcome.ERROR,
            'running Reserve plugin "Some": broken, twice',
            id="broken",
        ),
    ],
)
def test_a_stop_makes_a_failure_that_names_the_plugin(refusal: Refusal, outcome: Outcome, message: str) -> None:
    decision = profile(cluster([node("a")])).decide(pod("p"))
    fail_at(decision, Stop("Reserve", "Some", refusal))
    assert (decision.outcome, decision.message) == (outcome, message)
    assert decision.unschedulable_plugins == {"Some"}


def test_room_is_made_by_the_caller() -> None:
    made = profile(crowded(), defaults=True)
    before = fingerprint(made.cluster)
    decision = made.decide(pod("p", cpu=2, priority=5))
    acts: list[Any] = []
    chosen = make_room(
        decision.preemption,
        clear=lambda other: acts.append(("clear", other.metadata.name)),
        evict=lambda victim: acts.append(("evict", victim.metadata.name)),
    )
    assert chosen is not None
    assert acts == [("clear", "promised"), ("evict", "small")]
    assert differences(before, fingerprint(made.cluster)) == []
    assert make_room(None, clear=acts.append, evict=acts.append) is None
    assert len(acts) == 2


def test_what_if_the_room_were_made() -> None:
    made = profile(crowded(), defaults=True)
    decision = made.decide(pod("p", cpu=2, priority=5))
    room = place_in_room(made, decision)
    assert room is not None
    assert (room.is_placed, room.decision.node) == (True, "a")
    assert set(made.cluster.pods.by_uid) == {"default/p"}
    assert len(made.cluster.nominations) == 0
    assert decision.outcome is Outcome.UNSCHEDULABLE  # the attempt itself came to nothing


def test_nothing_to_preempt_is_no_room() -> None:
    made = profile(cluster([node("a", cpu=1)]), defaults=True)
    assert place_in_room(made, made.decide(pod("p", cpu=2))) is None
