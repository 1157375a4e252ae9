"""Cached answers: who is asked again about which nodes, and that the answers are those of one who never forgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cluster import Aspect, Cluster, Event, Nodes, PodClass, Verb
from fairway.cycle import Decision, Outcome, Profile
from fairway.model import Namespace, ObjectMeta, Pod
from fairway.plugin import SKIP, Locality, Plugin, Refusal, Restriction, Skip
from fairway.testing import cluster, node, pod, situations, storage_class
from tests.cycle.profiles import profile

# -- who is asked again ------------------------------------------------------------------------------------------------


def asking(name: str, **attributes: Any) -> tuple[type[Plugin], list[str]]:
    """A plugin that accepts everything, and what it was asked: the step, then the names of the nodes."""
    log: list[str] = []

    def note(step: str, nodes: Nodes) -> None:
        log.append(f"{step} {''.join(sorted(nodes.names))}")

    def pre_filter(_: Plugin, pod: PodClass, nodes: Nodes) -> None:
        log.append("pre_filter")

    def filter_nodes(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        note("filter", nodes)
        return np.ones(len(nodes), bool)

    def score(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        note("score", nodes)
        return np.zeros(len(nodes), np.int64)

    methods = {"pre_filter": pre_filter, "filter": filter_nodes, "score": score}
    return type(name, (Plugin,), {**methods, **attributes}), log


NODE, PODS, NOTHING = {"reads": Aspect.NODE}, {"reads": Aspect.PODS}, {"reads": Aspect(0)}
STORAGE, NAMESPACES = {"reads": Aspect.STORAGE}, {"reads": Aspect.NAMESPACES}
WIDE = {"locality": Locality.CLUSTER, "reads": Aspect.NODE | Aspect.PODS}
WIDE_STATIC = {"locality": Locality.CLUSTER, "reads": Aspect.NODE}
EVERYTHING = ["pre_filter", "filter abc", "score abc"]

COMES = Event(Verb.ADDED, pod("new", node="b", cpu=1))
RELABELLED = Event(Verb.MODIFIED, node("c", labels={"k": "v"}))
CLASS = Event(Verb.ADDED, storage_class("fast"))
NAMESPACE = Event(Verb.ADDED, Namespace(metadata=ObjectMeta(name="ns", uid="ns")))


@pytest.mark.parametrize(
    ("declared", "event", "expected"),
    [
        pytest.param(NODE, None, [], id="node: nothing happened"),
        pytest.param(NODE, COMES, [], id="node: a pod comes"),
        pytest.param(NODE, RELABELLED, ["filter c", "score c"], id="node: a node changes"),
        pytest.param(NODE, CLASS, [], id="node: a storage class comes"),
        pytest.param(PODS, COMES, ["filter b", "score b"], id="pods: a pod comes"),
        pytest.param(PODS, RELABELLED, ["filter c", "score c"], id="pods: a node changes"),
        pytest.param(STORAGE, CLASS, ["pre_filter", *EVERYTHING], id="storage: a storage class comes"),
        pytest.param(STORAGE, NAMESPACE, [], id="storage: a namespace comes"),
        pytest.param(NAMESPACES, NAMESPACE, ["pre_filter", *EVERYTHING], id="namespaces: a namespace comes"),
        pytest.param(NOTHING, CLASS, [], id="nothing: a storage class comes"),
        pytest.param(WIDE, None, ["filter abc", "score abc"], id="wide: asked in every cycle"),
        pytest.param(WIDE, COMES, ["pre_filter", "filter abc", "score abc"], id="wide: prepares anew after a change"),
        pytest.param(WIDE_STATIC, COMES, ["pre_filter", "filter abc"], id="wide, of nodes alone: its scores stand"),
        pytest.param(
            WIDE_STATIC,
            RELABELLED,
            ["pre_filter", *EVERYTHING[:1], "score abc", "filter abc"],
            id="wide, of nodes alone: asked about all",
        ),
    ],
)
def test_who_is_asked_again(declared: dict[str, Any], event: Event | None, expected: list[str]) -> None:
    kind, log = asking("Asked", **declared)
    what = cluster([node(name) for name in "abc"])
    made = profile(what, kind)
    made.decide(pod())
    log.clear()
    if event is not None:
        what.apply(event)
    made.decide(pod("another"))
    assert log == expected


def test_another_class_is_asked_about_everything() -> None:
    kind, log = asking("Asked", **NODE)
    made = profile(cluster([node(name) for name in "abc"]), kind)
    made.decide(pod())
    log.clear()
    made.decide(pod(cpu=1))
    assert log == EVERYTHING
    log.clear()
    made.decide(pod())
    assert log == []


def test_without_a_memory_all_is_asked_each_time() -> None:
    kind, log = asking("Asked", **NODE)
    made = profile(cluster([node(name) for name in "abc"]), kind, caching=False)
    for _ in range(2):
        log.clear()
        made.decide(pod())
        assert log == EVERYTHING


def test_rows_of_nodes_that_came_and_went() -> None:
    what = cluster([node("a", cpu=1), node("b", cpu=2)])
    made = profile(what, "NodeResourcesFit")
    big = pod(cpu=2)
    assert made.inspect(big).feasible == ["b"]
    what.apply(Event(Verb.DELETED, node("b", cpu=2)))
    assert made.inspect(big).feasible == []
    what.apply(Event(Verb.ADDED, node("c", cpu=3)))  # in the row of b
    assert made.inspect(big).feasible == ["c"]
    for number in range(40):  # more than there is room for: the tables grow
        what.apply(Event(Verb.ADDED, node(f"n{number:02}", cpu=number % 2 + 1)))
    assert made.inspect(big).feasible == ["c", *(f"n{number:02}" for number in range(1, 40, 2))]


def test_a_memory_that_reaches_back_too_far() -> None:
    """The journals remember so many changes; who was away for longer asks about everything."""
    what = cluster([node("a", cpu=2), node("b", cpu=2)])
    made = profile(what, "NodeResourcesFit")
    assert made.decide(pod(cpu=2)).node == "a"
    what.apply(Event(Verb.ADDED, pod("there", node="a", cpu=2)))
    what.pod_journal.forget()
    assert made.decide(pod(cpu=2)).node == "b"
    what.apply(Event(Verb.MODIFIED, node("b", cpu=1)))
    what.node_journal.forget()
    assert made.decide(pod(cpu=2)).outcome is Outcome.UNSCHEDULABLE


# -- plugins that change their mind ------------------------------------------------------------------------------------


class WhileEmpty(Plugin):
    """Skips while nothing runs; then confines pods to node b; refuses once three pods run."""

    locality = Locality.CLUSTER
    reads = Aspect.PODS

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Skip | Refusal | Restriction:
        running = int(nodes.num_pods.sum())
        if running == 0:
            return SKIP
        return Restriction(frozenset({"b"})) if running < 3 else Refusal(("enough",))

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.ones(len(nodes), bool)


def test_a_plugin_may_join_confine_and_refuse_as_things_change() -> None:
    what = cluster([node("a"), node("b")])
    made = profile(what, WhileEmpty)
    found = []
    for number in range(4):
        decision = made.decide(pod(f"p{number}"))
        found.append(decision.node or decision.message)
        if decision.node:
            made.assume(decision)
    assert found == ["a", "b", "b", "0/2 nodes are available: enough."]
    what.forget("default/p2")
    assert made.decide(pod("p4")).node == "b"


# -- a memory is never wrong -------------------------------------------------------------------------------------------


def told(made: Profile, incoming: Pod) -> tuple[Decision, tuple[Any, ...]]:
    """Everything an attempt says, in plain words."""
    decision, found = made.decide(incoming), made.inspect(incoming)
    preemption = decision.preemption
    return decision, (
        decision.node,
        decision.message,
        sorted(decision.unschedulable_plugins),
        decision.score,
        found.feasible,
        sorted((plugin, refusal.reasons, names) for plugin, refusal, names in found.rejected),
        found.scores,
        preemption and (preemption.nominated_node, preemption.chosen and [v.key for v in preemption.chosen.victims]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_profile_that_remembers_says_what_one_says_that_does_not(seed: int) -> None:
    for situation in situations(4, seed):
        worlds = [Cluster(), Cluster()]
        for world in worlds:
            world.load(situation.objects)
        remembering, forgetful = (
            profile(world, defaults=True, caching=c) for world, c in zip(worlds, (True, False), strict=True)
        )
        for event in (None, *situation.events):
            if event is not None:
                for world in worlds:
                    world.apply(event)
            for incoming in situation.pods:
                (decision, remembered), (again, anew) = told(remembering, incoming), told(forgetful, incoming)
                assert remembered == anew
                if decision.node and incoming.metadata.uid not in worlds[0].pods.by_uid:
                    assert remembering.assume(decision) == forgetful.assume(again)
