"""Windows, reservations and nodes that are down: whom of the waiting jobs they keep from starting now.

In: the jobs that still wait after a pass, in their order, and what is closed for which cause. Out: for each that would
start now without a cause, or that a cause leaves too few nodes for even if nobody were there, its standing:
`Maintenance`, `Reserved` or `NodesUnavailable`. Asked of the calendar as the pass left it, so that if what is named
goes away, the job starts in the next one. Where nothing has happened since, or on large machines not long ago, the
answer is the one before. Called by the desk; where nothing is closed it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from fairway.batch.job import BatchJob
from fairway.batch.machine import Machine
from fairway.batch.reasons import JobStanding, JobState, Reason
from fairway.batch.upkeep.upkeep import ClosingCause, Upkeep
from fairway.plan import Calendar, Obstacles, QueueRule, Replan, Steps, WaitingJob, pass_steps
from fairway.words import nodes_text, time_text

__all__ = ["Obstructions"]

MANY: Final = 1 << 16
"""From so many jobs times nodes on a machine is large."""
PATIENCE: Final = 300.0
"""After so many seconds it is asked again though nothing has happened: what is to come has come closer."""
LARGE_PATIENCE: Final = 30.0
"""On large machines it is not asked more often than this, unless something else is closed."""


class _Asked(NamedTuple):
    """When it was last asked, and what there was."""

    time: float = -math.inf
    causes: Sequence[ClosingCause] = ()
    state: object = None


class Obstructions:
    """Says whom."""

    def __init__(self, machine: Machine, upkeep: Upkeep) -> None:
        self._machine = machine
        self._upkeep = upkeep
        self._known: dict[str, JobStanding] = {}
        self._asked = _Asked()

    def standings(
        self, left: Sequence[BatchJob], now: float, rules: Mapping[str, QueueRule], replan: Replan
    ) -> Steps[dict[str, JobStanding]]:
        """By key, of those that are stopped; worked out in steps."""
        if not left or not self._upkeep.causes(math.inf):
            return {}
        plans = [job.plan for job in left if job.plan is not None]
        if not plans:
            return {}
        until = now + max(plan.duration for plan in plans)
        found_causes = self._upkeep.causes(until)
        if not found_causes:
            return {}
        if self._is_known(plans, found_causes, now):
            return {plan.key: self._known[plan.key] for plan in plans if plan.key in self._known}
        causes = {str(number): cause for number, cause in enumerate(found_causes)}

        def starts(calendar: Calendar) -> Steps[Collection[str]]:
            outcome = yield from pass_steps(calendar, plans, now, rules, replan=replan)
            return {each.job.key for each in outcome.started}

        keys = {number: cause.keys for number, cause in causes.items()}
        obstacles = yield from Obstacles.steps(self._machine.calendar, self._machine.deserted(), keys, starts)
        found = {}
        for plan in plans:
            if (number := obstacles.cause(plan)) is not None:
                found[plan.key] = _standing(causes[number], plan, now, self._upkeep.wall_offset)
            yield
        self._known = found
        return found

    def _is_known(self, plans: Sequence[WaitingJob], causes: list[ClosingCause], now: float) -> bool:
        """Was that asked already, and has nothing happened since but time, or not long ago on a large machine?"""
        machine, former = self._machine, self._asked
        starts = {key: promise.slot.start for key, promise in machine.calendar.promises.items()}
        state = (machine.num_moves, frozenset(plan.key for plan in plans), starts)
        is_recent = now < former.time + PATIENCE and causes == former.causes
        is_same = is_recent and former.state == state
        is_large = len(plans) * machine.calendar.timeline.num_rows > MANY
        if is_same or (is_large and is_recent and now < former.time + LARGE_PATIENCE):
            return True
        self._asked = _Asked(now, causes, state)
        return False


def _standing(cause: ClosingCause, plan: WaitingJob, now: float, wall_offset: float) -> JobStanding:
    if cause.reason is Reason.NODES_UNAVAILABLE:
        number = len(cause.keys)
        are = "is" if number == 1 else "are"
        words = (
            f"{nodes_text(number)} {are} down or cordoned; it would start now with {'it' if number == 1 else 'them'}"
        )
        return JobStanding(JobState.QUEUED, cause.reason, {"nodes": number}, words)
    kind = "window" if cause.reason is Reason.MAINTENANCE else "reservation"
    what = "maintenance" if cause.reason is Reason.MAINTENANCE else "reservation"
    start, end = (time_text(time + wall_offset) for time in (cause.start, cause.end))
    if cause.start <= now:
        words = f"{what} {cause.name} until {end}: it would start now without it"
    else:
        limit = "has no limit" if plan.duration == math.inf else "would reach into it"
        words = f"{what} {cause.name} from {start} to {end}: it {limit}"
    detail = {kind: cause.name, "start": cause.start, "end": cause.end}
    return JobStanding(JobState.QUEUED, cause.reason, detail, words)
