"""Scores: normalised over the feasible nodes, weighted, added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cluster import Aspect, Nodes, PodClass
from fairway.cycle.scoring import FeasibleNodes, normalized
from fairway.plugin import SKIP, Locality, Plugin, Refusal, Skip
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile, refusing, scoring

NODES = (node("a"), node("b"), node("c"))
NO = Refusal(("no",))


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [
        pytest.param([0, 5, 10], False, [0, 50, 100], id="to a hundred"),
        pytest.param([0, 5, 10], True, [100, 50, 0], id="reversed"),
        pytest.param([1, 3], False, [33, 100], id="cut"),
        pytest.param([1, 3], True, [67, 0], id="reversed after cutting"),
        pytest.param([250, 500], False, [50, 100], id="down from more than a hundred"),
        pytest.param([7, 7], False, [100, 100], id="all the same"),
        pytest.param([0, 0], False, [0, 0], id="all nothing"),
        pytest.param([0, 0], True, [100, 100], id="all nothing, reversed"),
    ],
)
def test_normalized(raw: list[int], reverse: bool, expected: list[int]) -> None:
    assert normalized(np.array(raw, np.int64), reverse).tolist() == expected


def final(*kinds: type[Plugin], weights: dict[str, int] | None = None) -> dict[str, dict[str, int]]:
    """Every plugin's scores, and, for the same attempt, that the decision comes to the same totals."""
    made = profile(cluster(NODES), *kinds, weights=weights)
    found, decision = made.inspect(pod()), made.decide(pod())
    assert decision.score == max(found.totals.values())
    assert decision.node == found.best[0]
    assert decision.num_best == len(found.best)
    assert found.totals == {name: sum(scores[name] for scores in found.scores.values()) for name in found.feasible}
    return found.scores


class Halving(Plugin):
    """Normalises in its own way."""

    reads = Aspect.NODE
    normalize = "own"

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        return np.array([{"a": 200, "b": 100}.get(name, 50) for name in nodes.names], np.int64)

    def normalize_scores(self, pod: PodClass, nodes: Nodes, state: Any, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        return scores // 2


@pytest.mark.parametrize(
    ("kind", "weight", "expected"),
    [
        pytest.param(scoring("S", {"a": 30, "b": 60}), 1, {"a": 30, "b": 60, "c": 0}, id="as they are"),
        pytest.param(scoring("S", {"a": 30, "b": 60}), 3, {"a": 90, "b": 180, "c": 0}, id="weighted"),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="default"), 1, {"a": 50, "b": 100, "c": 0}, id="normalised"
        ),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="default"),
            5,
            {"a": 250, "b": 500, "c": 0},
            id="weighted after normalising",
        ),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="reverse"),
            2,
            {"a": 100, "b": 0, "c": 200},
            id="the fewer the better",
        ),
        pytest.param(
            scoring("S", {}, normalize="reverse"), 2, {"a": 200, "b": 200, "c": 200}, id="nothing against anybody"
        ),
        pytest.param(scoring("S", {}, normalize="default"), 2, {"a": 0, "b": 0, "c": 0}, id="nothing for anybody"),
        pytest.param(Halving, 1, {"a": 100, "b": 50, "c": 25}, id="in its own way"),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="default", locality=Locality.CLUSTER, reads=Aspect.PODS),
            2,
            {"a": 100, "b": 200, "c": 0},
            id="by a plugin that looks further",
        ),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="default", locality=Locality.CLUSTER),
            2,
            {"a": 100, "b": 200, "c": 0},
            id="by a plugin that looks further, at nodes alone",
        ),
        pytest.param(
            scoring("S", {"a": 3, "b": 6}, normalize="default", reads=Aspect.PODS),
            2,
            {"a": 100, "b": 200, "c": 0},
            id="by a plugin that looks at pods",
        ),
    ],
)
def test_one_plugin(kind: type[Plugin], weight: int, expected: dict[str, int]) -> None:
    assert final(kind, weights={kind.name: weight}) == {kind.name: expected}


def test_plugins_add_up() -> None:
    kinds = (scoring("One", {"a": 10, "b": 20}), scoring("Two", {"b": 1, "c": 2}, normalize="default"), Halving)
    assert final(*kinds, weights={"One": 2, "Two": 1, "Halving": 3}) == {
        "One": {"a": 20, "b": 40, "c": 0},
        "Two": {"a": 0, "b": 50, "c": 100},
        "Halving": {"a": 300, "b": 150, "c": 75},
    }


def test_only_feasible_nodes_are_compared() -> None:
    kind = scoring("S", {"a": 1, "b": 2, "c": 100}, normalize="default")
    assert final(kind, refusing("R", {"c": NO})) == {"S": {"a": 50, "b": 100}}


class Picky(Plugin):
    """Scores by how many nodes are feasible; has nothing to say about pods that are not labelled."""

    locality = Locality.CLUSTER

    def pre_score(self, pod: PodClass, nodes: Nodes) -> list[str] | Skip:
        return nodes.names if pod.labels else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: list[str]) -> NDArray[np.int64]:
        return np.full(len(nodes), len(state), np.int64)


def test_a_wide_plugin_prepares_with_the_feasible_nodes_or_skips() -> None:
    made = profile(cluster(NODES), Picky, refusing("R", {"b": NO}))
    assert made.inspect(pod(labels={"x": "y"})).scores == {"Picky": {"a": 2, "c": 2}}
    assert made.decide(pod(labels={"x": "y"})).score == 2
    assert made.inspect(pod()).scores == {}
    assert made.decide(pod()).score == 0


class Shy(Plugin):
    """A plugin that looks at one node at a time and never wants to."""

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Skip:
        return SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        return np.full(len(nodes), 100, np.int64)


def test_a_plugin_that_skips_adds_nothing() -> None:
    assert final(Shy, scoring("S", {"b": 5})) == {"S": {"a": 0, "b": 5, "c": 0}}


def test_the_rows_of_a_mask() -> None:
    nodes = FeasibleNodes(cluster(NODES), np.array([True, False, True]))
    assert nodes.names == ["a", "c"]
    assert len(nodes) == 2
    with pytest.raises(AttributeError, match="columns"):
        _ = nodes.columns
