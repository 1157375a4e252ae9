"""Whoever takes a `StagedRollout` from stage to stage: the part of a controller that is not Kubernetes' own.

In: a simulation with the two ReplicaSets of a roll-out, and its plan. Out: the sizes of those sets, step by step: new
pods as far as surge lets them come, old ones go as far as others are available in their place. A stage is over when
all pods that it wants are there; one that never is, is where the roll-out gets stuck. Called by `rollout_play`.
"""

from __future__ import annotations

import msgspec

from fairway.cluster import Event
from fairway.explain.workloads.staged_rollout import StagedRollout
from fairway.kinds.rolling_plan import Stage
from fairway.model import Pod, ReplicaSet
from fairway.rehearsal.rollout_watch import RolloutWatch
from fairway.sim.simulation import Simulation

__all__ = ["StagedController"]


class StagedController:
    """Sizes the two ReplicaSets; wakes when something happens to their pods."""

    def __init__(self, rollout: StagedRollout, simulation: Simulation, watch: RolloutWatch) -> None:
        self._rollout = rollout
        self._plan = rollout.plan
        self._api = simulation.api
        self._timeline = simulation.timeline
        self._watch = watch
        self._stages = [] if rollout.remark else list(self._plan.stages)
        self._is_awake = False
        self._api.watch(self._observe)
        self._wake()

    def _observe(self, event: Event) -> None:
        owner = event.object.metadata.controller if isinstance(event.object, Pod) else None
        if owner is not None and self._rollout.is_own(owner):
            self._wake()

    def _wake(self) -> None:
        if not self._is_awake and self._stages:
            self._is_awake = True
            self._timeline.at(self._timeline.now(), self._act)

    def _act(self) -> None:
        """Take the next step; what comes of it leads back here."""
        self._is_awake = False
        stage = self._stages[0]
        self._watch.stage = stage.title
        old, new = self._set(self._rollout.old_name), self._set(self._rollout.new_name)
        if self._roll(stage, old, new) or not self._is_reached(stage, old, new):
            return
        self._stages.pop(0)
        self._wake()

    def _roll(self, stage: Stage, old: ReplicaSet, new: ReplicaSet) -> bool:
        """One change of size, if one is due."""
        plan, num_old, num_new = self._plan, _size(old), _size(new)
        room = stage.old + stage.new if plan.surge is None else plan.replicas + plan.surge
        room -= num_old + num_new
        if plan.surge is None:  # old ones go when the new are there, not to make room for them
            room = max(room, stage.new - num_new)
        for one, size, target in ((old, num_old, stage.old), (new, num_new, stage.new)):
            if size < target and room > 0:
                return self._resize(one, min(target, size + room))
        available = self._num_available(old) + self._num_available(new)
        if plan.surge is None:
            spare = num_old if self._num_available(new) >= stage.new else 0
        else:
            spare = available - (plan.replicas - plan.unavailable)
        if num_old > stage.old and spare > 0:
            return self._resize(old, max(stage.old, num_old - spare))
        return False

    def _is_reached(self, stage: Stage, old: ReplicaSet, new: ReplicaSet) -> bool:
        return _size(new) >= stage.new and self._num_available(new) >= stage.new and _size(old) <= stage.old

    def _num_available(self, one: ReplicaSet) -> int:
        pods = (pod for pod in self._watch.pods if not pod.is_terminating and pod.status.phase == "Running")
        name = one.metadata.name
        return sum(pod.metadata.controller is not None and pod.metadata.controller.name == name for pod in pods)

    def _set(self, name: str) -> ReplicaSet:
        found = self._api.find("ReplicaSet", self._rollout.wanted.namespace, name)
        assert isinstance(found, ReplicaSet)
        return found

    def _resize(self, one: ReplicaSet, size: int) -> bool:
        self._api.update(msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, replicas=size)))
        self._wake()
        return True


def _size(one: ReplicaSet) -> int:
    return one.spec.replicas or 0
