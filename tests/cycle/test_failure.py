"""When no node fits: every node's refusal, what the post-filters get to see, and what becomes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cycle import Decision, Preemption
from fairway.plugin import Attempt, Code, Plugin, PostFilterResult, Refusal, Restriction
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import pre_filtering, profile, refusing

NODES = (node("a"), node("b"), node("c"))
NO, NEVER, PENDING = Refusal(("no",)), Refusal(("never",), Code.UNRESOLVABLE), Refusal(("wait",), Code.PENDING)
EVERYWHERE = refusing("Everywhere", {"a": NO, "b": NEVER, "c": NO})


def by_node(decision: Decision) -> dict[str, tuple[str, Refusal] | None]:
    assert decision.diagnosis is not None
    return {name: decision.diagnosis.refusal_of(row) for row, name in enumerate("abc")}


# -- diagnosis ---------------------------------------------------------------------------------------------------------


def test_the_first_plugin_in_order_is_heard() -> None:
    late = refusing("Late", {"a": NEVER, "b": NEVER, "c": NEVER})
    decision = profile(cluster(NODES), refusing("Early", {"a": NO, "c": PENDING}), late).decide(pod())
    assert by_node(decision) == {"a": ("Early", NO), "b": ("Late", NEVER), "c": ("Early", PENDING)}
    assert decision.message == "0/3 nodes are available: 1 never, 1 no, 1 wait."
    assert decision.unschedulable_plugins == {"Early", "Late"}


def test_nodes_a_pod_is_not_confined_to_have_their_own_words() -> None:
    kinds = (pre_filtering("P", Restriction(frozenset({"a", "gone"}))), EVERYWHERE)
    decision = profile(cluster(NODES), *kinds).decide(pod())
    elsewhere = ("", Refusal(("node(s) didn't satisfy plugin(s) [P]",), Code.UNRESOLVABLE))
    assert by_node(decision) == {"a": ("Everywhere", NO), "b": elsewhere, "c": elsewhere}
    assert decision.message == "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [P]."
    assert decision.unschedulable_plugins == {"P", "Everywhere"}


def test_the_nominated_node_was_looked_at_first_wherever_a_pod_is_confined_to() -> None:
    kinds = (pre_filtering("P", Restriction(frozenset({"a"}))), EVERYWHERE)
    decision = profile(cluster(NODES), *kinds).decide(pod(nominated_node="c"))
    assert by_node(decision)["c"] == ("Everywhere", NO)
    assert decision.message == "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [P], 2 no."


def test_two_plugins_that_confine_are_named_in_order() -> None:
    kinds = (
        pre_filtering("Q", Restriction(frozenset({"a", "b"}))),
        pre_filtering("P", Restriction(frozenset({"a", "c"}))),
    )
    decision = profile(cluster(NODES), *kinds, EVERYWHERE).decide(pod())
    assert decision.message == "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [P Q]."


def test_a_refusal_for_the_sake_of_a_waiting_pod_is_the_one_that_counts() -> None:
    what = cluster(node("a", cpu=1), pod("there", node="a", cpu=1))
    what.nominations.add(pod("waiting", ports=80, priority=5), "a")
    decision = profile(what, "NodePorts", "NodeResourcesFit").decide(pod(cpu=1, ports=80))
    assert decision.message == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    )
    assert decision.unschedulable_plugins == {"NodePorts"}


# -- what a post-filter sees -------------------------------------------------------------------------------------------


class Curious(Plugin):
    """Looks at the attempt as far as it may."""

    seen: tuple[object, ...] = ()

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        self.seen = (attempt.pod.metadata.name, attempt.pod_class.namespace, attempt.codes())
        return PostFilterResult(NO)


def test_the_codes_of_all_nodes() -> None:
    made = profile(cluster(NODES), refusing("R", {"a": NO, "b": NEVER, "c": PENDING}), Curious)
    made.decide(pod("x", namespace="ns"))
    curious = made.plugin("Curious")
    assert isinstance(curious, Curious)
    assert curious.seen == ("x", "ns", [Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING])


class Looking(Plugin):
    """Asks for its own state."""

    def __init__(self, what: Any, args: Any = None) -> None:
        super().__init__(what, args)
        self.states: list[Any] = []

    def pre_filter(self, pod: Any, nodes: Any) -> Any:
        return "prepared"

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        try:
            self.states.append(attempt.state_of(self))
        except KeyError as error:
            self.states.append(error.args)
        return PostFilterResult(NO)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param(pre_filtering("First", None), "prepared", id="the filters refused"),
        pytest.param(pre_filtering("First", NO), "prepared", id="a pre-filter refused, but others were asked"),
        pytest.param(pre_filtering("First", NEVER), ("Looking",), id="a pre-filter ended it before"),
        pytest.param(pre_filtering("First", Restriction(frozenset())), ("Looking",), id="nothing was left before"),
    ],
)
def test_the_state_of_a_plugin(first: type[Plugin], expected: object) -> None:
    made = profile(cluster(NODES), first, Looking, EVERYWHERE)
    made.decide(pod())
    looking = made.plugin("Looking")
    assert isinstance(looking, Looking)
    assert looking.states == [expected]


# -- what becomes of their answers -------------------------------------------------------------------------------------


def answering(name: str, result: PostFilterResult) -> type[Plugin]:
    def post_filter(_: Plugin, attempt: Attempt) -> PostFilterResult:
        return result

    return type(name, (Plugin,), {"post_filter": post_filter})


def after(*results: PostFilterResult) -> Preemption | None:
    kinds = [answering(f"Post{number}", result) for number, result in enumerate(results)]
    return profile(cluster(NODES), EVERYWHERE, *kinds).decide(pod()).preemption


REFUSES, GIVES_UP = PostFilterResult(NO), PostFilterResult(NEVER)
CLEARS, SUCCEEDS = PostFilterResult(Refusal(("gone",)), clear_nomination=True), PostFilterResult(None)
BREAKS = PostFilterResult(Refusal(("broken",), Code.ERROR))


@pytest.mark.parametrize(
    ("results", "code", "reasons", "clears"),
    [
        pytest.param([REFUSES], Code.UNSCHEDULABLE, ("no",), False, id="one refuses"),
        pytest.param([REFUSES, CLEARS], Code.UNSCHEDULABLE, ("no", "gone"), True, id="two refuse: both are heard"),
        pytest.param(
            [GIVES_UP, SUCCEEDS], Code.UNRESOLVABLE, ("never",), False, id="nothing can help: the next is not asked"
        ),
        pytest.param(
            [REFUSES, GIVES_UP], Code.UNRESOLVABLE, ("never",), False, id="nothing can help: it alone is heard"
        ),
        pytest.param([REFUSES, BREAKS, SUCCEEDS], Code.ERROR, ("broken",), False, id="broken: it alone is heard"),
        pytest.param([REFUSES, SUCCEEDS, BREAKS], None, (), False, id="success: nobody else is heard"),
    ],
)
def test_answers_of_post_filters(
    results: list[PostFilterResult], code: Code | None, reasons: tuple[str, ...], clears: bool
) -> None:
    found = after(*results)
    assert found is not None
    assert (found.code, found.reasons, found.clear_nomination) == (code, reasons, clears)


def test_without_post_filters_nothing_is_tried() -> None:
    assert after() is None
