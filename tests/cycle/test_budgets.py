"""Disruption budgets: which of the pods that would have to go exceed what is still allowed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from fairway.cycle.budgets import split_by_budget
from fairway.model import (
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from fairway.testing import cluster, node, pod

SINCE = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WEB = LabelSelector(match_labels={"app": "web"})


def budget(
    allowed: int,
    selector: LabelSelector | None = WEB,
    *,
    name: str = "budget",
    namespace: str = "default",
    disrupted: tuple[str, ...] = (),
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}/{name}"),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, SINCE)),
    )


def split(budgets: list[PodDisruptionBudget], *labels: dict[str, str]) -> tuple[str, str]:
    """Pods "a", "b", ... with these labels, in this order: (who violates a budget, who does not)."""
    names = "abcdef"[: len(labels)]
    pods = [pod(name, node="n", labels=each) for name, each in zip(names, labels, strict=True)]
    what = cluster(node("n"), pods, budgets)
    placed = [what.pods.by_uid[each.metadata.uid] for each in pods]
    violating, others = split_by_budget(what, placed)
    return "".join(each.pod.metadata.name for each in violating), "".join(each.pod.metadata.name for each in others)


ONE, OTHER, BOTH = {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "front"}


@pytest.mark.parametrize(
    ("budgets", "labels", "expected"),
    [
        pytest.param([], [ONE, ONE], ("", "ab"), id="no budgets"),
        pytest.param([budget(0)], [ONE, OTHER, ONE], ("ac", "b"), id="none may go"),
        pytest.param([budget(1)], [ONE, OTHER, ONE, ONE], ("cd", "ab"), id="one may go: the first asked about"),
        pytest.param([budget(2)], [ONE, ONE], ("", "ab"), id="two may go"),
        pytest.param([budget(-1)], [ONE], ("a", ""), id="overdrawn already"),
        pytest.param([budget(0, namespace="else")], [ONE], ("", "a"), id="another namespace"),
        pytest.param([budget(0)], [{}], ("", "a"), id="a pod without labels has no budget"),
        pytest.param([budget(0, None)], [ONE], ("", "a"), id="no selector selects nothing"),
        pytest.param([budget(0, LabelSelector())], [ONE], ("", "a"), id="nor does an empty one"),
        pytest.param(
            [budget(0, LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Like"),)))],
            [ONE],
            ("", "a"),
            id="nor a broken one",
        ),
        pytest.param([budget(0, disrupted=("a",))], [ONE, ONE], ("b", "a"), id="an eviction that is counted already"),
        pytest.param(
            [budget(1, disrupted=("a",))], [ONE, ONE, ONE], ("c", "ab"), id="which does not use up what is allowed"
        ),
        pytest.param(
            [budget(1), budget(0, LabelSelector(match_labels={"tier": "front"}), name="second")],
            [BOTH, ONE],
            ("ab", ""),
            id="a pod of two budgets uses up both, even if one is violated",
        ),
    ],
)
def test_split(budgets: list[PodDisruptionBudget], labels: list[dict[str, str]], expected: tuple[str, str]) -> None:
    assert split(budgets, *labels) == expected


def test_asking_uses_nothing_up() -> None:
    pods: list[Any] = [pod(name, node="n", labels=ONE) for name in "ab"]
    what = cluster(node("n"), pods, [budget(1)])
    placed = [what.pods.by_uid[each.metadata.uid] for each in pods]
    assert split_by_budget(what, placed) == split_by_budget(what, placed)
    assert split_by_budget(what, placed)[0] == [placed[1]]
