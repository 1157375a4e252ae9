"""Room for a whole group: which less important pods, and groups of pods, would have to go.

In: a group that does not fit, and a way to try it again. Out: the victims, or why there are none. All that is less
important is imagined gone; if the group then fits, it is let back one by one, those whose disruption budget would be
violated first, the most important first, and what keeps the group from fitting has to go. A group that is disrupted as
a whole goes or stays as a whole. kube-scheduler 1.36, framework/preemption/podgrouppreemption.go and types.go. Called
by `pod_group_cycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fairway.cluster import Placed
from fairway.cluster.groups import GroupBook
from fairway.cycle.budgets import violates_budget
from fairway.cycle.groups.members_cycle import GroupVerdict, MembersResult
from fairway.model import Pod
from fairway.model.group import GroupSpec, Spelling

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["GroupPreemption", "preempt_for_group"]

NEVER: Final = "not eligible due to preemptionPolicy=Never."
NO_VICTIMS: Final = "No preemption victims found for incoming preemptor"
CONSTRAINED: Final = "workload aware preemption is not supported for pod groups with scheduling constraints"
UNREGISTERED: Final = "default preemption plugin is not registered, workload aware preemption is disabled"


@dataclass(slots=True)
class GroupPreemption:
    """Who has to go; or, where nobody does, what is said about it."""

    victims: list[Pod] = field(default_factory=list)
    refusal: str = ""
    error: str = ""


@dataclass(slots=True)
class _Unit:
    """Pods that go together."""

    placed: list[Placed]
    priority: int
    is_of_group: bool  # does it, be it a single pod, belong to a group?
    started: float  # of the first of them that was met

    @property
    def importance(self) -> tuple[float, ...]:
        """Less is more important: `moreImportantVictim`."""
        size = -len(self.placed) if self.is_of_group else 0
        return (-self.priority, not self.is_of_group, size, self.started)


def preempt_for_group(
    profile: Profile, group: GroupBook, spec: GroupSpec, pods: Sequence[Pod], try_again: Callable[[], MembersResult]
) -> GroupPreemption:
    """Whom to evict so that the group fits; `try_again` tries it on the cluster as it is imagined."""
    if not any(plugin.name == "DefaultPreemption" for plugin in profile.post_filters):
        return GroupPreemption(refusal=UNREGISTERED)
    if spec.topology is not None:
        return GroupPreemption(refusal=CONSTRAINED)
    if any(pod.spec.preemption_policy == "Never" for pod in pods):
        return GroupPreemption(refusal=NEVER)
    priority = _priority(group, spec)
    units = [unit for unit in _units(profile) if unit.priority < priority]
    if not units:
        return GroupPreemption(refusal=NO_VICTIMS)
    cluster = profile.cluster
    with cluster.what_if():
        for unit in units:
            _remove(profile, unit)
        result = try_again()
        if result.verdict is GroupVerdict.ERROR:
            return GroupPreemption(error=result.message)
        if result.verdict is not GroupVerdict.SUCCESS:
            return GroupPreemption(refusal=result.message)
        units.sort(key=lambda unit: unit.importance)
        violating, others = _split_by_budget(profile, units)
        going = []
        for unit in (*violating, *others):
            for placed in unit.placed:
                cluster.place(placed.pod, placed.pod_class, placed.row)
            if try_again().verdict is not GroupVerdict.SUCCESS:
                _remove(profile, unit)
                going.append(unit)
    going.sort(key=lambda unit: unit.importance)
    return GroupPreemption([placed.pod for unit in going for placed in unit.placed])


def _remove(profile: Profile, unit: _Unit) -> None:
    for placed in unit.placed:
        profile.cluster.remove(placed.pod.metadata.uid)


def _priority(group: GroupBook, spec: GroupSpec) -> int:
    """kube-scheduler looks at its own kind of object alone; groups that have no such field are as their members."""
    if spec.priority is not None:
        return spec.priority
    return 0 if spec.spelling is Spelling.KUBE else group.highest_priority


def _units(profile: Profile) -> list[_Unit]:
    """All that runs, in pods or, where a group is disrupted as one, in groups."""
    cluster = profile.cluster
    units: list[_Unit] = []
    whole: dict[GroupBook, _Unit] = {}
    for row in profile.sampler.listed_rows():
        for placed in cluster.pods.on_row(row):
            group = cluster.groups.of(placed.pod.metadata.uid)
            start = placed.pod.status.start_time
            started = profile.now() if start is None else start.timestamp()
            spec = None if group is None else cluster.groups.spec_of(group)
            if group is None or not isinstance(spec, GroupSpec) or spec.disruption != "PodGroup":
                units.append(_Unit([placed], placed.pod.priority, group is not None, started))
            elif group in whole:
                whole[group].placed.append(placed)
            else:
                whole[group] = _Unit([placed], _priority(group, spec), True, started)
                units.append(whole[group])
    return units


def _split_by_budget(profile: Profile, units: list[_Unit]) -> tuple[list[_Unit], list[_Unit]]:
    """(violating, others), each in the order given. Budgets are used up as pods are counted, up to a violation."""
    used: dict[tuple[str, str], int] = {}
    violating: list[_Unit] = []
    others: list[_Unit] = []
    for unit in units:
        violates = any(violates_budget(profile.cluster, placed.pod, used) for placed in unit.placed)
        (violating if violates else others).append(unit)
    return violating, others
