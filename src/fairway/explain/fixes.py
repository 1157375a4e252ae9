"""What would let a pod fit: relaxations that were tried and found to work.

In: a trial at the moment when the pod fits nowhere. Out: `Fix`es, each with the nodes that would fit now. Every one
was found by running the cycle again on the relaxed pod; nothing is proposed unseen. One change at a time first; only
when no single one helps, two together; and so many more nodes of a kind that is there. Called by `why`, and by a
running scheduler that is asked (`scheduler_answer`), which goes on with its pods between two steps of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from fairway.cycle import Inspection, Profile
from fairway.explain.more_nodes import MoreNodes, Steps, more_nodes_steps, run_through
from fairway.explain.relaxations import relaxations
from fairway.explain.trial import Trial
from fairway.kinds.controllers import Wanted
from fairway.model import PersistentVolumeClaim, Pod, PodSpec, PriorityClass
from fairway.plugin import Relaxation
from fairway.words import nodes_text

__all__ = ["Fix", "find_fixes", "fix_document", "fix_line", "fix_steps"]

MAX_RUNS: Final = 400
"""So many times the cycle is run again before the search for pairs ends."""


class Fix(NamedTuple):
    """What to change, and where the pod would then fit."""

    words: tuple[str, ...]
    nodes: tuple[str, ...]
    evicts: tuple[str, ...] = ()  # pods that would have to go
    joins: MoreNodes | None = None  # nodes that would have to come


def find_fixes(trial: Trial, profile: Profile, pod: Pod, wanted: Wanted, inspection: Inspection) -> list[Fix]:
    """The fixes, those with the most nodes first."""

    def with_siblings(relaxed: Relaxation) -> Fix | None:
        nodes = _nodes_with_siblings(trial, pod, wanted, relaxed.pod.spec) if wanted.num_pods > 1 else []
        return Fix((f"{relaxed.words}, in all of {wanted.title}",), tuple(nodes)) if nodes else None

    return run_through(fix_steps(profile, pod, inspection, with_siblings))


def fix_steps(
    profile: Profile,
    pod: Pod,
    inspection: Inspection,
    with_siblings: Callable[[Relaxation], Fix | None] = lambda relaxed: None,
    classes: Iterable[PriorityClass] | None = None,
) -> Steps[list[Fix]]:
    """The search in steps; the cluster may change between two of them. `classes`: None for the cluster's own."""
    tried: list[tuple[Relaxation, Inspection]] = []
    for relaxed in list(_relaxed(profile, pod, inspection)):
        if (yield) is False:
            return _single(tried)
        tried.append((relaxed, profile.inspect(relaxed.pod)))
    fixes = _single(tried)
    for relaxed, then in tried:
        if relaxed.binds_siblings and not then.feasible and (fix := with_siblings(relaxed)) is not None:
            fixes.append(fix)
    if not fixes:
        fixes = yield from _pair_steps(profile, [relaxed for relaxed, _ in tried])
    known = profile.cluster.workloads.priority_classes.values() if classes is None else classes
    fixes += yield from _priority_steps(profile, pod, known)
    if (joins := (yield from more_nodes_steps(profile, pod))) is not None:
        fixes.append(Fix((f"{nodes_text(joins.number)} more like {joins.like}",), (), joins=joins))
    return sorted(fixes, key=lambda fix: (bool(fix.evicts), fix.joins is not None, -len(fix.nodes), fix.words))


def _single(tried: Sequence[tuple[Relaxation, Inspection]]) -> list[Fix]:
    """The changes that help, each by itself."""
    return [Fix((relaxed.words,), tuple(then.feasible)) for relaxed, then in tried if then.feasible]


def fix_line(fix: Fix) -> str:
    """For people: `zone=eu-2 as well → 19 nodes fit now`."""
    words = " and ".join(fix.words)
    if fix.joins is not None:
        return f"{words} → fits"
    if fix.evicts:
        return f"{words} → fits on {fix.nodes[0]} after evicting {', '.join(fix.evicts)}"
    return f"{words} → {nodes_text(len(fix.nodes))} fit{'s' if len(fix.nodes) == 1 else ''} now"


def fix_document(fix: Fix) -> dict[str, Any]:
    """For programs."""
    document = {
        "words": fix_line(fix),
        "changes": list(fix.words),
        "nodes": list(fix.nodes),
        "evicts": list(fix.evicts),
    }
    if fix.joins is None:
        return document
    return {**document, "moreNodes": {"number": fix.joins.number, "like": fix.joins.like}}


def _relaxed(profile: Profile, pod: Pod, inspection: Inspection) -> Iterator[Relaxation]:
    if inspection.diagnosis is not None:
        yield from relaxations(profile, pod, inspection.diagnosis)


def _pair_steps(profile: Profile, tried: Sequence[Relaxation]) -> Steps[list[Fix]]:
    """Relax what still refuses nodes after one relaxation, too."""
    fixes: list[Fix] = []
    runs = 0
    seen: set[frozenset[str]] = set()
    for first in tried:
        # Looked at anew: the rows of the first look may be other nodes by now.
        for second in list(_relaxed(profile, first.pod, profile.inspect(first.pod))):
            words = frozenset((first.words, second.words))
            if words in seen or len(words) == 1 or runs == MAX_RUNS:
                continue
            seen.add(words)
            runs += 1
            feasible = profile.inspect(second.pod).feasible
            if feasible:
                fixes.append(Fix((first.words, second.words), tuple(feasible)))
            if (yield) is False:
                return fixes
    return fixes


def _nodes_with_siblings(trial: Trial, pod: Pod, wanted: Wanted, spec: PodSpec) -> list[str]:
    """The nodes that fit in the same trial if all pods of the controller were as this one would be."""

    def make(index: int) -> tuple[Pod, tuple[PersistentVolumeClaim, ...]]:
        made, claims = wanted.make(index)
        relaxed = msgspec.structs.replace(spec, volumes=made.spec.volumes)  # which may be each pod's own
        return msgspec.structs.replace(made, spec=relaxed), claims

    again = trial.again({wanted.title: replace(wanted, make=make)})
    for other, its_wanted in again.queue():
        if other.key == pod.key:
            profile = again.profile_of(other)
            return profile.inspect(other).feasible if profile is not None else []
        again.place(other, its_wanted)
    return []


def _priority_steps(profile: Profile, pod: Pod, known: Iterable[PriorityClass]) -> Steps[list[Fix]]:
    """A more important class of those, if that would make room: the least important one that does.

    Who would have to evict its own siblings is not helped.
    """
    own = pod.metadata.controller
    for priority_class in sorted(known, key=lambda one: (one.value, one.metadata.name)):
        if priority_class.value <= pod.priority or priority_class.preemption_policy == "Never":
            continue
        if (yield) is False:
            return []
        name = priority_class.metadata.name
        spec = msgspec.structs.replace(
            pod.spec, priority=priority_class.value, priority_class_name=name, preemption_policy="PreemptLowerPriority"
        )
        preemption = profile.decide(msgspec.structs.replace(pod, spec=spec)).preemption
        if preemption is None or preemption.chosen is None:
            continue
        victims = preemption.chosen.victims
        if own is None or all(victim.metadata.controller != own for victim in victims):
            node = profile.cluster.nodes.names[preemption.chosen.row]
            return [Fix((f"priorityClassName: {name}",), (node,), tuple(victim.key for victim in victims))]
    return []
