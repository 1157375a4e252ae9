"""The DaemonSet controller: one pod on every node that it may run on.

In: DaemonSets, nodes, and the events of daemons. Out: a pod for each suitable node, bound for it by node affinity,
which a scheduler then places; pods deleted from nodes that are suitable no more; pods replaced when they failed (with
a back-off) and when the template changed, so many at a time. Matches `pkg/controller/daemon` of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import DaemonSet, Node, Pod
from fairway.model.daemon import bound_for, suitability, target_node, tolerant
from fairway.model.default_controllers import scaled
from fairway.model.owned import REVISION, labelled
from fairway.sim.controllers.reconciler import Owned, Reconciler
from fairway.sim.controllers.revisions import Revisions

__all__ = ["DaemonSetController"]


class DaemonSetState(Owned):
    """A DaemonSet and its pods by node."""

    __slots__ = ("backoff", "is_updating", "nodes", "retry", "revisions", "template", "unseen")

    def __init__(self, uid: str) -> None:
        super().__init__(uid)
        self.nodes: dict[str, dict[str, Pod]] = {}  # living pods by node and uid
        self.unseen: dict[str, None] = {}  # nodes to look at, in the order they asked for it
        self.backoff: dict[str, tuple[float, float]] = {}  # nodes where a daemon failed: how long to wait, since when
        self.retry: dict[str, float] = {}  # nodes that have to wait, and until when
        self.revisions = Revisions()
        self.is_updating = False
        self.template: Any = None  # with the label and tolerations of daemons


class DaemonSetController(Reconciler[DaemonSetState]):
    """Keeps one pod on every suitable node."""

    kinds = frozenset(("DaemonSet",))

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._nodes: dict[str, Node] = {}

    def _make_state(self, uid: str) -> DaemonSetState:
        return DaemonSetState(uid)

    # -- events ------------------------------------------------------------------------------------------------------

    def _observe_other(self, event: Event) -> None:
        node = event.object
        if not isinstance(node, Node):
            return
        name = node.metadata.name
        before = self._nodes.get(name)
        if event.verb is Verb.DELETED:
            self._nodes.pop(name, None)
        else:
            self._nodes[name] = node
            if before is not None and (before.metadata.labels, before.spec) == (node.metadata.labels, node.spec):
                return
        for owned in self._owners.values():
            if owned.thing is not None:
                self._look_at(owned, name)

    def _look_at(self, owned: DaemonSetState, node: str) -> None:
        owned.unseen[node] = None
        self.wake(owned)

    def _owner_changed(self, owned: DaemonSetState, before: Any) -> None:
        thing: DaemonSet = owned.thing
        if before is None:
            for pod in owned.book:
                owned.nodes.setdefault(target_node(pod.spec), {})[pod.metadata.uid] = pod
        elif before.spec.template != thing.spec.template:
            owned.revisions.change(thing.metadata.name, thing.spec.template)
            owned.template = None
            owned.is_updating = True
        owned.unseen.update(dict.fromkeys(self._nodes))

    def _pod_changed(self, owned: DaemonSetState, pod: Pod, before: Pod | None) -> None:
        node = target_node(pod.spec)
        owned.nodes.setdefault(node, {})[pod.metadata.uid] = pod
        if before is None or pod.is_terminating != before.is_terminating:
            self._look_at(owned, node)
        elif owned.is_updating and pod.status.phase != before.status.phase:
            self.wake(owned)

    def _pod_ended(self, owned: DaemonSetState, pod: Pod, *, is_gone: bool) -> None:
        node = target_node(pod.spec)
        pods = owned.nodes.get(node, {})
        pods.pop(pod.metadata.uid, None)
        if not pods:
            owned.nodes.pop(node, None)
        now = self._timeline.now()
        wait, since = owned.backoff.get(node, (0.0, 0.0))
        if pod.status.phase == "Failed" and now - since < wait:
            owned.retry[node] = now + wait
            self.alarm(owned, owned.retry[node])
            return
        owned.unseen[node] = None
        if pod.status.phase == "Failed":
            self._back_off(owned, node)
            self.wake(owned)
        else:
            self.wake_after_end(owned, pod)

    def _back_off(self, owned: DaemonSetState, node: str) -> None:
        """A failed daemon is replaced; the next one that fails soon after will have to wait."""
        now, settings = self._timeline.now(), self._settings
        wait, since = owned.backoff.get(node, (0.0, 0.0))
        is_forgiven = not wait or now - since > 2 * settings.daemon_backoff_limit
        wait = settings.daemon_backoff if is_forgiven else min(2 * wait, settings.daemon_backoff_limit)
        owned.backoff[node] = (wait, now)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: DaemonSetState) -> None:
        """See to the nodes that something happened on, then go on with an update."""
        name, template = owned.thing.metadata.name, owned.thing.spec.template
        owned.revisions.begin(name, template, owned.book)
        if owned.template is None:
            marked = labelled(template, {REVISION: owned.revisions.latest})
            owned.template = msgspec.structs.replace(marked, spec=tolerant(marked.spec))
        now = self._timeline.now()
        for node, time in list(owned.retry.items()):
            if time <= now:
                del owned.retry[node]
                self._back_off(owned, node)
                owned.unseen[node] = None
        unseen, owned.unseen = owned.unseen, {}
        for node in unseen:
            if node not in owned.retry:
                self._see_to_node(owned, node)
        if owned.retry:
            self.alarm(owned, min(owned.retry.values()))
        if owned.is_updating and owned.thing.spec.update_strategy.type == "RollingUpdate":
            self._update(owned)

    def _see_to_node(self, owned: DaemonSetState, name: str) -> None:
        node = self._nodes.get(name)
        pods = owned.nodes.get(name, {})
        if node is None:
            self._delete(pods.values())
            owned.backoff.pop(name, None)
            return
        fits = suitability(owned.thing.spec.template, node)
        if not pods:
            if fits.starts:
                self._create(owned, name)
        elif not fits.stays:
            self._delete(pods.values())
        elif len(pods) > 1 and not self._surge(owned):
            staying = [pod for pod in pods.values() if not pod.is_terminating]
            staying.sort(key=lambda pod: (not pod.spec.node_name, pod.metadata.creation_timestamp))
            self._delete(staying[1:])

    def _create(self, owned: DaemonSetState, node: str) -> None:
        stencil = self._stencil(owned, owned.template)
        if stencil is not None:
            pod = stencil.pod(self._free_name(owned, f"{owned.thing.metadata.name}-"))
            self._api.create(msgspec.structs.replace(pod, spec=bound_for(pod.spec, node)))

    def _delete(self, pods: Iterable[Pod]) -> None:
        for pod in list(pods):
            self._api.delete(pod)

    # -- updates -------------------------------------------------------------------------------------------------------

    def _surge(self, owned: DaemonSetState) -> int:
        rolling = owned.thing.spec.update_strategy.rolling_update
        return scaled(rolling.max_surge, len(owned.nodes), up=True) if rolling else 0

    def _update(self, owned: DaemonSetState) -> None:
        """Replace old pods: in place within maxUnavailable, or by way of a second pod within maxSurge."""
        surge = self._surge(owned)
        rolling = owned.thing.spec.update_strategy.rolling_update
        allowed = surge or max(1, scaled(rolling.max_unavailable, len(owned.nodes), up=True))
        busy = 0  # nodes on which the new pod is not available yet
        useless: list[Pod] = []  # old pods that nobody would miss
        ready: list[tuple[str, Pod]] = []  # old pods that are available
        for node, pods in owned.nodes.items():
            living = [pod for pod in pods.values() if not pod.is_terminating]
            new = next((pod for pod in living if owned.revisions.has(pod)), None)
            old = next((pod for pod in living if not owned.revisions.has(pod)), None)
            if old is None or new is not None:
                busy += new is None or not self._is_available(owned, new)
                if old is not None and new is not None and self._is_available(owned, new):
                    useless.append(old)
            elif self._is_available(owned, old):
                ready.append((node, old))
            else:
                useless.append(old)
                busy += 1
        self._delete(useless)
        for node, old in ready[: max(0, allowed - busy)]:
            if surge:
                self._create(owned, node)
            else:
                self._api.delete(old)
        if not useless and not ready and not busy:
            owned.is_updating = False

    def _is_available(self, owned: DaemonSetState, pod: Pod) -> bool:
        time = self._available_at(pod, owned.thing.spec.min_ready_seconds)
        if time is not None and time > self._timeline.now():
            self.alarm(owned, time)
        return time is not None and time <= self._timeline.now()
