"""Roll-outs, played: does the new version fit while the old one leaves?

In: a trial whose other pods are placed, and its `Rollout`s. Out: for each a `RolloutAnswer`: the steps that its
controller takes, and if it comes to a stop, the pods that fit nowhere and why. What plays is the simulation: the same
Deployment, StatefulSet and DaemonSet controllers, kubelets and scheduler, on a virtual clock on which a pod is ready a
second after it was bound and gone a second after it was asked to go. Roll-outs are played one after the other, each on
what the one before left. Called by `try`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fairway.explain.manifests import Manifests
from fairway.explain.trial import Trial, Verdict
from fairway.explain.workloads.rollout import Rollout
from fairway.explain.workloads.staged_rollout import StagedRollout
from fairway.kinds.controllers import Wanted
from fairway.model import (
    DaemonSet,
    Deployment,
    Loaded,
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from fairway.model.controllers import RollingUpdate
from fairway.record import NullRecorder, RecordOptions
from fairway.rehearsal.rollout_watch import RolloutStep, RolloutWatch
from fairway.rehearsal.staged_controller import StagedController
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation

__all__ = ["RolloutAnswer", "play_rollouts"]

AnyRollout = Rollout | StagedRollout
CONTROLLERS = ReplicaSet | StatefulSet | ReplicationController


@dataclass(slots=True)
class RolloutAnswer:
    """What came of a roll-out."""

    rollout: AnyRollout
    steps: list[RolloutStep]
    is_complete: bool
    num_new: int  # new pods on nodes in the end
    num_wanted: int
    stuck: Verdict | None  # the first new pod that fits nowhere
    waiting: tuple[str, ...]  # new pods that fit nowhere
    evicted: tuple[str, ...]  # pods of others that had to go
    remark: str = ""  # why nothing happens, if nothing does
    fix: str = ""  # a change of the strategy with which it comes through: tried, not guessed

    @property
    def most_pods(self) -> int:
        """How many pods it had on nodes at the most."""
        return max((step.old + step.new for step in self.steps), default=0)

    @property
    def least_available(self) -> int:
        """How many pods ran at the least."""
        return min((step.available for step in self.steps), default=0)


def play_rollouts(
    trial: Trial, verdicts: Sequence[Verdict], told: Callable[[AnyRollout], None] = lambda rollout: None
) -> list[RolloutAnswer]:
    """Play all of a trial's roll-outs; `told` hears of each before it begins."""
    objects = _as_left(trial, verdicts)
    answers = []
    for rollout in trial.manifests.rollouts:
        told(rollout)
        answer, left = _play(trial, rollout, objects)
        other = None if answer.is_complete else _without_surge(rollout)
        if other is not None and _play(trial, other, objects)[0].is_complete:
            answer.fix = "maxSurge 0, maxUnavailable 1"
        answers.append(answer)
        objects = left
    return answers


def _without_surge(rollout: AnyRollout) -> AnyRollout | None:
    """The same, one pod at a time and none before its predecessor is gone; None if that is no change."""
    if isinstance(rollout, StagedRollout):
        plan = rollout.plan.one_by_one()
        return None if plan is None else replace(rollout, plan=plan)
    thing = rollout.after()
    rolling = RollingUpdate(max_surge=0, max_unavailable=1)
    match thing:
        case Deployment() if thing.spec.strategy.rolling_update not in (None, rolling):
            strategy = msgspec.structs.replace(thing.spec.strategy, rolling_update=rolling)
            spec = msgspec.structs.replace(thing.spec, strategy=strategy)
            return replace(rollout, thing=msgspec.structs.replace(thing, spec=spec))
        case DaemonSet() if thing.spec.update_strategy.rolling_update not in (None, rolling):
            update = msgspec.structs.replace(thing.spec.update_strategy, rolling_update=rolling)
            daemons = msgspec.structs.replace(thing.spec, update_strategy=update)
            return replace(rollout, thing=msgspec.structs.replace(thing, spec=daemons))
    return None


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


def _play(trial: Trial, rollout: AnyRollout, objects: Sequence[Any]) -> tuple[RolloutAnswer, list[Any]]:
    own = {pod.metadata.uid for pod in rollout.fleet.pods}
    there = [one for one in objects if not (isinstance(one, Pod) and one.metadata.uid in own)]
    configuration = trial.configuration
    if trial.seed is not None:
        profiles = tuple(replace(profile, seed=trial.seed) for profile in configuration.profiles)
        configuration = replace(configuration, profiles=profiles)
    plan = Plan(
        nodes=[one for one in there if isinstance(one, Node)],
        objects=[*(one for one in there if not isinstance(one, Node)), *rollout.before()],
        arrivals=(),
        schedulers=[SchedulerPlan("rollout", configuration)],
        seed=trial.seed or 0,
    )
    options = RecordOptions(decisions="none", queue=False, events=False, objects=False)
    simulation = Simulation(plan, NullRecorder(), options)
    watch = RolloutWatch(rollout, simulation)
    if isinstance(rollout, StagedRollout):
        StagedController(rollout, simulation, watch)
    elif rollout.start:
        after = rollout.after()
        simulation.timeline.at(rollout.start, lambda: simulation.api.update(after))
    simulation.run()
    return _answer(trial, rollout, watch), watch.objects_left()


def _answer(trial: Trial, rollout: AnyRollout, watch: RolloutWatch) -> RolloutAnswer:
    """What came of it."""
    pods = watch.pods
    waiting = [pod for pod in pods if not pod.spec.node_name]
    num_new = sum(watch.is_new(pod) and bool(pod.spec.node_name) for pod in pods)
    if isinstance(rollout, StagedRollout):
        num_wanted, remark = rollout.plan.stages[-1].new, rollout.remark
    else:
        num_wanted, remark = _num_wanted(rollout.after(), len(pods)), _hold_up(rollout.after())
    return RolloutAnswer(
        rollout,
        watch.steps,
        not waiting and (num_new >= num_wanted or bool(remark)),
        num_new,
        num_wanted,
        _verdict(trial, rollout, watch, waiting[0]) if waiting else None,
        tuple(pod.key for pod in waiting),
        watch.evicted,
        remark,
    )


def _num_wanted(thing: Any, num_pods: int) -> int:
    """How many new pods there are to be."""
    if isinstance(thing, DaemonSet):
        return num_pods
    replicas: int = thing.spec.replicas or 0
    if isinstance(thing, StatefulSet):
        rolling = thing.spec.update_strategy.rolling_update
        return max(0, replicas - ((rolling.partition if rolling else 0) or 0))
    return replicas


def _verdict(trial: Trial, rollout: AnyRollout, watch: RolloutWatch, pod: Pod) -> Verdict:
    """Why the pod fits nowhere, asked once more on what there is in the end."""
    source = rollout.wanted.source
    wanted = Wanted("Pod", pod.metadata.namespace, pod.metadata.name, source, 1, lambda index: (pod, ()))
    others = [Loaded(one, source) for one in watch.objects_left()]
    again = Trial(Manifests(others, [wanted], []), trial.configuration, trial.seed, trial.time)
    return again.place(pod, wanted, evict=False)


def _hold_up(thing: Any) -> str:
    """Why a controller leaves its pods as they are."""
    if isinstance(thing, Deployment):
        return "it is paused: nothing is replaced" if thing.spec.paused else ""
    if thing.spec.update_strategy.type == "OnDelete":
        return "its strategy is OnDelete: each pod stays until somebody deletes it"
    return ""
