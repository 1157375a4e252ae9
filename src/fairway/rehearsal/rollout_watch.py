"""Looking on while a roll-out is played.

In: a simulation that has not begun, and the `Rollout` in it. Out: what happened at each moment (`RolloutStep`), who had
to go for it, and what there is in the end. Called by `rollout_play`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from fairway.cluster import Event, Verb
from fairway.explain.workloads.rollout import Rollout
from fairway.explain.workloads.staged_rollout import StagedRollout
from fairway.model import Deployment, Pod
from fairway.model.codec import KINDS, kind_title
from fairway.sim.simulation import Simulation

__all__ = ["RolloutStep", "RolloutWatch"]

LEFT: Final = tuple(sorted({kind_title(*one) for one in KINDS} - {"Deployment", "DaemonSet", "Job", "CronJob"}))
"""Kinds that a scheduler looks at."""


@dataclass(slots=True)
class RolloutStep:
    """What happened at one moment, and how things stand after it."""

    stage: str = ""  # of a roll-out that has any
    made: int = 0
    placed: list[str] = field(default_factory=list)  # the nodes of new pods
    ready: int = 0
    gone: int = 0  # old pods that are no more
    old: int = 0  # pods on nodes, those that are leaving among them
    new: int = 0  # new pods on nodes
    available: int = 0  # pods that run and are not leaving
    waiting: int = 0  # new pods on no node

    @property
    def is_change(self) -> bool:
        """Did anything happen?"""
        return bool(self.made or self.placed or self.ready or self.gone)


class RolloutWatch:
    """Follows the pods of one roll-out through a simulation."""

    def __init__(self, rollout: Rollout | StagedRollout, simulation: Simulation) -> None:
        self._rollout = rollout
        self._api = simulation.api
        self._timeline = simulation.timeline
        self._old = set(rollout.old_uids)
        self._known: dict[str, Pod] = {pod.metadata.uid: pod for pod in self._own_pods()}
        self._others = {pod.metadata.uid: pod.key for pod in self._api.objects("Pod")}
        for uid in self._known:
            self._others.pop(uid, None)
        self._evicted: list[str] = []
        self._steps: list[RolloutStep] = []
        self._time = -1.0
        self.stage = ""  # which one this is, if there are any
        self._api.watch(self._observe)

    def _own_pods(self) -> list[Pod]:
        return [pod for pod in self._api.objects("Pod") if self._is_own(pod)]

    def _is_own(self, pod: Pod) -> bool:
        owner = pod.metadata.controller
        if owner is None or pod.metadata.namespace != self._rollout.wanted.namespace:
            return False
        if isinstance(self._rollout, StagedRollout):
            return self._rollout.is_own(owner)
        thing = self._rollout.thing
        if not isinstance(thing, Deployment):
            return owner.kind == thing.kind and owner.name == thing.metadata.name
        one = self._api.find("ReplicaSet", pod.metadata.namespace, owner.name) if owner.kind == "ReplicaSet" else None
        above = one.metadata.controller if one is not None else None
        return above is not None and above.name == thing.metadata.name

    def _is_of_new_template(self, pod: Pod) -> bool:
        owner = pod.metadata.controller
        one = self._api.find("ReplicaSet", pod.metadata.namespace, owner.name) if owner is not None else None
        return self._rollout.is_new(pod, one)

    def _observe(self, event: Event) -> None:
        pod = event.object
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        if uid in self._others:
            if event.verb is Verb.DELETED:
                self._evicted.append(self._others.pop(uid))
            return
        before = self._known.get(uid)
        if before is None and not self._is_own(pod):
            return
        if event.verb is Verb.DELETED:
            self._known.pop(uid, None)
        else:
            self._known[uid] = pod
        if before is None and not self._is_of_new_template(pod):
            self._old.add(uid)  # one more of the old version: it was missing, or the number grew
        now = self._timeline.now()
        if now >= self._rollout.start:
            self._note(self._step(now), event.verb, pod, before)

    def _step(self, now: float) -> RolloutStep:
        if now != self._time or not self._steps:
            self._time = now
            self._steps.append(RolloutStep(self.stage))
        return self._steps[-1]

    def _note(self, step: RolloutStep, verb: Verb, pod: Pod, before: Pod | None) -> None:
        is_new = pod.metadata.uid not in self._old
        if verb is Verb.DELETED:
            step.gone += not is_new
        elif is_new:
            step.made += before is None
            if pod.spec.node_name and (before is None or not before.spec.node_name):
                step.placed.append(pod.spec.node_name)
            step.ready += pod.status.phase == "Running" and (before is None or before.status.phase != "Running")
        pods = self._known.values()
        on_nodes = [one for one in pods if one.spec.node_name]
        step.old = sum(one.metadata.uid in self._old for one in on_nodes)
        step.new = len(on_nodes) - step.old
        step.available = sum(one.status.phase == "Running" and not one.is_terminating for one in on_nodes)
        step.waiting = sum(not one.spec.node_name and one.metadata.uid not in self._old for one in pods)

    @property
    def steps(self) -> list[RolloutStep]:
        """The moments at which something changed."""
        return [step for step in self._steps if step.is_change]

    @property
    def evicted(self) -> tuple[str, ...]:
        """Pods of others that had to go."""
        return tuple(self._evicted)

    @property
    def pods(self) -> list[Pod]:
        """The controller's pods, as they are now."""
        return list(self._known.values())

    def is_new(self, pod: Pod) -> bool:
        """Is it one of those that the roll-out brings?"""
        return pod.metadata.uid not in self._old

    def objects_left(self) -> list[Any]:
        """Everything that there is in the end, but pods on no node."""
        return [
            thing
            for kind in LEFT
            for thing in self._api.objects(kind)
            if not (isinstance(thing, Pod) and not thing.spec.node_name)
        ]
