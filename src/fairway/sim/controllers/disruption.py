"""The disruption controller: how many pods of a set may be disrupted now.

In: PodDisruptionBudgets, and the events of the pods they select. Out: the budgets' status, brought up to date soon
after pods come, begin to run or go; evictions and preemptions read it. Percentages, and `maxUnavailable`, are of the
replicas that the pods' owners should have. A budget whose owners have no scale allows nothing. While there are no
budgets, pods cost nothing here. Matches `pkg/controller/disruption` of Kubernetes 1.36.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import OwnerReference, Pod, PodDisruptionBudget
from fairway.model.default_controllers import scaled
from fairway.model.selector import NOTHING, compile_selector
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.budget_book import Budgets, BudgetState, member
from fairway.sim.controllers.reconciler import Report, silent
from fairway.sim.controllers.settings import ControllerSettings
from fairway.sim.timeline import Timeline

__all__ = ["DisruptionController"]

DELETION_TIMEOUT = dt.timedelta(minutes=2)  # an evicted pod that is still there after that was not evicted
SCALABLE = ("ReplicaSet", "ReplicationController", "StatefulSet", "Deployment")


class UnknownScaleError(Exception):
    """Nobody knows how many pods there should be."""


class DisruptionController:
    """Keeps the status of budgets up to date."""

    def __init__(
        self, api: ApiServer, timeline: Timeline, settings: ControllerSettings | None = None, report: Report = silent
    ) -> None:
        self._api = api
        self._timeline = timeline
        self._settings = settings or ControllerSettings()
        self._report = report
        self.budgets: dict[str, Budgets] = {}  # by namespace; empty while there are none

    # -- events ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """Take note of what happened to a budget or a pod; of no other object."""
        item = event.object
        if isinstance(item, Pod):
            self.observe_pod(item, event.verb)
        elif isinstance(item, PodDisruptionBudget):
            self._observe_budget(item, event.verb)

    def observe_pod(self, pod: Pod, verb: Verb) -> None:
        """Take note of what happened to a pod."""
        budgets = self.budgets.get(pod.metadata.namespace)
        if budgets is None:
            return
        uid = pod.metadata.uid
        is_gone = verb is Verb.DELETED or pod.is_finished
        before, now = budgets.holding.get(uid, ()), () if is_gone else budgets.selecting(pod.metadata.labels)
        for budget in before:
            if budget not in now and budget.put(uid, None):
                self._wake(budget)
        for budget in now:
            if budget.put(uid, member(pod)):
                self._wake(budget)
        if now != before:
            budgets.hold(uid, now)

    def _observe_budget(self, item: PodDisruptionBudget, verb: Verb) -> None:
        namespace, name = item.metadata.namespace, item.metadata.name
        budgets = self.budgets.setdefault(namespace, Budgets())
        if verb is Verb.DELETED:
            gone = budgets.by_name.pop(name, None)
            if gone is not None:
                gone.thing = None
                budgets.forget(gone)
            if not budgets.by_name:
                del self.budgets[namespace]
            return
        budget = budgets.by_name.setdefault(name, BudgetState())
        before, budget.thing = budget.thing, item
        if before is None or before.spec.selector != item.spec.selector:
            self._select(budget, item, budgets)
        elif before.spec == item.spec and before.status == item.status:
            return
        self._wake(budget)

    def _select(self, budget: BudgetState, item: PodDisruptionBudget, budgets: Budgets) -> None:
        """Find the pods of a budget that is new or selects others; from then on events keep them up to date."""
        budgets.forget(budget)
        budget.forget_pods()
        try:
            budget.selector = compile_selector(item.spec.selector)
        except ValueError as problem:
            budget.selector = NOTHING
            self._complain(budget, item, "NoPods", f"Failed to get pods: {problem}")
        for pod in self._api.objects("Pod", item.metadata.namespace):
            uid = pod.metadata.uid
            if not pod.is_finished and budget.selector.matches(pod.metadata.labels):
                budget.put(uid, member(pod))
                budgets.hold(uid, (*budgets.holding.get(uid, ()), budget))

    def _wake(self, budget: BudgetState) -> None:
        if not budget.is_awake:
            budget.is_awake = True
            self._timeline.after(self._settings.reconcile_latency, lambda: self._see_to(budget))

    # -- what to do --------------------------------------------------------------------------------------------------

    def _see_to(self, budget: BudgetState) -> None:
        """Bring the status up to date."""
        budget.is_awake = False
        item = budget.thing
        if item is None:
            return
        before = item.status
        try:
            expected, desired = self._reckon(budget, item)
        except (UnknownScaleError, ValueError) as problem:
            self._complain(budget, item, "CalculateExpectedPodCountFailed", str(problem))
            status = msgspec.structs.replace(before, disruptions_allowed=0)
        else:
            disrupted = self._disrupted(budget, item)
            healthy = budget.healthy - sum(
                one.is_healthy and one.name in disrupted for one in (budget.members.values() if disrupted else ())
            )
            status = msgspec.structs.replace(
                before,
                expected_pods=expected,
                desired_healthy=desired,
                current_healthy=healthy,
                disruptions_allowed=max(0, healthy - desired) if expected > 0 else 0,
                disrupted_pods=disrupted,
                observed_generation=item.metadata.generation,
            )
        if status != before:
            self._api.update(msgspec.structs.replace(item, status=status))

    def _reckon(self, budget: BudgetState, item: PodDisruptionBudget) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        spec = item.spec
        if spec.max_unavailable is not None:
            expected = self._scale(budget, item.metadata.namespace)
            return expected, max(0, expected - scaled(spec.max_unavailable, expected, up=True))
        if isinstance(spec.min_available, str):
            expected = self._scale(budget, item.metadata.namespace)
            return expected, scaled(spec.min_available, expected, up=True)
        if spec.min_available is not None:
            return len(budget.members), spec.min_available
        return 0, 0

    def _scale(self, budget: BudgetState, namespace: str) -> int:
        """The replicas of all owners of the budget's pods; pods that nobody owns do not count."""
        scales: dict[str, int] = {}
        for reference in budget.owners:
            if reference is not None:
                owner = self._scaled_owner(reference, namespace)
                scales[owner.metadata.uid] = 1 if owner.spec.replicas is None else owner.spec.replicas
        return sum(scales.values())

    def _scaled_owner(self, reference: OwnerReference, namespace: str) -> Any:
        """Who says how many there should be: a ReplicaSet's Deployment, if it has one."""
        if reference.kind not in SCALABLE:
            group = reference.api_version.rpartition("/")[0]
            resource = f"{reference.kind.lower()}s{'.' if group else ''}{group}"
            raise UnknownScaleError(f"{resource} does not implement the scale subresource")
        owner = self._api.find(reference.kind, namespace, reference.name)
        if owner is None or owner.metadata.uid != reference.uid:
            raise UnknownScaleError(f"found no controllers for pods of {reference.kind} {reference.name}")
        above = owner.metadata.controller
        if reference.kind == "ReplicaSet" and above is not None and above.kind == "Deployment":
            return self._scaled_owner(above, namespace)
        return owner

    def _disrupted(self, budget: BudgetState, item: PodDisruptionBudget) -> dict[str, dt.datetime]:
        """Evicted pods that are still to be deleted; asked about again when that should have happened."""
        evicted = item.status.disrupted_pods
        if not evicted:
            return {}
        now = self._api.calendar()
        here = {one.name for one in budget.members.values() if not one.is_going}
        left = {name: time for name, time in evicted.items() if name in here and time + DELETION_TIMEOUT >= now}
        if left:
            wait = (min(left.values()) + DELETION_TIMEOUT - now).total_seconds()
            self._timeline.after(wait + 1.0, lambda: self._wake(budget))
        return left

    def _complain(self, budget: BudgetState, item: PodDisruptionBudget, reason: str, message: str) -> None:
        """Once for each trouble."""
        if message != budget.trouble:
            budget.trouble = message
            name = f"{item.metadata.namespace}/{item.metadata.name}"
            self._report("PodDisruptionBudget", name, reason, message)
