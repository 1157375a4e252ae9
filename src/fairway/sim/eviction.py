"""The eviction API: a pod may go if its disruption budget allows it.

In: the API server and a pod. Out: the pod's deletion, and one disruption less in its budget; or, in the API server's
words, why not. Called by drains. How many disruptions a budget allows is kept up to date by the disruption controller.
Matches `pkg/registry/core/pod/storage/eviction.go` of Kubernetes 1.36.
"""

from __future__ import annotations

import msgspec

from fairway.model import Pod, PodDisruptionBudget
from fairway.model.disruption import EVICTED
from fairway.model.selector import compile_selector
from fairway.sim.api_server import ApiServer

__all__ = ["evict"]

TOO_MANY = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(api: ApiServer, pod: Pod) -> str:
    """Ask for a pod to go; returns why it may not, "" if it may and goes. Budgets are for pods that run."""
    if pod.status.phase == "Running" and not pod.is_terminating:
        budgets = [
            budget for budget in api.objects("PodDisruptionBudget", pod.metadata.namespace) if _is_of(budget, pod)
        ]
        if len(budgets) > 1:
            return TOO_MANY
        if budgets:
            (budget,) = budgets
            if budget.status.disruptions_allowed < 1:
                return f"{VIOLATED} {_why(budget)}"
            _spend(api, budget, pod)
    api.delete(pod, EVICTED)
    return ""


def _is_of(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return compile_selector(budget.spec.selector).matches(pod.metadata.labels)
    except ValueError:  # a selector that makes no sense selects nothing
        return False


def _why(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    if status.current_healthy <= status.desired_healthy:
        needs = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return f"The disruption budget {name} {needs}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _spend(api: ApiServer, budget: PodDisruptionBudget, pod: Pod) -> None:
    """One disruption less, at once: the next eviction must not count on it."""
    status = msgspec.structs.replace(
        budget.status,
        disruptions_allowed=budget.status.disruptions_allowed - 1,
        disrupted_pods={**budget.status.disrupted_pods, pod.metadata.name: api.calendar()},
    )
    api.update(msgspec.structs.replace(budget, status=status))
