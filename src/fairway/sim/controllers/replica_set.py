"""The ReplicaSet controller, which sees to ReplicationControllers as well: so many active pods, no more, no fewer.

In: ReplicaSets, and the events of their pods. Out: pods made from the template in place of those that ended, were
deleted or are on their way out; pods deleted when there are too many. `tell` is called when a set's pods come, go or
begin to run, for the Deployment controller. Matches `pkg/controller/replicaset` of Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from fairway.model import Pod
from fairway.sim.controllers.deletion_order import by_rank
from fairway.sim.controllers.pod_book import PodBook
from fairway.sim.controllers.reconciler import Owned, Reconciler

__all__ = ["ReplicaSetController"]

NO_PODS = PodBook()


class ReplicaSetController(Reconciler[Owned]):
    """Keeps a number of equal pods."""

    kinds = frozenset(("ReplicaSet", "ReplicationController"))

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.tell: Callable[[str], None] | None = None  # with the owner of the set whose pods changed
        self._relatives: dict[str, dict[str, Owned]] = {}  # sets with the same owner

    def _make_state(self, uid: str) -> Owned:
        return Owned(uid)

    # -- for the Deployment controller -------------------------------------------------------------------------------

    def book(self, uid: str) -> PodBook:
        """The pods of a set."""
        owned = self._owners.get(uid)
        return NO_PODS if owned is None else owned.book

    def num_available(self, uid: str, min_ready_seconds: int) -> tuple[int, float | None]:
        """How many pods of a set have been ready for long enough, and when there will be one more."""
        book = self.book(uid)
        if min_ready_seconds <= 0:
            return book.num_running, None
        times = [self._available_at(pod, min_ready_seconds) for pod in book.active.values()]
        now = self._timeline.now()
        due = [time for time in times if time is not None and time > now]
        return sum(time is not None and time <= now for time in times), min(due, default=None)

    # -- events ------------------------------------------------------------------------------------------------------

    def _owner_changed(self, owned: Owned, before: Any) -> None:
        owner = owned.thing.metadata.controller
        if before is None and owner is not None:
            self._relatives.setdefault(owner.uid, {})[owned.uid] = owned

    def _owner_gone(self, owned: Owned) -> None:
        owner = owned.thing.metadata.controller
        if owner is not None and owner.uid in self._relatives:
            self._relatives[owner.uid].pop(owned.uid, None)
            if not self._relatives[owner.uid]:
                del self._relatives[owner.uid]

    def _pod_changed(self, owned: Owned, pod: Pod, before: Pod | None) -> None:
        if before is None:
            if len(owned.book.active) > owned.thing.spec.replicas:
                self.wake(owned)
        elif pod.is_terminating != before.is_terminating:
            self.wake(owned)
        elif pod.status.phase == before.status.phase:
            return
        self._tell(owned)

    def _pod_ended(self, owned: Owned, pod: Pod, *, is_gone: bool) -> None:
        self.wake_after_end(owned, pod)
        self._tell(owned)

    def _tell(self, owned: Owned) -> None:
        owner = owned.thing.metadata.controller
        if owner is not None and self.tell is not None:
            self.tell(owner.uid)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: Owned) -> None:
        """Make what is missing, or delete what is too much."""
        active = owned.book.active
        missing = owned.thing.spec.replicas - len(active)
        if missing > 0:
            self._create(owned, missing)
        elif missing < 0:
            order = by_rank(active.values(), self._neighbours(owned), self._api.calendar())
            for pod in order[:-missing]:
                self._api.delete(pod)

    def _create(self, owned: Owned, number: int) -> None:
        template = owned.thing.spec.template
        stencil = None if template is None else self._stencil(owned, template)
        if stencil is None:
            return
        prefix = f"{owned.thing.metadata.name}-"
        for _ in range(number):
            self._api.create(stencil.pod(self._free_name(owned, prefix)))

    def _neighbours(self, owned: Owned) -> Counter[str]:
        """How many active pods of this set and its relatives each node has."""
        owner = owned.thing.metadata.controller
        relatives = [owned] if owner is None else self._relatives.get(owner.uid, {owned.uid: owned}).values()
        return Counter(pod.spec.node_name for one in relatives for pod in one.book.active.values())
