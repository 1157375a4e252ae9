"""The sets of nodes that a job may go to as a whole, the tightest first.

In: a job, how many of its members every row could hold, and where its members are that have a node. Out: `levels_of`,
the labels whose values are tried one after the other, at last perhaps all nodes; and `domains_at`, the values of a
label with room enough by amounts: the smallest first, which keeps large ones whole, then the most used, then by name.
Members that have a node fix the domain. Called by `job_cycle`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import PODS
from fairway.cycle.groups.job_members import JobNeeds, Kind
from fairway.model.group import GroupTopology

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["EVERYWHERE", "JobDomain", "Level", "domains_at", "levels_of", "nearest_domain"]

SlotsOf = Callable[[Kind], NDArray[np.int64]]
"""How many of a kind each row could hold."""


class Level(NamedTuple):
    """A label whose values are domains; "": all nodes are one."""

    key: str
    is_last: bool  # is there nothing to try after it?
    value: str | None = None  # the only one that comes into question, as members are there
    problem: str = ""  # why none does


class JobDomain(NamedTuple):
    """A set of nodes."""

    name: str  # the label's value; "" for all nodes
    rows: NDArray[np.bool_] | None  # (num_rows,); None: all


EVERYWHERE = JobDomain("", None)


def levels_of(profile: Profile, topology: GroupTopology | None, rows: Sequence[int]) -> list[Level]:
    """What is tried, in this order; `rows` are those of members that have a node."""
    if topology is None:
        return [Level("", True)]
    levels = [_level(profile, key, topology.is_required, rows) for key in topology.keys]
    if topology.is_required:
        return levels
    return [*(level for level in levels if not level.problem), Level("", True)]


def _level(profile: Profile, key: str, is_required: bool, rows: Sequence[int]) -> Level:
    column = profile.cluster.nodes.labels.column(key)
    numbers = sorted({int(column.ids[row]) for row in rows})
    if not numbers:
        return Level(key, is_required)
    if numbers[0] < 0:
        return Level(key, is_required, problem=f"members run on nodes without the label {key}")
    names = sorted(str(column.values.values[number]) for number in numbers)
    if len(names) > 1:
        return Level(key, is_required, problem=f"members run in more than one {key}: {', '.join(names)}")
    return Level(key, is_required, value=names[0])


# -- the values of a label ---------------------------------------------------------------------------------------------


class _Sums:
    """What the domains of a level hold, all at once; each (num_values,)."""

    def __init__(
        self, profile: Profile, level: Level, needs: JobNeeds, kinds: Sequence[Kind], slots_of: SlotsOf, once: bool
    ) -> None:
        nodes = profile.cluster.nodes
        self._column = nodes.labels.column(level.key)
        self.ids = self._column.ids[: nodes.num_rows]
        self._rows = np.flatnonzero((self.ids >= 0) & nodes.alive[: nodes.num_rows])
        self._length = len(self._column.values)
        self.num_nodes = self._sum(np.ones(nodes.num_rows, np.int64))
        self.used = self._sum(nodes.requested[: nodes.num_rows, PODS])
        self.slots = np.zeros(self._length, np.int64)
        by_class = {kind.pod_class: slots_of(kind) for kind in kinds}
        total = np.zeros(self._length, np.int64)
        of_task = {task: np.zeros(self._length, np.int64) for task in needs.tasks}
        sums = {pod_class: self._sum(slots) for pod_class, slots in by_class.items()}
        for held in sums.values():
            self.slots += held
        for kind in kinds:
            number = np.minimum(sums[kind.pod_class], len(kind))
            total += number
            if kind.task in of_task:
                of_task[kind.task] += number
        if once:
            is_open = np.logical_or.reduce([slots > 0 for slots in by_class.values()])
            total = np.minimum(total, self._sum(is_open.astype(np.int64)))
        lacking = np.zeros(self._length, np.int64)
        for task, least in needs.tasks.items():
            lacking += np.maximum(least - of_task[task], 0)
        self.missing = np.maximum(np.maximum(needs.num_needed - total, lacking), 0)
        self.is_open = self.num_nodes > 0
        if level.value is not None:
            self.is_open &= np.array([value == level.value for value in self._column.values.values], bool)

    def _sum(self, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        counted = np.bincount(self.ids[self._rows], weights=amounts[self._rows], minlength=self._length)
        return counted.astype(np.int64)

    def name(self, number: int) -> str:
        return str(self._column.values.values[number])

    def domain(self, number: int) -> JobDomain:
        return JobDomain(self.name(number), self.ids == number)


def domains_at(
    profile: Profile, level: Level, needs: JobNeeds, kinds: Sequence[Kind], slots_of: SlotsOf, once: bool, most: int
) -> list[JobDomain]:
    """The domains of a level with room for all that are needed, in the order in which they are tried; at most so many.

    `once`: no two members on a node.
    """
    if level.problem:
        return []
    sums = _Sums(profile, level, needs, kinds, slots_of, once)
    numbers = np.flatnonzero(sums.is_open & (sums.missing == 0)).tolist()
    numbers.sort(key=lambda number: (sums.slots[number], -sums.used[number], sums.name(number)))
    return [sums.domain(number) for number in numbers[:most]]


def nearest_domain(
    profile: Profile, level: Level, needs: JobNeeds, kinds: Sequence[Kind], slots_of: SlotsOf, once: bool
) -> JobDomain | None:
    """The domain that lacks the least; None if there is none at all."""
    if level.problem:
        return None
    sums = _Sums(profile, level, needs, kinds, slots_of, once)
    numbers = np.flatnonzero(sums.is_open).tolist()
    if not numbers:
        return None
    return sums.domain(min(numbers, key=lambda number: (sums.missing[number], -sums.slots[number], sums.name(number))))
