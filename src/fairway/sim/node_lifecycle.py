"""Nodes that come, go, are cordoned, drained and lost: the faults of a scenario, on Kubernetes' timeline.

In: what should happen to which node (`apply`). Out: changes of node objects, and evictions. A node that goes dark is
noticed after 50 s: it becomes NotReady and gets the unreachable taints; pods are evicted when their toleration of
NoExecute ends, 300 s later by default. Evictions on a drain honour disruption budgets and are retried.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal

import msgspec

from fairway.model import Node, NodeCondition, Pod, Taint
from fairway.model.disruption import TAINTED
from fairway.model.toleration import tolerates
from fairway.record import Recorder
from fairway.sim.api_server import ApiServer
from fairway.sim.eviction import evict
from fairway.sim.kubelets import Kubelets

NOTICED_AFTER = 50.0  # node-monitor-grace-period
EVICTION_RETRY = 5.0
UNREACHABLE = "node.kubernetes.io/unreachable"
FaultAction = Literal["lose", "return", "cordon", "uncordon", "drain", "add", "remove"]


class NodeLifecycle:
    """Does to nodes what the scenario says."""

    def __init__(self, api: ApiServer, kubelets: Kubelets, recorder: Recorder) -> None:
        self._api = api
        self._kubelets = kubelets
        self._recorder = recorder
        self._lost: dict[str, float] = {}  # since when
        self._cordoned: set[str] = set()  # by us
        self._removed: dict[str, Node] = {}
        self.tells_times = False  # do conditions say since when? Whoever keeps queues wants to know after a restart
        self._refused: dict[str, set[str]] = {}  # by node that is being drained: pods that may not go yet

    def apply(self, action: FaultAction, name: str, seconds: float | None = None) -> None:
        """One fault now; with `seconds`, undone after that time."""
        words = "" if seconds is None else f"for {seconds:g} s"
        self._recorder.event(self._api.timeline.now(), "Node", name, action, words)
        getattr(self, f"_{action}")(name)
        undo: dict[str, FaultAction] = {"lose": "return", "cordon": "uncordon", "drain": "uncordon", "remove": "add"}
        if seconds is not None and action in undo:
            self._api.timeline.after(seconds, lambda: self.apply(undo[action], name))

    # -- what can happen -------------------------------------------------------------------------------------------

    def _lose(self, name: str) -> None:
        if self._node(name) is None or name in self._lost:
            return
        since = self._lost[name] = self._api.timeline.now()
        self._kubelets.lose(name)
        self._api.timeline.after(NOTICED_AFTER, lambda: self._notice(name, since))

    def _return(self, name: str) -> None:
        node = self._node(name)
        if node is None or name not in self._lost:
            return
        del self._lost[name]
        self._kubelets.revive(name)
        self._change(node, ready=True, taints=tuple(t for t in node.spec.taints if t.key != UNREACHABLE))

    def _cordon(self, name: str) -> None:
        node = self._node(name)
        if node is not None and not node.spec.unschedulable:
            self._cordoned.add(name)
            self._api.update(_with_cordon(node, True))

    def _uncordon(self, name: str) -> None:
        node = self._node(name)
        self._cordoned.discard(name)
        if node is not None and node.spec.unschedulable:
            self._api.update(_with_cordon(node, False))

    def _drain(self, name: str) -> None:
        self._cordon(name)
        if name not in self._refused:  # else it is being drained already
            self._evict_all(name)

    def _remove(self, name: str) -> None:
        """The machine is gone, and with it what faults did to it: if it comes back, it is as good as new."""
        node = self._node(name)
        if node is not None:
            self._lost.pop(name, None)
            kept = tuple(taint for taint in node.spec.taints if taint.key != UNREACHABLE)
            new = _with_cordon(node, node.spec.unschedulable and name not in self._cordoned)
            self._cordoned.discard(name)
            self._removed[name] = _with_health(new, ready=True, taints=kept)
            self._api.remove(node)
            for pod in self._pods_on(name):
                self._api.remove(pod)

    def _add(self, name: str) -> None:
        node = self._removed.pop(name, None)
        if node is not None:
            self._api.create(node)

    # -- what follows ----------------------------------------------------------------------------------------------

    def _notice(self, name: str, since: float) -> None:
        """The node controller marks a node that went dark, and lets its pods go when their patience ends."""
        node = self._node(name)
        if node is None or self._lost.get(name) != since:
            return
        taints = (Taint(key=UNREACHABLE, effect="NoSchedule"), Taint(key=UNREACHABLE, effect="NoExecute"))
        self._change(node, ready=False, taints=(*node.spec.taints, *taints))
        for pod in self._pods_on(name):
            patience = _patience(pod, taints[1])
            if patience is not None:
                uid = pod.metadata.uid
                self._api.timeline.after(patience, lambda uid=uid: self._evict_from_lost(uid, name, since))  # type: ignore[misc]

    def _evict_from_lost(self, uid: str, name: str, since: float) -> None:
        pod = self._api.pod(uid)
        if pod is not None and self._lost.get(name) == since:
            self._recorder.event(
                self._api.timeline.now(), "Pod", pod.key, "TaintManagerEviction", f"node {name} is lost"
            )
            self._api.delete(pod, TAINTED)

    def _evict_all(self, name: str) -> None:
        """Evict what budgets allow; come back for the rest. What had to stay is told once."""
        refused = self._refused.setdefault(name, set())
        node = self._node(name)
        left = False
        for pod in self._pods_on(name) if node is not None and node.spec.unschedulable else ():
            owner = pod.metadata.controller
            if pod.is_terminating or (owner is not None and owner.kind == "DaemonSet"):
                continue
            why = evict(self._api, pod)
            if why:
                left = True
                if pod.metadata.uid not in refused:
                    refused.add(pod.metadata.uid)
                    self._recorder.event(self._api.timeline.now(), "Pod", pod.key, "EvictionRefused", why)
        if left:
            time = self._api.timeline.now() + EVICTION_RETRY
            self._api.timeline.at(time, lambda: self._evict_all(name), is_idle=True)
        else:
            del self._refused[name]

    # -- small things ----------------------------------------------------------------------------------------------

    def _node(self, name: str) -> Node | None:
        node: Node | None = self._api.find("Node", "", name)
        return node

    def _pods_on(self, name: str) -> list[Pod]:
        kubelet = self._kubelets.by_node.get(name)
        pods = [self._api.pod(uid) for uid in (kubelet.residents if kubelet else ())]
        return [pod for pod in pods if pod is not None]

    def _change(self, node: Node, ready: bool, taints: tuple[Taint, ...]) -> None:
        self._api.update(_with_health(node, ready, taints, self._api.calendar() if self.tells_times else None))


def _with_health(node: Node, ready: bool, taints: tuple[Taint, ...], since: dt.datetime | None = None) -> Node:
    status_word = "True" if ready else "Unknown"
    condition = NodeCondition(type="Ready", status=status_word, last_transition_time=since)
    others = tuple(each for each in node.status.conditions if each.type != "Ready")
    status = msgspec.structs.replace(node.status, conditions=(*others, condition))
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints), status=status)


def _with_cordon(node: Node, unschedulable: bool) -> Node:
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=unschedulable))


def _patience(pod: Pod, taint: Taint) -> float | None:
    """How long the pod stays on a node with that taint; None: for ever."""
    bearing = [each for each in pod.spec.tolerations if tolerates(each, taint)]
    if not bearing:
        return 0.0
    limits = [max(each.toleration_seconds, 0) for each in bearing if each.toleration_seconds is not None]
    return float(min(limits)) if limits else None
