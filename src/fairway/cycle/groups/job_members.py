"""The members of a job that wait: which of them are alike, what it takes to start, and in which order they are tried.

In: a job's book and spec, and the members that wait. Out: a `JobNeeds`, how many more have to be placed and of which
task; and the members' `Kind`s, equal members of one task, with how many of each every row could hold (`job_slots`).
The order does not depend on who came first: what a task needs comes first, then whoever takes the largest share of
anything in the cluster, then who fits on fewer nodes. Small members first would leave no node for the large ones.
Called by `job_cycle`.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import PodClass
from fairway.cluster.groups import GroupBook
from fairway.cycle.groups.job_slots import slots_by_row
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["JobNeeds", "Kind", "kinds_of", "order_members", "task_of"]

TASK: Final = "volcano.sh/task-spec"
LONG_AGO: Final = dt.datetime.min.replace(tzinfo=dt.UTC)


@dataclass(slots=True, eq=False)
class Kind:
    """Members that are alike: one class, one task. Which of them goes where makes no difference."""

    pod_class: PodClass
    task: str
    pods: list[Pod]
    slots: NDArray[np.int64]  # (num_rows,) how many of them each row could hold, by amounts
    num_rows: int = 0  # rows with room for one at least; where there are several kinds
    share: float = 0.0  # the largest part that one of them takes of anything the cluster has; likewise

    def __len__(self) -> int:
        return len(self.pods)


@dataclass(slots=True, frozen=True)
class JobNeeds:
    """What it takes to start, less what has a node already."""

    num_needed: int  # below 1: it has started
    tasks: Mapping[str, int] = field(default_factory=dict)  # members of each task that are still needed

    @classmethod
    def of(cls, group: GroupBook, spec: GroupSpec) -> JobNeeds:
        """Those that are assumed or bound count."""
        placed = Counter(task_of(group.pods[uid]) for uid in (*group.bound, *group.assumed))
        tasks = {task: least - placed[task] for task, least in spec.task_minimums.items() if least > placed[task]}
        return cls(spec.min_count - group.num_scheduled, tasks)

    def is_met(self, placed: Mapping[str, int], total: int) -> bool:
        """Are so many placed members, by task and in all, enough?"""
        return total >= self.num_needed and all(placed.get(task, 0) >= least for task, least in self.tasks.items())

    def num_missing(self, placed: Mapping[str, int], total: int) -> int:
        """How many more it takes."""
        of_tasks = sum(max(least - placed.get(task, 0), 0) for task, least in self.tasks.items())
        return max(self.num_needed - total, of_tasks, 0)


def task_of(pod: Pod) -> str:
    """What a member is for, where its users tell members apart."""
    return pod.metadata.annotations.get(TASK, "")


def kinds_of(profile: Profile, pods: Iterable[Pod], one_per_node: bool) -> list[Kind]:
    """Equal members put together; all of it in the order in which they are tried."""
    found: dict[tuple[PodClass, str], list[Pod]] = {}
    for pod in pods:
        found.setdefault((profile.classify(pod), task_of(pod)), []).append(pod)
    slots: dict[PodClass, NDArray[np.int64]] = {}
    kinds = []
    for (pod_class, task), alike in found.items():
        if pod_class not in slots:
            slots[pod_class] = slots_by_row(profile, pod_class, 1 if one_per_node else None)
        kinds.append(Kind(pod_class, task, sorted(alike, key=_turn), slots[pod_class]))
    if len(kinds) > 1:
        _measure(profile, kinds)
    return sorted(kinds, key=lambda kind: (-kind.share, kind.num_rows, _turn(kind.pods[0])))


def _measure(profile: Profile, kinds: Sequence[Kind]) -> None:
    """Find out how large they are, and how choosy."""
    table = profile.cluster.nodes
    total = np.maximum(table.allocatable[: table.num_rows].sum(axis=0), 1)  # (num_resources,)
    for kind in kinds:
        kind.num_rows = int(np.count_nonzero(kind.slots))
        kind.share = float((kind.pod_class.amounts / total[kind.pod_class.columns]).max())


def order_members(kinds: Sequence[Kind], needs: JobNeeds) -> list[tuple[Pod, Kind]]:
    """All members, in the order in which they are tried; the kinds stand in theirs."""
    order: list[tuple[Pod, Kind]] = []
    for _, same in itertools.groupby(kinds, key=lambda kind: (kind.share, kind.num_rows)):
        like = list(same)
        members = [(pod, kind) for kind in like for pod in kind.pods]
        order += members if len(like) == 1 else sorted(members, key=lambda member: _turn(member[0]))
    if not needs.tasks:
        return order
    first: list[tuple[Pod, Kind]] = []
    others: list[tuple[Pod, Kind]] = []
    left = dict(needs.tasks)
    for pod, kind in order:
        is_required = left.get(kind.task, 0) > 0
        if is_required:
            left[kind.task] -= 1
        (first if is_required else others).append((pod, kind))
    return [*first, *others]


def _turn(pod: Pod) -> tuple[int, dt.datetime, str, str]:
    """Who comes first of members that take the same: the more important, the older, the first by name."""
    meta = pod.metadata
    return -pod.priority, meta.creation_timestamp or LONG_AGO, meta.name, meta.uid
