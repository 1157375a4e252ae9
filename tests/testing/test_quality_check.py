"""`check_quality`: plugins that do what they are meant to pass, others are told where they went wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.config import default_configuration
from fairway.plugin import Nodes, Plugin, PodClass
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.plugins.random_policy import Random
from fairway.plugins.registry import REGISTRY
from fairway.record.quality.instance import Instance, nodes_used
from fairway.testing import check_quality

pytest.importorskip("highspy", reason="the solver has no build for this Python")

MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated"}}


class Fuller(Plugin):
    """Prefers nodes in use."""

    annotations = ()

    def score(self, pod: PodClass, nodes: Nodes, state: object) -> NDArray[np.int64]:
        held = nodes.table.requested[nodes.rows, 0]
        return (100 * held // nodes.table.allocatable[nodes.rows, 0]).astype(np.int64)


class Broken(Plugin):
    """Does not score."""

    annotations = ()

    def score(self, pod: PodClass, nodes: Nodes, state: object) -> NDArray[np.int64]:
        raise RuntimeError("no idea")


def busiest(instance: Instance, placement: NDArray[np.intp]) -> float:
    return float(instance.loads(placement)[:, 0].max())


def in_use(instance: Instance, placement: NDArray[np.intp]) -> float:
    return nodes_used(instance, placement)


def test_a_plugin_that_packs_passes_and_one_that_does_not_is_told_where() -> None:
    report = check_quality(Fuller, goal="pack", within=0.2, examples=15)
    assert 0 <= report.gap <= 0.2
    assert str(report).startswith("Fuller uses ")
    with pytest.raises(AssertionError, match=r"\d% more; allowed: 5\.0% \(goal pack, 15 examples") as told:
        check_quality(Random, goal="pack", examples=15)
    assert "The worst is example" in str(told.value)
    assert "; best: " in str(told.value)


def test_spreading_and_packing_are_opposites() -> None:
    spread = check_quality(NodeResourcesFit, goal="spread", within=0.3, examples=10)
    packed = check_quality(NodeResourcesFit, args=MOST_ALLOCATED, goal="spread", within=1, examples=10)
    assert spread.gap < packed.gap
    with pytest.raises(AssertionError, match="points more; allowed: 5 points"):
        check_quality(NodeResourcesFit, args=MOST_ALLOCATED, goal="spread", examples=10)


def test_a_function_of_ones_own_is_compared_with_every_placement() -> None:
    by_function = check_quality(Fuller, goal=in_use, within=1, examples=10)
    assert by_function.goal == "in_use"
    assert by_function.best >= 10  # each example uses one node at least
    with pytest.raises(AssertionError, match="goal busiest"):
        check_quality(Fuller, goal=busiest, within=0.1, examples=10)


def test_the_same_seed_gives_the_same_report_and_another_another() -> None:
    first, again, other = (check_quality(Random, within=9, examples=10, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_whole_profile_and_two_choices_are_judged() -> None:
    profile = default_configuration(REGISTRY).profiles[0]
    assert check_quality(profile, goal="spread", within=0.4, examples=5).name == "default-scheduler"
    check_quality(NodeResourcesFit, sampling="two-choices", goal="spread", within=1, examples=5)


def test_what_can_not_be_checked_is_said() -> None:
    with pytest.raises(ValueError, match="no goal 'pakc'; there are pack, spread, and functions"):
        check_quality(Fuller, goal="pakc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="within is 0 or more"):
        check_quality(Fuller, within=-1)
    with pytest.raises(AssertionError, match="no idea"):
        check_quality(Broken)
