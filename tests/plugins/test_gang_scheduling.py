"""GangScheduling: who is kept waiting, in which words, who goes when enough have a node, and what lets members go."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Change, Cluster, ClusterEvent, Resource
from fairway.model import Pod
from fairway.model.group import GroupReading
from fairway.plugin import Code, Refusal, Wait
from fairway.plugins.gang_scheduling import GangScheduling
from fairway.testing import node, pod
from fairway.testing.group_builders import member, members, pod_group


def plugin(*objects: object) -> GangScheduling:
    cluster = Cluster()
    cluster.follow_groups(GroupReading())
    cluster.load(objects)
    return GangScheduling(cluster)


def test_a_pod_of_no_group_is_let_through() -> None:
    made = plugin(node("n"))
    lone = pod("lone")
    assert made.pre_enqueue(lone) is None
    assert made.permit(lone, made.cluster.classify(lone), 0) is None


GATES: dict[str, tuple[tuple[object, ...], str | None]] = {
    "no object": ((), 'waiting for pods\'s pod group "train" to appear in scheduling queue'),
    "too few": ((pod_group("train", 2),), "waiting for minCount pods from a gang to appear in scheduling queue"),
    "enough, one of them gated": ((pod_group("train", 2), member("other", gates="x")), None),
    "enough, one of them running": ((pod_group("train", 2), node("n"), member("other", node="n")), None),
    "no gang": ((pod_group("train"),), None),
}


@pytest.mark.parametrize(("objects", "words"), GATES.values(), ids=GATES.keys())
def test_members_wait_until_there_are_enough(objects: tuple[object, ...], words: str | None) -> None:
    (first,) = members(1)
    refusal = plugin(*objects, first).pre_enqueue(first)
    assert refusal == (None if words is None else Refusal((words,), Code.UNRESOLVABLE))


def assume(made: GangScheduling, each: Pod) -> Refusal | Wait | None:
    pod_class = made.cluster.classify(each)
    made.cluster.assume(each, pod_class, 0)
    return made.permit(each, pod_class, 0)


def test_the_last_that_is_needed_lets_the_others_go() -> None:
    first, second, third = members(3)
    made = plugin(node("n"), pod_group("train", 2), first, second, third)
    waits = assume(made, first)
    assert waits == Wait(300.0, ("waiting for minCount pods from a gang to be scheduled",))
    made.cluster.held.hold(first, "n", {made.name: 300.0}, 0.0)
    assert assume(made, second) is None
    settled = made.cluster.held.next_settled()
    assert settled is not None
    assert (settled.held.pod, settled.is_allowed) == (first, True)
    assert assume(made, third) is None


def test_an_object_that_was_taken_away_is_an_error() -> None:
    (first,) = members(1)
    refusal = assume(plugin(node("n"), first), first)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.ERROR
    assert refusal.reasons == ('failed to get podGroup default/train: podgroup.scheduling.k8s.io "train" not found',)


CHANGES: dict[str, tuple[Change, bool]] = {
    "a member comes": (Change(ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD), None, member("x")), True),
    "a member is bound": (Change(ClusterEvent(Resource.ASSIGNED_POD, Action.ADD), None, member("x", node="n")), True),
    "another's comes": (Change(ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD), None, member("y", "else")), False),
    "a lone pod comes": (Change(ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD), None, pod("z")), False),
    "its object comes": (Change.of(Resource.POD_GROUP, None, pod_group("train", 1), False), True),
    "another's object comes": (Change.of(Resource.POD_GROUP, None, pod_group("else", 1), False), False),
    "of another namespace": (Change.of(Resource.POD_GROUP, None, pod_group("train", 1, namespace="x"), False), False),
    "its object says as before": (
        Change.of(Resource.POD_GROUP, pod_group("train", 1), pod_group("train", 1), False),
        False,
    ),
    "its object says otherwise": (
        Change.of(Resource.POD_GROUP, pod_group("train", 2), pod_group("train", 1), False),
        True,
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_what_may_help_a_member_that_waits(change: Change, expected: bool) -> None:
    (first,) = members(1)
    made = plugin(first, node("n"))
    if isinstance(change.new, Pod):
        made.cluster.groups.observe(change.new)
    hints = [hint for hint in made.events() if hint.event.covers(change.event)]
    assert any(hint.helps is None or hint.helps(first, change) for hint in hints) is expected
