"""Disruption budgets and the pods they select, counted.

In: budgets as they come, change and go, and pods as the events tell them. Out: which budgets are a pod's, and how many
of a budget's pods there are, are healthy, and belong to whom. Kept by the disruption controller, so that nobody ever
lists all pods when one of them begins to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from fairway.model import OwnerReference, Pod, PodDisruptionBudget
from fairway.model.selector import NOTHING, Selector

__all__ = ["BudgetState", "Budgets", "Member", "member"]


class Member(msgspec.Struct, frozen=True, gc=False):
    """A living pod of a budget, as far as it counts."""

    name: str
    is_going: bool
    is_healthy: bool  # it runs, and nobody asked for its end
    owner: OwnerReference | None


class BudgetState:
    """A budget and its pods, counted."""

    __slots__ = ("healthy", "is_awake", "members", "owners", "selector", "thing", "trouble")

    def __init__(self) -> None:
        self.thing: PodDisruptionBudget | None = None
        self.selector: Selector = NOTHING
        self.is_awake = False
        self.trouble = ""  # why it can not be reckoned, if it was told already
        self.forget_pods()

    def forget_pods(self) -> None:
        """Begin to count anew."""
        self.members: dict[str, Member] = {}  # by uid
        self.owners: Counter[OwnerReference | None] = Counter()
        self.healthy = 0

    def put(self, uid: str, member: Member | None) -> bool:
        """The pod is like this now (None: gone); False if that changes nothing."""
        before = self.members.get(uid)
        if before == member:
            return False
        if before is not None:
            del self.members[uid]
            self.healthy -= before.is_healthy
            self.owners[before.owner] -= 1
            if not self.owners[before.owner]:
                del self.owners[before.owner]
        if member is not None:
            self.members[uid] = member
            self.healthy += member.is_healthy
            self.owners[member.owner] += 1
        return True


class Budgets:
    """The budgets of a namespace: which of them are a pod's?"""

    __slots__ = ("_by_label", "_others", "by_name", "holding")

    def __init__(self) -> None:
        self.by_name: dict[str, BudgetState] = {}
        self.holding: dict[str, tuple[BudgetState, ...]] = {}  # by the uids of their pods
        self._by_label: dict[tuple[str, str], list[BudgetState]] | None = None  # made when it is needed
        self._others: list[BudgetState] = []

    def selecting(self, labels: Mapping[str, str]) -> tuple[BudgetState, ...]:
        """Those that select these labels. Most select by one value of a label, and are looked up by it."""
        if self._by_label is None:
            self._by_label, self._others = {}, []
            for budget in self.by_name.values():
                label = _needed_label(budget.selector)
                (self._others if label is None else self._by_label.setdefault(label, [])).append(budget)
        found = list(self._others)
        for label in labels.items():
            found += self._by_label.get(label, ())
        return tuple(budget for budget in found if budget.selector.matches(labels)) if found else ()

    def hold(self, uid: str, budgets: tuple[BudgetState, ...]) -> None:
        """A pod belongs to these."""
        if budgets:
            self.holding[uid] = budgets
        else:
            self.holding.pop(uid, None)

    def forget(self, budget: BudgetState) -> None:
        """A budget selects others now, or none."""
        self._by_label = None
        for uid in budget.members:
            self.hold(uid, tuple(one for one in self.holding.get(uid, ()) if one is not budget))


def _needed_label(selector: Selector) -> tuple[str, str] | None:
    """A label without which nothing is selected."""
    for line in selector.requirements:
        if line.operator == "In" and len(line.values) == 1:
            return line.key, line.values[0]
    return None


def member(pod: Pod) -> Member:
    """A living pod, as far as it counts; pods that run are ready."""
    is_healthy = pod.status.phase == "Running" and not pod.is_terminating
    return Member(pod.metadata.name, pod.is_terminating, is_healthy, pod.metadata.controller)
