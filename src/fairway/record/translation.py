"""From what a cluster tells to what a run keeps: one translator for the simulated world and the live one.

In: events of nodes, pods and other objects, as an API server sends them, in order. Out: calls of a `Recorder`, in the
words of `vocabulary`: nodes and their changes, pods as they come, are bound by anybody, run, are resized and end, and
everything else that a decision may depend on. What no event tells (a node goes dark with its pods, and is back) the
world tells the recorder itself. Called by `sim.simulation` and `live.recording`.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from fairway.cluster import Event, Verb
from fairway.model import Node, Pod, pod_requests
from fairway.model.device_need import GPU_INDEX
from fairway.model.disruption import ORPHANED, PREEMPTED, disruption_reason
from fairway.model.requests import seem_alike
from fairway.queue import profile_name
from fairway.record.recorder import Recorder
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.record.writing.kept import kept_annotations

__all__ = ["EventTranslator", "node_change", "pod_end"]

DELETED: Final = Verb.DELETED
ADMISSION: Final = ("NodePorts", "NodeAffinity", "NodeName", "TaintToleration", "UnexpectedAdmissionError")
"""Reasons of kubelets that do not take a pod, besides `OutOf` and a resource (pkg/kubelet/lifecycle, 1.36)."""


class EventTranslator:
    """Tells a recorder what events mean; `now` is the run's clock, and `beginning` its zero as a date."""

    def __init__(self, recorder: Recorder, now: Callable[[], float], beginning: dt.datetime) -> None:
        self._recorder = recorder
        self._now = now
        self._beginning = beginning
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}  # by uid: those that have not ended
        self._bound: set[str] = set()
        self._residents: defaultdict[str, set[str]] = defaultdict(set)  # by node: uids of those that are bound to it
        self._orphans: dict[str, set[str]] = {}  # by node that is not there: uids of pods bound to it

    def saw(self, event: Event) -> None:
        """Something happened."""
        item, is_gone = event.object, event.verb is DELETED
        if isinstance(item, Pod):
            self._saw_pod(item, is_gone)
        elif isinstance(item, Node):
            self._saw_node(item, is_gone)
        elif is_gone:
            self._recorder.object_deleted(self._now(), item)
        else:
            self._recorder.object_applied(self._now(), item)

    def _saw_node(self, node: Node, is_gone: bool) -> None:
        name, now = node.metadata.name, self._now()
        before = self._nodes.pop(name, None)
        if is_gone:
            if before is not None:
                self._recorder.node_gone(now, name, NodeEnd.DELETED)
                for uid in sorted(self._residents.get(name, ())):
                    self._recorder.lost(now, uid)
            return
        self._nodes[name] = node
        if before is None:
            self._recorder.node_added(now, node)
            for uid in sorted(self._residents.get(name, ())):
                self._recorder.regained(now, uid)
            for uid in self._orphans.pop(name, ()):
                if (pod := self._pods.get(uid)) is not None:
                    self._bind(now, pod)
        elif (what := node_change(before, node)) is not None:
            self._recorder.node_changed(now, node, what)

    def _saw_pod(self, pod: Pod, is_gone: bool) -> None:
        recorder, now = self._recorder, self._now()
        uid, status, node = pod.metadata.uid, pod.status, pod.spec.node_name
        is_over = is_gone or pod.is_finished
        before = self._pods.get(uid)
        if before is None:
            if is_over:
                return  # before we came, or told already
            recorder.pod_created(now, pod, profile_name(pod))
        elif not node and not _says_the_same(before, pod):
            recorder.changed(now, pod)
        self._pods[uid] = pod
        if node and uid not in self._bound:
            self._bind(now, pod)
        if status.start_time is not None and (before is None or before.status.start_time != status.start_time):
            recorder.acknowledged(now, uid, (status.start_time - self._beginning).total_seconds())
        if pod.metadata.deletion_timestamp is not None and (before is None or not before.is_terminating):
            recorder.leaves(now, uid)
        if before is not None:
            if status.phase == "Running" != before.status.phase:
                recorder.started(now, uid)
            if not _asks_the_same(before, pod) and pod_requests(before) != pod_requests(pod):
                recorder.resized(now, pod)
        if is_over:
            del self._pods[uid]
            if uid in self._bound:
                self._bound.remove(uid)
                self._residents.get(node, set()).discard(uid)
            elif node in self._orphans:
                self._orphans[node].discard(uid)
            recorder.ended(now, uid, pod_end(pod))

    def _bind(self, now: float, pod: Pod) -> None:
        uid, node = pod.metadata.uid, pod.spec.node_name
        if node in self._nodes:
            self._bound.add(uid)
            self._residents[node].add(uid)
            self._recorder.bound(now, uid, node, pod.metadata.annotations.get(GPU_INDEX))
        else:
            self._orphans.setdefault(node, set()).add(uid)


def _says_the_same(before: Pod, pod: Pod) -> bool:
    """Is it gated and labelled as before, and annotated?"""
    one, two = before.metadata, pod.metadata
    if (one.labels, before.spec.scheduling_gates) != (two.labels, pod.spec.scheduling_gates):
        return False
    return one.annotations == two.annotations


def _asks_the_same(before: Pod, pod: Pod) -> bool:
    """Is it easily seen? Servers count changes of a pod's spec (1.33 and later); kubelets tell what they gave."""
    generation = pod.metadata.generation
    if generation and generation == before.metadata.generation and not (_got(before) or _got(pod)):
        return True
    return seem_alike(before, pod)


def _got(pod: Pod) -> bool:
    status = pod.status
    return bool(status.container_statuses or status.init_container_statuses or status.resources)


def pod_end(pod: Pod) -> PodEnd:
    """How a pod ended that has finished or is gone."""
    status, disruption = pod.status, disruption_reason(pod)
    if status.phase == "Succeeded":
        return PodEnd.SUCCEEDED
    if disruption == PREEMPTED.reason:
        return PodEnd.PREEMPTED
    if disruption == ORPHANED.reason:
        return PodEnd.NODE_LOST
    if disruption or status.reason == "Evicted":
        return PodEnd.EVICTED
    if status.phase == "Failed":
        is_rejected = status.reason.startswith("OutOf") or status.reason in ADMISSION
        return PodEnd.REJECTED if is_rejected else PodEnd.FAILED
    return PodEnd.DELETED


def node_change(before: Node, after: Node) -> NodeChange | None:
    """What is different, in a word; None if it is nothing but a heartbeat."""
    if before.spec.unschedulable != after.spec.unschedulable:
        return NodeChange.CORDONED if after.spec.unschedulable else NodeChange.UNCORDONED
    if (ready := _readiness(after)) != _readiness(before):
        return NodeChange.READY if ready == "True" else NodeChange.NOT_READY
    if before.status.allocatable != after.status.allocatable:
        return NodeChange.RESIZED
    return None if _deciding(before) == _deciding(after) else NodeChange.CHANGED


def _readiness(node: Node) -> str:
    return next((one.status for one in node.status.conditions if one.type == "Ready"), "")


def _deciding(node: Node) -> tuple[Any, ...]:
    """What else a scheduler reads of a node."""
    meta, spec, status = node.metadata, node.spec, node.status
    return (
        meta.labels,
        kept_annotations(meta.annotations),
        spec.taints,
        status.images,
        status.declared_features,
        status.features,
    )
