"""Roll-outs, played: does the new version fit while the old one leaves?

In: a trial whose other pods are placed, and its `Rollout`s. Out: for each a `RolloutAnswer`: the steps that its
controller takes, and if it comes to a stop, the pods that fit nowhere and why. What plays is the simulation: the same
Deployment, StatefulSet and DaemonSet controllers, kubelets and scheduler, on a virtual clock on which a pod is ready a
second after it was bound and gone a second after it was asked to go. Roll-outs are played one after the other, each on
what the one before left. Called by `try`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from fairway.cluster import Event, Verb
from fairway.explain.controllers import Wanted
from fairway.explain.manifests import Manifests
from fairway.explain.trial import Trial, Verdict
from fairway.explain.workloads.rollout import Rollout
from fairway.model import (
    DaemonSet,
    Deployment,
    Loaded,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Source,
    StatefulSet,
)
from fairway.model.codec import KINDS
from fairway.record import NullWriter
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation

__all__ = ["RolloutAnswer", "RolloutStep", "play_rollouts"]

START: Final = 2.0  # by then what was there has settled
CONTROLLERS = ReplicaSet | StatefulSet | ReplicationController
LEFT: Final = tuple(sorted({kind for _, kind in KINDS} - {"Deployment", "DaemonSet", "Job", "CronJob"}))
"""Kinds that a scheduler looks at."""


@dataclass(slots=True)
class RolloutStep:
    """What happened at one moment, and how things stand after it."""

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


@dataclass(slots=True)
class RolloutAnswer:
    """What came of a roll-out."""

    rollout: Rollout
    steps: list[RolloutStep]
    is_complete: bool
    num_new: int  # new pods on nodes in the end
    num_wanted: int
    stuck: Verdict | None  # the first new pod that fits nowhere
    waiting: tuple[str, ...]  # new pods that fit nowhere
    evicted: tuple[str, ...]  # pods of others that had to go
    remark: str = ""  # why nothing happens, if nothing does

    @property
    def most_pods(self) -> int:
        """How many pods it had on nodes at the most."""
        return max((step.old + step.new for step in self.steps), default=0)

    @property
    def least_available(self) -> int:
        """How many pods ran at the least."""
        return min((step.available for step in self.steps), default=0)


def play_rollouts(
    trial: Trial, verdicts: Sequence[Verdict], told: Callable[[Rollout], None] = lambda rollout: None
) -> list[RolloutAnswer]:
    """Play all of a trial's roll-outs; `told` hears of each before it begins."""
    objects = _as_left(trial, verdicts)
    answers = []
    for rollout in trial.manifests.rollouts:
        told(rollout)
        answer, objects = _play(trial, rollout, objects)
        answers.append(answer)
    return answers


def _as_left(trial: Trial, verdicts: Sequence[Verdict]) -> list[Any]:
    """The objects of the cluster after the other pods were placed; pods that are on no node are left out."""
    victims = {victim.metadata.uid for verdict in verdicts for victim in verdict.victims}
    objects: list[Any] = [
        thing
        for thing in trial.manifests.objects
        if not isinstance(thing, CONTROLLERS)
        and not (isinstance(thing, Pod) and (not thing.spec.node_name or thing.metadata.uid in victims))
    ]
    for verdict in verdicts:
        if verdict.is_placed:
            spec = msgspec.structs.replace(verdict.pod.spec, node_name=verdict.node)
            objects.append(msgspec.structs.replace(verdict.pod, spec=spec))
    return objects


def _play(trial: Trial, rollout: Rollout, objects: Sequence[Any]) -> tuple[RolloutAnswer, list[Any]]:
    own = {pod.metadata.uid for pod in rollout.fleet.pods}
    there = [one for one in objects if not (isinstance(one, Pod) and one.metadata.uid in own)]
    configuration = trial.configuration
    if trial.seed is not None:
        profiles = tuple(replace(profile, seed=trial.seed) for profile in configuration.profiles)
        configuration = replace(configuration, profiles=profiles)
    after = rollout.after()
    plan = Plan(
        nodes=[one for one in there if isinstance(one, Node)],
        objects=[*(one for one in there if not isinstance(one, Node)), *rollout.before()],
        arrivals=(),
        schedulers=[SchedulerPlan("rollout", configuration)],
        seed=trial.seed or 0,
    )
    simulation = Simulation(plan, NullWriter())
    watcher = _Watcher(rollout, simulation)
    simulation.timeline.at(START, lambda: simulation.api.update(_with_version(simulation, after)))
    simulation.run()
    return watcher.answer(trial), watcher.objects_left()


