"""The quick no: a job for which there is no room even by amounts alone, each kind with all nodes to itself.

In: what a job needs, its kinds of members, and the rows that come into question. Out: `JobRoom`, how many of each kind
every row could hold, now or if nothing ran there; and the failure of a job that lacks room by this count, with the
number that lacks. Most attempts that fail end here. Called by `job_cycle`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cycle.decision import Decision, Outcome
from fairway.cycle.groups.job_domains import EVERYWHERE, JobDomain, Level, domains_at, nearest_domain
from fairway.cycle.groups.job_members import JobNeeds, Kind
from fairway.cycle.groups.job_slots import FIT, empty_slots_by_row, shortage
from fairway.cycle.groups.job_words import JobFailure

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["JobRoom"]


class JobRoom:
    """Room for a job's members, by amounts."""

    def __init__(
        self, profile: Profile, needs: JobNeeds, kinds: Sequence[Kind], one_per_node: bool, taken_rows: Sequence[int]
    ) -> None:
        """`taken_rows` are those of members that have a node."""
        self._profile = profile
        self._needs = needs
        self._kinds = kinds
        self._is_once = one_per_node
        self._taken_rows = list(taken_rows) if one_per_node else []
        self._empty: dict[Kind, NDArray[np.int64]] = {}

    def domains(self, level: Level, most: int) -> list[JobDomain]:
        """Where there may be room for all, at most so many."""
        if not level.key:
            return [] if self._missing(EVERYWHERE, False) else [EVERYWHERE]
        return domains_at(self._profile, level, self._needs, self._kinds, self._slots_now, self._is_once, most)

    def fail(self, level: Level) -> JobFailure:
        """Why there is none at a level: what lacks in the domain that lacks the least."""
        for is_empty in (True, False):  # what can never be is said first
            domain = self.nearest(level, is_empty)
            if domain is None:
                return self._fail_without_nodes(level)
            if missing := self._missing(domain, is_empty):
                return self._fail_in(level, domain, missing, is_empty)
        raise AssertionError("there is room")

    def nearest(self, level: Level, is_empty: bool = False) -> JobDomain | None:
        """The domain that lacks the least."""
        if not level.key:
            return EVERYWHERE
        slots_of = self._slots_empty if is_empty else self._slots_now
        return nearest_domain(self._profile, level, self._needs, self._kinds, slots_of, self._is_once)

    def _fail_without_nodes(self, level: Level) -> JobFailure:
        kind = self._kinds[0]
        words = level.problem or f"no node has the label {level.key}"
        blamed = frozenset(plugin.name for plugin in self._profile.filters if plugin.name in (FIT, "NodeAffinity"))
        decision = Decision(kind.pods[0], kind.pod_class, Outcome.UNSCHEDULABLE, words=words)
        decision.unschedulable_plugins = blamed
        return JobFailure(decision, self._needs.num_missing({}, 0))

    def _fail_in(self, level: Level, domain: JobDomain, missing: int, is_empty: bool) -> JobFailure:
        slots = {kind: self._slots_in(kind, domain, is_empty) for kind in self._kinds}
        kind = next((kind for kind in self._kinds if int(slots[kind].sum()) < len(kind)), self._kinds[0])
        number = min(int(slots[kind].sum()), len(kind) - 1)
        diagnosis = shortage(self._profile, kind.pod_class, slots[kind], domain.rows, is_empty)
        decision = Decision(kind.pods[number], kind.pod_class, Outcome.UNSCHEDULABLE, diagnosis=diagnosis)
        fit = {FIT} if any(plugin.name == FIT for plugin in self._profile.filters) else set()
        decision.unschedulable_plugins = diagnosis.unschedulable_plugins | fit
        return JobFailure(decision, missing, never_fits=is_empty, level=level.key, domain=domain.name)

    # -- counting ------------------------------------------------------------------------------------------------------

    def _missing(self, domain: JobDomain, is_empty: bool) -> int:
        """How many lack at least."""
        placed: Counter[str] = Counter()
        total = 0
        is_open: NDArray[np.bool_] | None = None
        for kind in self._kinds:
            slots = self._slots_in(kind, domain, is_empty)
            number = min(int(slots.sum()), len(kind))
            placed[kind.task] += number
            total += number
            if self._is_once:
                is_open = slots > 0 if is_open is None else is_open | (slots > 0)
        if is_open is not None:
            total = min(total, int(np.count_nonzero(is_open)))
        return self._needs.num_missing(placed, total)

    def _slots_in(self, kind: Kind, domain: JobDomain, is_empty: bool) -> NDArray[np.int64]:
        slots = self._slots_empty(kind) if is_empty else self._slots_now(kind)
        return slots if domain.rows is None else slots * domain.rows

    def _slots_now(self, kind: Kind) -> NDArray[np.int64]:
        if not self._taken_rows:
            return kind.slots
        slots = kind.slots.copy()
        slots[self._taken_rows] = 0
        return slots

    def _slots_empty(self, kind: Kind) -> NDArray[np.int64]:
        if kind not in self._empty:
            self._empty[kind] = empty_slots_by_row(self._profile, kind.pod_class, 1 if self._is_once else None)
        return self._empty[kind]
