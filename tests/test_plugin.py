"""The plugin API itself: what a plugin does when it overrides nothing, and plugins made from plain functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairway.cluster import Cluster, Event, Nodes, PodClass, Verb
from fairway.model import Node, Pod
from fairway.plugin import (
    MAX_SCORE,
    Action,
    Aspect,
    ClusterEvent,
    Code,
    Hint,
    Locality,
    Plugin,
    PostFilterResult,
    Refusal,
    Resource,
    overrides,
    per_node,
)
from fairway.testing import cluster, node, pod


class Quiet(Plugin):
    """Overrides nothing."""


def made() -> Cluster:
    return cluster([node("a", labels={"disk": "ssd"}), node("b"), node("c", labels={"disk": "hdd"})])


def asked(kind: type[Plugin], method: str, thing: Pod, rows: list[int] | None = None) -> Any:
    world = made()
    nodes = Nodes(world, None if rows is None else np.array(rows, np.intp))
    return getattr(kind(world), method)(world.classify(thing), nodes, None)


def test_a_plugin_that_overrides_nothing_has_no_opinion() -> None:
    world = made()
    plugin, nodes, waiting = Quiet(world), world.view(), world.classify(pod())
    assert plugin.pre_enqueue(pod()) is None
    assert plugin.pre_filter(waiting, nodes) is None
    assert plugin.filter(waiting, nodes, None).tolist() == [True] * 3
    assert plugin.pre_score(waiting, nodes) is None
    assert plugin.score(waiting, nodes, None).tolist() == [0] * 3
    scores = np.array([1, 2, 3])
    assert plugin.normalize_scores(waiting, nodes, None, scores) is scores
    assert plugin.reserve(pod(), waiting, 0) is None
    assert plugin.permit(pod(), waiting, 0) is None
    assert plugin.post_filter(None) == PostFilterResult(Refusal(()))  # type: ignore[arg-type]


def test_by_default_a_plugin_judges_each_node_by_itself_and_is_woken_by_anything() -> None:
    assert (Quiet.locality, Quiet.reads, Quiet.per_pod) == (Locality.NODE, Aspect.NODE | Aspect.PODS, False)
    assert list(Quiet(made()).events()) == [Hint(ClusterEvent(Resource.ANY, Action.ALL))]


def test_a_refusal_without_words_names_the_plugin() -> None:
    assert asked(Quiet, "explain", pod()) == Refusal(("node(s) were refused by Quiet",), Code.UNSCHEDULABLE)


def test_a_plugin_is_called_as_its_class_unless_it_says_otherwise() -> None:
    class Named(Plugin):
        name = "Other"

    class Heir(Named):
        pass

    assert (Quiet.name, Named.name, Heir.name) == ("Quiet", "Other", "Heir")


def test_a_plugin_keeps_its_cluster_and_arguments() -> None:
    world = made()
    plugin = Quiet(world, {"x": 1})
    assert (plugin.cluster, plugin.args) == (world, {"x": 1})


def test_taking_part_is_overriding() -> None:
    class Filters(Plugin):
        def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
            return super().filter(pod, nodes, state)

    class Inherits(Filters):
        pass

    assert overrides(Filters(made()), "filter")
    assert overrides(Inherits(made()), "filter")
    assert not overrides(Filters(made()), "score")
    assert not overrides(Quiet(made()), "filter")


# -- plugins from plain functions ------------------------------------------------------------------------------------


@per_node
def prefer_ssd(pod: Pod, node: Node) -> int:
    """Ninety for a good disk."""
    return 90 if node.metadata.labels["kubernetes.io/hostname"] == "a" else 10


@per_node
def share(pod: Pod, node: Node) -> float:
    return 33.9


@per_node
def only_ssd(pod: Pod, node: Node) -> bool | str | None:
    match node.metadata.labels.get("disk"):
        case "ssd":
            return None if pod.metadata.name == "quiet" else True
        case "hdd":
            return "node(s) had a slow disk"
    return False


def test_a_function_that_gives_a_number_is_a_score() -> None:
    assert prefer_ssd.name == "PreferSsd"
    assert prefer_ssd.__doc__ == "Ninety for a good disk."
    scores = asked(prefer_ssd, "score", pod())
    assert (scores.tolist(), scores.dtype) == ([90, 10, 10], np.int64)
    assert scores.max() <= MAX_SCORE
    assert asked(prefer_ssd, "score", pod(), [2, 0]).tolist() == [10, 90]
    assert not overrides(prefer_ssd(made()), "filter")


def test_a_fraction_of_a_score_is_cut_off() -> None:
    assert asked(share, "score", pod()).tolist() == [33, 33, 33]


@pytest.mark.parametrize("name", ["quiet", "loud"])
def test_a_function_that_gives_anything_else_is_a_filter(name: str) -> None:
    mask = asked(only_ssd, "filter", pod(name))
    assert (mask.tolist(), mask.dtype) == ([True, False, False], np.bool_)
    assert asked(only_ssd, "filter", pod(name), [2, 0]).tolist() == [False, True]
    assert not overrides(only_ssd(made()), "score")


def test_a_function_says_why_or_the_plugin_is_named() -> None:
    assert asked(only_ssd, "explain", pod(), [2, 1]) == [
        Refusal(("node(s) had a slow disk",)),
        Refusal(("node(s) were refused by OnlySsd",)),
    ]


def test_a_function_is_not_asked_about_nodes_that_are_gone() -> None:
    world = made()
    world.apply(Event(Verb.DELETED, node("b")))
    scores = prefer_ssd(world).score(world.classify(pod()), world.view(), None)  # would not find its label there
    assert scores.tolist() == [90, 0, 10]


def test_a_function_sees_every_pod_by_itself() -> None:
    assert only_ssd.per_pod
    assert prefer_ssd.locality is Locality.NODE


def test_a_filter_that_returns_a_number_is_told_how_to_score() -> None:
    @per_node
    def by_size(pod: Pod, node: Node) -> Any:
        return 7

    what = cluster(nodes=2)
    made = by_size(what)
    with pytest.raises(TypeError, match="annotate it `-> int`"):
        made.filter(what.classify(pod()), what.view(), None)
