"""Parts of waiting pods are compiled once, and what is remembered of them is bounded."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.model import Node, Pod, decode_object
from fairway.model.selector import Requirement, Selector
from fairway.plugin import Plugin
from fairway.plugins.compiled_parts import FEWEST_TO_SWEEP, CompiledParts
from fairway.plugins.inter_pod_affinity import InterPodAffinity
from fairway.plugins.node_affinity import NodeAffinity
from fairway.plugins.pod_topology_spread import Conditions, PodTopologySpread
from fairway.plugins.spread_constraints import Constraint
from fairway.testing import cluster, node, pod
from tests.worst_pods import WORST

KEYS = ("a", "b", "c")
VALUES = ("1", "2", "3")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
some_values = st.lists(st.sampled_from(VALUES), min_size=1, unique=True).map(lambda values: tuple(sorted(values)))
requirements = st.one_of(
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("In", "NotIn")), some_values),
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist"))),
)
selectors = st.one_of(
    st.just(Selector(is_nothing=True)),
    st.lists(requirements, max_size=3).map(lambda lines: Selector(tuple(sorted(set(lines))))),
)


def test_each_part_is_compiled_once_until_its_meaning_is_another() -> None:
    asked: list[tuple[str, str]] = []

    def make(part: list[str], context: str) -> str:
        asked.append((part[0], context))
        return part[0] + context

    compiled = CompiledParts(make)
    one, like_one, two = ["a"], ["a"], ["b"]
    assert [compiled(part, "x") for part in (one, two, one, two)] == ["ax", "bx", "ax", "bx"]
    assert (asked, len(compiled)) == ([("a", "x"), ("b", "x")], 2)
    assert compiled(one, "y") == "ay"
    assert compiled(like_one, "x") == "ax"
    assert (asked[2:], len(compiled)) == ([("a", "y"), ("a", "x")], 3)


def test_the_longest_unused_go_when_all_say_too_much() -> None:
    asked: list[str] = []

    def make(part: list[str], _: None) -> None:
        asked.append(part[0][:5].strip())

    compiled = CompiledParts(make, limit=3000)
    one, two, three, huge = (
        [name.ljust(size)] for name, size in (("one", 1000), ("two", 1000), ("three", 1500), ("huge", 9000))
    )
    for part in (one, two, one, three, one):  # two goes
        compiled(part, None)
    assert (asked, len(compiled)) == (["one", "two", "three"], 2)
    assert 2500 <= compiled.num_bytes < 2600
    compiled(two, None)  # three goes
    assert asked[-1] == "two"
    compiled(huge, None)  # alone
    assert len(compiled) == 1
    compiled(one, None)
    assert (len(compiled), asked[-1]) == (1, "one")
    assert 1000 <= compiled.num_bytes < 1100


def test_parts_that_nobody_else_holds_are_swept_out() -> None:
    compiled: CompiledParts[list[int], None, int] = CompiledParts(lambda part, _: part[0])
    held = [[number] for number in range(300)]
    for part in held:
        compiled(part, None)
    most = 0
    for number in range(10_000):
        compiled([number], None)
        most = max(most, len(compiled))
    assert most <= 2 * len(held) + FEWEST_TO_SWEEP
    begun = len(compiled)
    assert [compiled(part, None) for part in held] == list(range(300))
    assert len(compiled) == begun  # none of those that are held was forgotten
    assert compiled.num_bytes < 10 * len(compiled)


def worst(kind: str) -> Pod:
    data = WORST[kind]("a")
    data["metadata"] |= {"name": "a", "uid": "a"}
    read = decode_object(json.dumps(data).encode())
    assert isinstance(read, Pod)
    return read


PLACED = pod("other", node="n", labels={"app": "web"})
LABELLED = node("n", labels={"app": "web"})
WAITS: Any = {
    "spread constraints, a pod": (PodTopologySpread, "spread_constraints", PLACED, Resource.POD, Action.ADD),
    "spread constraints, a node": (PodTopologySpread, "spread_constraints", LABELLED, Resource.NODE, Action.ADD),
    "node affinity": (NodeAffinity, "affinity_terms", LABELLED, Resource.NODE, Action.ADD),
    "anti-affinity, a pod": (InterPodAffinity, "repelling_selectors", PLACED, Resource.POD, Action.ADD),
}


@pytest.mark.parametrize(("made_by", "kind", "new", "resource", "action"), WAITS.values(), ids=WAITS.keys())
def test_a_waiting_pod_is_compiled_at_the_first_event_only(
    made_by: type[Plugin], kind: str, new: Pod | Node, resource: Resource, action: Action
) -> None:
    change = Change(ClusterEvent(resource, action), None, new)
    plugin = made_by(cluster(node("n")))
    (helps,) = [hint.helps for hint in plugin.events() if hint.event.covers(change.event)]
    assert helps is not None
    waiting = worst(kind)
    begun = process_time()
    answer = helps(waiting, change)
    first = process_time() - begun
    begun = process_time()
    answers = {helps(waiting, change) for _ in range(20)}
    assert process_time() - begun < 5 * first
    assert answers == {answer}


@given(st.lists(selectors, max_size=6), labels, labels)
def test_conditions_are_found_by_label_as_if_all_were_looked_at(
    found: list[Selector], one: dict[str, str], two: dict[str, str]
) -> None:
    conditions = Conditions(tuple(Constraint("zone", 1, 1, each, False, False) for each in found))
    assert conditions.count(one) == any(each.matches(one) for each in found)
    assert conditions.tell_apart(one, two) == any(each.matches(one) != each.matches(two) for each in found)
