"""A recorded case as the planner sees it, and the plan that the planner makes of it.

In: a `PlanCase`. Out: a `Calendar` with what ran, what was closed and nothing else (`CaseRoom.calendar`), the jobs in
their order, and Fairway's own plan of the whole case (`own_plan`): who starts and who is promised a slot as Slurm's
backfill goes about it (`backfill`), whole nodes booked; then dates for all who are left, also those that it gave up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.conformance.slurm.backfill import run_backfill
from fairway.conformance.slurm.cases import PlanCase, SlurmJob, SlurmWindow
from fairway.plan import (
    BookingMode,
    Calendar,
    ConsecutiveRows,
    Dependency,
    Discipline,
    MemberClass,
    MemberRows,
    QueueRule,
    Replan,
    Slot,
    WaitingJob,
    dates,
    member_need,
    run_pass,
)

__all__ = ["CaseRoom", "OwnPlan", "own_plan", "start_all"]

NOW: Final = 0.0
DOWN: Final = "down"
REASONS: Final = {"maintenance": "Maintenance", "reserved-for-others": "Reserved"}


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """Fairway's plan of a case."""

    calendar: Calendar  # with everybody who started and everybody who is promised a slot
    started: dict[str, Slot]
    promised: dict[str, Slot]
    dated: dict[str, Slot]  # all others that have a date: what is likely if nothing changes
    refused: list[str]

    @property
    def slots(self) -> dict[str, Slot]:
        """Everything that is planned."""
        return self.dated | self.promised | self.started


class CaseRoom:
    """The rows, jobs and times of a case."""

    def __init__(self, case: PlanCase) -> None:
        self.case = case
        self.names = [node.name for node in case.nodes]
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.capacity = np.array([(node.cpus, node.mem_mb, node.gpus) for node in case.nodes], np.int64).reshape(-1, 3)
        self.ordered = sorted(case.pending, key=lambda job: -job.priority)
        self.jobs = {job.id: self._waiting_job(job) for job in self.ordered}
        self.is_up = np.array([node.state == "up" for node in case.nodes], np.bool_)
        self._down = [node.name for node in case.nodes if node.state != "up"]
        self.times = {running.id: (float(running.start), float(running.end)) for running in case.running}

    def calendar(
        self, mode: BookingMode = BookingMode.NODES, *, empty: bool = False, is_closed: bool = True
    ) -> Calendar:
        """What runs, unless it is to be `empty`, and what is closed, unless all of it is to be open."""
        weights = np.array([node.weight for node in self.case.nodes], np.int64)
        calendar = Calendar(self.capacity, NOW, ConsecutiveRows(_positions(self.names), weights, column=0), mode)
        for running in () if empty else self.case.running:
            need = member_need(running.amounts, exclusive=running.exclusive)
            calendar.occupy(running.id, self.rows_of(running.on), need, running.end)
        if not is_closed:
            return calendar
        for number, window in enumerate(self.case.windows):
            calendar.close(_window_key(window, number), self.rows_of(window.on), window.start, window.end)
        calendar.close(DOWN, self.rows_of(self._down), NOW, math.inf)
        return calendar

    @property
    def causes(self) -> dict[str, list[str]]:
        """What is closed, by the reason that jobs are told."""
        keys: dict[str, list[str]] = {reason: [] for reason in REASONS.values()}
        for number, window in enumerate(self.case.windows):
            keys[REASONS[window.kind]].append(_window_key(window, number))
        return {**keys, "NodesUnavailable": [DOWN] if self._down else []}

    def slot(self, key: str, start: float, names: Sequence[str]) -> Slot:
        """A slot as it was recorded."""
        placement = MemberRows(self.rows_of(names), np.ones(len(names), np.int64))
        return Slot(start, start + self.jobs[key].duration, (placement,))

    def rows_of(self, names: Iterable[str]) -> NDArray[np.intp]:
        """The rows of these nodes."""
        return np.array(sorted(self.rows[name] for name in names), np.intp)

    def can_ever_run(self, key: str) -> bool:
        """Are there as many nodes as the job wants, each as large as it needs, whatever their state?"""
        members = self.jobs[key].classes[0]
        return int((self.capacity >= members.need[:-1]).all(axis=1).sum()) >= members.count

    def _waiting_job(self, job: SlurmJob) -> WaitingJob:
        members = MemberClass(member_need(job.amounts, exclusive=job.exclusive), job.nodes, one_per_row=True)
        after = () if job.after is None else (Dependency(job.after.id, on_end=job.after.kind != "after"),)
        begin = -math.inf if job.begin is None else float(job.begin)
        return WaitingJob(job.id, (members,), float(job.limit_s), begin=begin, after=after)


def own_plan(room: CaseRoom) -> OwnPlan:
    """Plan the whole case."""
    calendar = room.calendar()
    refused = [job.id for job in room.ordered if not room.can_ever_run(job.id)]
    waiting = [room.jobs[job.id] for job in room.ordered if job.id not in refused]
    outcome = run_backfill(room, waiting, depth=1 if room.case.mode == "easy" else math.inf)
    started, promised = outcome.started, outcome.booked
    for key, slot in started.items():
        calendar.start(room.jobs[key], slot)
    for key, slot in promised.items():
        calendar.book(room.jobs[key], slot)
    waiting = [job for job in waiting if job.key not in started]
    dated = {key: slot for key, slot in dates(calendar, waiting, _times(room, started)).items() if key not in promised}
    return OwnPlan(calendar, started, promised, dated, refused)


def start_all(room: CaseRoom, calendar: Calendar, jobs: Sequence[WaitingJob]) -> dict[str, Slot]:
    """Passes until nobody starts any more: who started, and where."""
    rules = {"": QueueRule(Discipline.EASY if room.case.mode == "easy" else Discipline.CONSERVATIVE)}
    waiting, started = list(jobs), dict[str, Slot]()
    while outcome := run_pass(calendar, waiting, NOW, rules, _times(room, started), Replan.ANEW).started:
        started |= {job.key: slot for job, slot in outcome}
        waiting = [job for job in waiting if job.key not in started]
    return started


def _times(room: CaseRoom, started: Mapping[str, Slot]) -> dict[str, tuple[float, float]]:
    return room.times | {key: (slot.start, slot.end) for key, slot in started.items()}


def _window_key(window: SlurmWindow, number: int) -> str:
    return f"{window.kind}/{number}"


def _positions(names: Sequence[str]) -> NDArray[np.int64]:
    """Names that differ only in a number that follows are neighbours."""
    keys = []
    for name in names:
        parts = re.fullmatch(r"(.*?)(\d{1,15})", name, re.DOTALL)
        keys.append((parts[1], int(parts[2])) if parts else (name, 0))
    positions = np.zeros(len(names), np.int64)
    position, before = 0, None
    for row in sorted(range(len(names)), key=keys.__getitem__):
        stem, number = keys[row]
        position += 1 if before == (stem, number - 1) else 2
        positions[row], before = position, (stem, number)
    return positions
