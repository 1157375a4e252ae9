"""Defragmentation in a simulation: at its time, pods are evicted and come again, so that less of the GPUs is stranded.

In: when to do it and how much (`DefragmentationStep`), the API server, the kubelets, and the scheduler whose view
counts. Out: evictions, as far as disruption budgets allow; pods without a controller are created again as soon as they
are gone, under their name and for what is left of their time; the others are left to their controllers. Events tell the
fragmentation before, and after, when all are on nodes again. Called by `Simulation`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import Pod, PodStatus
from fairway.model.device_need import GPU_INDEX
from fairway.record import Recorder
from fairway.sim.api_server import ApiServer, ConflictError
from fairway.sim.defragment import PerNode, choose_victims, num_to_evict
from fairway.sim.eviction import evict
from fairway.sim.kubelets import Kubelets
from fairway.sim.lifetime import Lifetime
from fairway.sim.sim_scheduler import SimScheduler
from fairway.trace.annotations import DURATION, FAIL_AFTER, FAIL_PROBABILITY, seconds_text

__all__ = ["LIMIT", "DefragmentationStep", "Defragmenter"]

LIMIT = 300.0
"""Seconds after which a step is measured, whether all of its pods are on nodes again or not."""


@dataclass(frozen=True, slots=True)
class DefragmentationStep:
    """One step."""

    at: float
    share: float  # of the pods on nodes, at most
    per_node: PerNode = "one"


@dataclass(slots=True, eq=False)
class _Step:
    """A step that is under way."""

    evicted: int
    milli_before: float
    leaving: set[str] = field(default_factory=set)  # uids of evicted pods that are not gone yet
    owed: Counter[str] = field(default_factory=Counter)  # by uid of the controller: pods that it will make
    unplaced: set[str] = field(default_factory=set)  # uids of pods that came again and have no node yet

    @property
    def num_missing(self) -> int:
        """Pods that are not on nodes again. One that a controller replaces is owed, from its eviction on."""
        return len(self.unplaced) + self.owed.total()


class Defragmenter:
    """Does the steps of a simulation; they may overlap."""

    def __init__(
        self,
        api: ApiServer,
        kubelets: Kubelets,
        schedulers: Sequence[SimScheduler],
        recorder: Recorder,
        on_problem: Callable[[str], None],
    ) -> None:
        """The first scheduler's view counts; it must be there before, so that it hears of everything first."""
        self._api = api
        self._kubelets = kubelets
        self._first = schedulers[0]
        self._served = {name for each in schedulers for name in each.scheduler.profiles}
        self._recorder = recorder
        self._on_problem = on_problem
        self._steps: list[_Step] = []
        self._pinned: set[str] = set()  # uids of pods that came with the devices they have to get
        self._again: dict[str, Pod] = {}  # by uid of a pod that goes: what comes in its place
        api.watch(self._observe)

    def begin(self, wanted: DefragmentationStep) -> None:
        """Evict, and tell how it was before."""
        cluster = self._first.scheduler.cluster
        num_pods = len(cluster.pods.by_uid)
        victims = choose_victims(cluster, num_to_evict(num_pods, wanted.share), wanted.per_node, self._may_go)
        step = _Step(0, self._milli())
        self._steps.append(step)
        for victim in victims:
            pod = self._api.pod(victim.metadata.uid)
            if pod is not None and self._evict(pod, step):
                step.evicted += 1
        words = f"{_pods(step.evicted)} of {num_pods} evicted, fragmentation {_gpus(step.milli_before)} before"
        self._tell("Defragmenting", words)
        if self._is_over(step):
            self._end(step)
        else:
            time = self._api.timeline.now() + LIMIT
            self._api.timeline.at(time, lambda: self._end(step), is_idle=True)

    def close(self) -> None:
        """The simulation ends: tell how far it came."""
        for step in list(self._steps):
            self._end(step)

    # -- who goes, and what comes instead ----------------------------------------------------------------------------

    def _may_go(self, seen: Pod) -> bool:
        """Pods that would come back: not to the same node in any case, and to a scheduler that is there."""
        pod = self._api.pod(seen.metadata.uid)
        if pod is None or not pod.spec.node_name or pod.is_terminating or pod.is_finished:
            return False
        kubelet = self._kubelets.by_node.get(pod.spec.node_name)
        if kubelet is None or kubelet.is_lost or pod.metadata.uid not in kubelet.residents:
            return False
        owner = pod.metadata.controller
        return pod.spec.scheduler_name in self._served and (owner is None or owner.kind != "DaemonSet")

    def _evict(self, pod: Pod, step: _Step) -> bool:
        uid, owner = pod.metadata.uid, pod.metadata.controller
        if owner is None:
            left = self._kubelets.left_of(pod)
            self._again[uid] = _anew(pod, left, is_pinned=uid in self._pinned)
        else:
            step.owed[owner.uid] += 1
        step.leaving.add(uid)
        why = evict(self._api, pod)
        if why:
            self._again.pop(uid, None)
            step.leaving.discard(uid)
            if owner is not None:
                step.owed[owner.uid] -= 1
            self._recorder.event(self._api.timeline.now(), "Pod", pod.key, "EvictionRefused", why)
        return not why

    def _observe(self, event: Event) -> None:
        pod = event.object
        if not isinstance(pod, Pod):
            return
        if event.verb is Verb.ADDED and GPU_INDEX in pod.metadata.annotations and not pod.spec.node_name:
            self._pinned.add(pod.metadata.uid)
        elif event.verb is Verb.DELETED:
            self._pinned.discard(pod.metadata.uid)
        for step in list(self._steps):
            self._follow(step, event.verb, pod)

    def _follow(self, step: _Step, verb: Verb, pod: Pod) -> None:
        """What the event means for a step; the last of its pods on a node ends it."""
        uid, owner = pod.metadata.uid, pod.metadata.controller
        if verb is Verb.ADDED:
            if owner is not None and step.owed[owner.uid] > 0:
                step.owed[owner.uid] -= 1
                step.unplaced.add(uid)
            return
        if verb is Verb.DELETED and uid in step.leaving:
            step.leaving.discard(uid)
            self._come_again(step, uid)
        elif uid in step.unplaced and (verb is Verb.DELETED or pod.spec.node_name):
            step.unplaced.discard(uid)
        else:
            return
        if self._is_over(step):
            self._api.timeline.after(self._first.view_delay, lambda: self._end(step))

    def _come_again(self, step: _Step, uid: str) -> None:
        wanted = self._again.pop(uid, None)
        if wanted is None:
            return
        try:
            made = self._api.create(wanted)
        except ConflictError as error:  # somebody took its name
            self._on_problem(f"after an eviction: {error}")
            return
        step.unplaced.add(made.metadata.uid)

    # -- before and after --------------------------------------------------------------------------------------------

    def _is_over(self, step: _Step) -> bool:
        return not step.leaving and not step.num_missing

    def _end(self, step: _Step) -> None:
        if step not in self._steps:
            return
        self._steps.remove(step)
        missing = step.num_missing + sum(uid in self._again for uid in step.leaving)
        words = f"{_pods(step.evicted)} evicted, {missing} of them not on a node again"
        change = f"fragmentation {_gpus(step.milli_before)} before, {_gpus(self._milli())} after"
        self._tell("Defragmented", f"{words}, {change}")

    def _milli(self) -> float:
        cluster = self._first.scheduler.cluster
        if cluster.typical_pods is None:
            cluster.learn_typical_pods()
        assert cluster.typical_pods is not None
        return cluster.fragmentation(cluster.typical_pods).total

    def _tell(self, reason: str, message: str) -> None:
        self._recorder.event(self._api.timeline.now(), "Scheduler", self._first.name, reason, message)


def _anew(pod: Pod, left: Lifetime, *, is_pinned: bool) -> Pod:
    """The pod as it comes again: without a node, a status or a past; it has to run for what is left of its time."""
    gone = {DURATION, FAIL_AFTER, FAIL_PROBABILITY} | (set() if is_pinned else {GPU_INDEX})
    notes = {key: text for key, text in pod.metadata.annotations.items() if key not in gone}
    if math.isfinite(left.seconds):
        notes[FAIL_AFTER if left.fails else DURATION] = seconds_text(left.seconds)
    meta = msgspec.structs.replace(
        pod.metadata,
        uid="",
        annotations=notes,
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        resource_version="",
    )
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return msgspec.structs.replace(pod, metadata=meta, spec=spec, status=PodStatus())


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _gpus(milli: float) -> str:
    return f"{milli / 1000:.2f} GPUs"