def _with_version(simulation: Simulation, after: Any) -> Any:
    """The controller as it is to be, with the uid under which the simulation knows it."""
    meta = after.metadata
    there = simulation.api.find(after.kind, meta.namespace, meta.name)
    assert there is not None
    return msgspec.structs.replace(after, metadata=msgspec.structs.replace(meta, uid=there.metadata.uid))


class _Watcher:
    """Follows the pods of one roll-out through a simulation."""

    def __init__(self, rollout: Rollout, simulation: Simulation) -> None:
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
        self._api.watch(self._observe)

    def _own_pods(self) -> list[Pod]:
        return [pod for pod in self._api.objects("Pod") if self._is_own(pod)]

    def _is_own(self, pod: Pod) -> bool:
        thing, owner = self._rollout.thing, pod.metadata.controller
        if owner is None or pod.metadata.namespace != self._rollout.wanted.namespace:
            return False
        if not isinstance(thing, Deployment):
            return owner.kind == thing.kind and owner.name == thing.metadata.name
        one = self._api.find("ReplicaSet", pod.metadata.namespace, owner.name) if owner.kind == "ReplicaSet" else None
        above = one.metadata.controller if one is not None else None
        return above is not None and above.name == thing.metadata.name

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
        now = self._timeline.now()
        if now < START:
            if before is None:
                self._old.add(uid)  # it was missing before the roll-out began
            return
        self._note(self._step(now), event.verb, pod, before)

    def _step(self, now: float) -> RolloutStep:
        if now != self._time or not self._steps:
            self._time = now
            self._steps.append(RolloutStep())
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

    def answer(self, trial: Trial) -> RolloutAnswer:
        """What came of it."""
        thing = self._rollout.after()
        new = [pod for pod in self._known.values() if pod.metadata.uid not in self._old]
        waiting = [pod for pod in self._known.values() if not pod.spec.node_name]
        num_new = sum(bool(pod.spec.node_name) for pod in new)
        wanted = self._num_wanted(thing, len(self._known))
        remark = _hold_up(thing)
        is_complete = not waiting and (num_new >= wanted or bool(remark))
        return RolloutAnswer(
            self._rollout,
            [step for step in self._steps if step.is_change],
            is_complete,
            num_new,
            wanted,
            self._verdict(trial, waiting[0]) if waiting else None,
            tuple(pod.key for pod in waiting),
            tuple(self._evicted),
            remark,
        )

    def _num_wanted(self, thing: Any, num_pods: int) -> int:
        if isinstance(thing, DaemonSet):
            return num_pods
        if isinstance(thing, StatefulSet):
            rolling = thing.spec.update_strategy.rolling_update
            return max(0, (thing.spec.replicas or 0) - ((rolling.partition if rolling else 0) or 0))
        return thing.spec.replicas or 0

    def _verdict(self, trial: Trial, pod: Pod) -> Verdict:
        """Why the pod fits nowhere, asked once more on what there is in the end."""
        source = self._rollout.wanted.source
        wanted = Wanted("Pod", pod.metadata.namespace, pod.metadata.name, source, 1, lambda index: (pod, ()))
        others = [Loaded(one, Source()) for one in self.objects_left() if one.metadata.uid != pod.metadata.uid]
        return Trial(Manifests(others, [wanted], []), trial.configuration, trial.seed).place(pod, wanted, evict=False)

    def objects_left(self) -> list[Any]:
        """Everything that there is in the end, but pods on no node."""
        return [
            thing
            for kind in LEFT
            for thing in self._api.objects(kind)
            if not (isinstance(thing, Pod) and not thing.spec.node_name)
        ]


def _hold_up(thing: Any) -> str:
    """Why a controller leaves its pods as they are."""
    if isinstance(thing, Deployment):
        return "it is paused: nothing is replaced" if thing.spec.paused else ""
    if thing.spec.update_strategy.type == "OnDelete":
        return "its strategy is OnDelete: each pod stays until somebody deletes it"
    return ""
