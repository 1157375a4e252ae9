"""Disruption budgets: which pods can not go without breaking a promise.

In: pods that would be evicted, most important first. Out: the same pods in two groups, those that exceed what some
PodDisruptionBudget still allows and those that do not. Only preemption asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.cluster import Cluster, Placed
from fairway.model import Pod, PodDisruptionBudget
from fairway.model.selector import Selector, compile_selector


def split_by_budget(cluster: Cluster, placed: Sequence[Placed]) -> tuple[list[Placed], list[Placed]]:
    """(violating, others), each in the order given. Budgets are used up as the pods are counted."""
    budgets = cluster.workloads.disruption_budgets
    if not budgets:
        return [], list(placed)
    allowed: dict[tuple[str, str], int] = {}
    violating: list[Placed] = []
    others: list[Placed] = []
    for each in placed:
        meta = each.pod.metadata
        violates = False
        for name, budget in budgets.get(meta.namespace, {}).items() if meta.labels else ():
            selector = _selector(budget)
            if selector.is_everything or not selector.matches(meta.labels):
                continue
            if meta.name in budget.status.disrupted_pods:
                continue  # its eviction is already counted
            key = (meta.namespace, name)
            allowed[key] = allowed.get(key, budget.status.disruptions_allowed) - 1
            violates |= allowed[key] < 0
        (violating if violates else others).append(each)
    return violating, others


def violates_budget(cluster: Cluster, pod: Pod, used: dict[tuple[str, str], int]) -> bool:
    """Would this pod's leaving exceed a budget, on top of what is `used` already? Counts it there, up to that budget.

    As kube-scheduler 1.36 does for units of several pods: `filterVictimsWithPDBViolation` in framework/preemption.
    """
    meta = pod.metadata
    for name, budget in cluster.workloads.disruption_budgets.get(meta.namespace, {}).items() if meta.labels else ():
        selector = _selector(budget)
        if selector.is_everything or not selector.matches(meta.labels) or meta.name in budget.status.disrupted_pods:
            continue
        key = (meta.namespace, name)
        used[key] = used.get(key, 0) + 1
        if used[key] > budget.status.disruptions_allowed:
            return True
    return False


def _selector(budget: PodDisruptionBudget) -> Selector:
    try:
        return compile_selector(budget.spec.selector)
    except ValueError:  # an invalid selector selects nothing
        return compile_selector(None)
