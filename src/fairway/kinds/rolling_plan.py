"""How controllers that are not Kubernetes' own go from one template to the next: Argo Rollouts, CloneSets.

In: an object of such a kind, as parsed. Out: a `RollingPlan`: stages with so many new and so many old pods each, and
the limits on the way there. What comes between stages (pauses, analyses, the shifting of traffic) is taken to go well.
Matches argo-rollouts 1.8 (`utils/replicaset/canary.go`) and OpenKruise 1.8. Called by `custom_kinds`; played by
`fairway.rehearsal.staged_controller`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fairway.model import DecodeError, Skipped
from fairway.model.default_controllers import scaled

__all__ = ["ARGO_HASH", "RollingPlan", "Stage", "canary_counts", "rolling_plan"]

ARGO_HASH: Final = "rollouts-pod-template-hash"
PROMOTED: Final = "pauses and analyses are taken to go well"
Tree = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """So many pods of each version, before the next stage begins."""

    title: str
    new: int
    old: int


@dataclass(frozen=True, slots=True)
class RollingPlan:
    """The way from the old template to the new one."""

    words: str  # the strategy, for people
    replicas: int
    stages: tuple[Stage, ...]
    surge: int | None  # None: nothing but the stages says how many pods there may be
    unavailable: int = 0
    hash_label: str = ""  # of pods that belong to ReplicaSets, which belong to the object
    is_in_place: bool = False  # a change of images alone leaves pods where they are
    remark: str = ""  # why nothing is replaced, if nothing is

    def one_by_one(self) -> RollingPlan | None:
        """The same without surge, a pod at a time; None if that is no change, or can not be asked of it."""
        if self.surge is None or (self.surge, self.unavailable) == (0, 1):
            return None
        return replace(self, surge=0, unavailable=1)


def rolling_plan(one: Skipped, replicas: int) -> RollingPlan | None:
    """The plan of an object with so many pods; None if it is of a kind whose roll-outs are not known."""
    spec = _tree(one.tree.get("spec"))
    match one.api_version.partition("/")[0], one.kind:
        case "argoproj.io", "Rollout":
            return _argo_plan(_Fields(one, spec), replicas)
        case "apps.kruise.io", "CloneSet":
            return _clone_set_plan(_Fields(one, spec), replicas)
    return None


class _Fields:
    """Numbers and percentages of an object; what is neither is an error that names the field."""

    def __init__(self, one: Skipped, spec: Tree) -> None:
        self._one = one
        self.spec = spec

    def amount(self, tree: Tree, path: str, default: int | str) -> int | str:
        """What the last name of the path says in the tree."""
        value = tree.get(path.rpartition(".")[2])
        if value is None:
            return default
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        if isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal():
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        problem = f"{value!r} is not a number of pods, nor a percentage such as 25%"
        raise DecodeError(problem, source=self._one.source, subject=f"{self._one.kind} {self._one.name}", field=path)


def _argo_plan(fields: _Fields, replicas: int) -> RollingPlan:
    strategy = _tree(fields.spec.get("strategy"))
    paused = "it is paused: nothing is replaced" if fields.spec.get("paused") is True else ""
    if isinstance(strategy.get("blueGreen"), Mapping):
        blue_green = _tree(strategy["blueGreen"])
        preview = fields.amount(blue_green, "spec.strategy.blueGreen.previewReplicaCount", 0)
        stages = [Stage("preview", scaled(preview, replicas, up=True), replicas)] if preview else []
        stages += _beside(replicas)
        words = "blue-green, the new version beside the old one"
        return RollingPlan(words, replicas, tuple(stages), None, hash_label=ARGO_HASH, remark=paused)
    canary = _tree(strategy.get("canary"))
    steps = [step for step in canary.get("steps") or () if isinstance(step, Mapping)]
    if isinstance(canary.get("trafficRouting"), Mapping):
        is_dynamic = canary.get("dynamicStableScale") is True
        stages = [*_routed_stages(fields, steps, replicas, is_dynamic=is_dynamic), *_beside(replicas)]
        words = "canary with traffic routing, the new version beside the old one"
        return RollingPlan(words, replicas, tuple(stages), None, hash_label=ARGO_HASH, remark=paused)
    most = fields.amount(canary, "spec.strategy.canary.maxSurge", "25%")
    fewer = fields.amount(canary, "spec.strategy.canary.maxUnavailable", "25%")
    surge, unavailable = scaled(most, replicas, up=True), min(scaled(fewer, replicas, up=False), replicas)
    if not surge and not unavailable:
        unavailable = 1
    weights = [step["setWeight"] for step in steps if isinstance(step.get("setWeight"), int)]
    stages = [Stage(f"setWeight {weight}", *canary_counts(replicas, weight, surge)) for weight in weights]
    stages.append(Stage("promoted" if weights else "", replicas, 0))
    words = f"canary, maxSurge {most}, maxUnavailable {fewer}" + (f"; {PROMOTED}" if weights else "")
    return RollingPlan(words, replicas, tuple(stages), surge, unavailable, ARGO_HASH, remark=paused)


def _beside(replicas: int) -> list[Stage]:
    """All of the new version are there before any of the old one goes."""
    return [Stage("all of the new version", replicas, replicas), Stage("promoted", replicas, 0)]


def _routed_stages(fields: _Fields, steps: list[Tree], replicas: int, *, is_dynamic: bool) -> Iterator[Stage]:
    """With traffic routing, weights move traffic and not pods: the old version stays whole unless it may shrink."""
    scale: int | None = None
    for step in steps:
        own = step.get("setCanaryScale")
        if isinstance(own, Mapping):
            scale = None
            if own.get("replicas") is not None:
                scale = scaled(fields.amount(own, "setCanaryScale.replicas", 0), replicas, up=True)
            elif isinstance(own.get("weight"), int):
                scale = -(-replicas * own["weight"] // 100)
            if scale is not None:
                yield Stage("setCanaryScale", scale, replicas)
        elif isinstance(weight := step.get("setWeight"), int):
            old = -(-replicas * (100 - weight) // 100) if is_dynamic else replicas
            yield Stage(f"setWeight {weight}", -(-replicas * weight // 100) if scale is None else scale, old)


def canary_counts(replicas: int, weight: int, surge: int) -> tuple[int, int]:
    """New and old pods that come closest to a weight; with surge there may be one more than `replicas`.

    Neither version is left without any while the weight is between 0 and 100, if there are two pods to share.
    """
    if not replicas:
        return 0, 0
    exact = replicas * weight
    up, down = -(-exact // 100), exact // 100
    may_vanish = weight in (0, 100) or (replicas == 1 and not surge)
    choices = [(up, replicas)] if up < replicas or may_vanish else []
    for total in (replicas, replicas + 1) if surge else (replicas,):
        if total > replicas:
            choices.append((up, total))
        is_tied = total * weight % 100 == 50
        if not is_tied and (down or may_vanish):
            choices.append((down, total))
    if not choices:
        return 0, replicas
    new, total = min(choices, key=lambda one: abs(one[0] * 100 / one[1] - weight))
    return new, total - new


def _clone_set_plan(fields: _Fields, replicas: int) -> RollingPlan:
    update = _tree(fields.spec.get("updateStrategy"))
    path = "spec.updateStrategy"
    most = fields.amount(update, f"{path}.maxSurge", 0)
    fewer = fields.amount(update, f"{path}.maxUnavailable", "20%")
    kept = fields.amount(update, f"{path}.partition", 0)
    surge = scaled(most, replicas, up=True)
    unavailable = min(scaled(fewer, replicas, up=not surge), replicas)
    if not surge and not unavailable:
        unavailable = 1
    partition = min(scaled(kept, replicas, up=True), replicas)
    kind = str(update.get("type") or "ReCreate")
    remark = "it is paused: nothing is replaced" if update.get("paused") is True else ""
    words = f"{kind}, partition {kept}, maxSurge {most}, maxUnavailable {fewer}"
    stages = (Stage("", replicas - partition, partition),)
    return RollingPlan(
        words, replicas, stages, surge, unavailable, is_in_place=kind.startswith("InPlace"), remark=remark
    )


def _tree(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}
