"""Limits are changed: longer ones if nobody is harmed by it, shorter ones always.

In: a job, the limit that is asked for, by its owner or an operator; the calendar, the queue's rules, what its account
can pay, what is closed when. Out: an `ExtensionAnswer`; of one that is granted, one write of the job's record, and the
machine knows the new end. A job that waits has the limit that is asked for if its queue allows it. Called by the duty
of orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from fairway.batch.closings import Closing
from fairway.batch.duties.accounting import Accounting
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.extension import (
    ExtensionAnswer,
    ExtensionRequest,
    ExtensionTerms,
    Hindrance,
    RunningUse,
    judge_extension,
)
from fairway.batch.job import BatchJob
from fairway.batch.limits import granted_limit
from fairway.batch.lodgers import Lodgers
from fairway.batch.machine import occupant_key
from fairway.batch.quotas.quotas import Quotas, use_key
from fairway.plan import Calendar
from fairway.words import length_text

__all__ = ["Closed", "Extending"]

MINUTE: Final = 60.0


class Closed(NamedTuple):
    """What is closed when, and what of it is open to one job."""

    closings: Sequence[Closing] = ()
    may_enter: Sequence[str] = ()  # keys in the calendar


class Extending:
    """Judges changes of limits, and makes them."""

    def __init__(
        self, desk: DutyDesk, accounting: Accounting, quotas: Quotas, closed: Callable[[BatchJob], Closed]
    ) -> None:
        """`closed`: windows and reservations, as they are for a job."""
        self._desk = desk
        self._accounting = accounting
        self._quotas = quotas
        self._lodgers = Lodgers(desk)
        self.closed = closed

    def change(self, job: BatchJob, asked: float, *, by_owner: bool = False) -> ExtensionAnswer | None:
        """Judge the limit that is asked for and, if it is granted, let it be so; None: not now, as the job begins."""
        now = self._desk.world.now()
        use = self._use(job)
        if use is None:
            return None if job.is_released or job.started is not None else self._change_waiting(job, asked, now)
        answer, _ = self._judge(job, use, asked, by_owner, now)
        if answer.is_granted:
            self._grant(job, answer)
        return answer

    def judge(self, job: BatchJob, asked: float, *, by_owner: bool = False) -> ExtensionAnswer | None:
        """The same, changing nothing; None: the job does not run."""
        use = self._use(job)
        return None if use is None else self._judge(job, use, asked, by_owner, self._desk.world.now())[0]

    # -- jobs that run -----------------------------------------------------------------------------------------------

    def _use(self, job: BatchJob) -> RunningUse | None:
        """What the job takes; None: it is nowhere yet."""
        machine = self._desk.machine
        occupants = [found for uid in job.members if (found := machine.occupant(uid)) is not None]
        if not occupants:
            return None
        takings = [(np.array([each.row], np.intp), each.amounts) for each in occupants]
        known = self._quotas.uses.get(job.key)
        shares = () if known is None else self._quotas.shares_of(known)
        return RunningUse(job.key, takings, self._lodgers.end(job), shares)

    def _judge(
        self, job: BatchJob, use: RunningUse, asked: float, by_owner: bool, now: float
    ) -> tuple[ExtensionAnswer, Calendar]:
        desk = self._desk
        spec = desk.settings.spec_of(job.queue)
        limit = granted_limit(job, spec.limits)
        closed = self.closed(job)
        consumed = job.consumed(now)
        first = job.ledger.first_limit
        request = ExtensionRequest(
            use,
            limit,
            asked,
            consumed,
            limit if first is None else first,
            job.priority,
            by_owner,
            (*closed.may_enter, *desk.machine.unusable_keys),
        )
        calendar = self._as_one(job, use)
        terms = ExtensionTerms(
            spec.limits,
            spec.extension,
            lambda: max(self._accounting.affordable(job, now) - max(limit - consumed, 0.0), 0.0),
            closed.closings,
            {key: desk.book.jobs[key].priority for key in calendar.promises},
        )
        return judge_extension(calendar, request, terms), calendar

    def _as_one(self, job: BatchJob, use: RunningUse) -> Calendar:
        """The calendar as it is, but that the whole job stands in it under its own key."""
        calendar = self._desk.machine.calendar.without([*map(occupant_key, job.members), use_key(job.key)])
        for rows, amounts in use.takings:
            calendar.occupy(use.key, rows, amounts, use.end)
        calendar.allowances.take(use.key, use.shares, calendar.now, use.end)
        return calendar

    def _grant(self, job: BatchJob, answer: ExtensionAnswer) -> None:
        desk = self._desk
        job.ledger.granted_limit = answer.limit
        desk.world.write_record(job)
        end = self._lodgers.end(job)
        for uid in job.members:
            if (known := desk.machine.occupant(uid)) is not None:
                desk.machine.occupy(uid, known.row, known.amounts, end)
        for key in answer.delayed:
            desk.machine.calendar.remove(key)
        desk.is_due = True

    # -- jobs that wait ----------------------------------------------------------------------------------------------

    def _change_waiting(self, job: BatchJob, asked: float, now: float) -> ExtensionAnswer:
        limits = self._desk.settings.spec_of(job.queue).limits
        before = granted_limit(job, limits)
        most = math.inf if limits.max is None else float(limits.max)
        if asked > max(most, before):
            words = f"refused: queue {job.queue} allows at most {length_text(most)}"
            return ExtensionAnswer(False, before, max(most, before), Hindrance("limits.max"), (), words)
        limit = max(asked, min(job.consumed(now) + MINUTE, before))
        job.ledger.granted_limit = limit
        job.plan, job.is_clear = None, False
        self._desk.machine.calendar.remove(job.key)
        self._desk.world.write_record(job)
        self._desk.is_due = True
        words = f"granted: its limit is {length_text(limit)} from now on"
        return ExtensionAnswer(True, limit, max(most, before, limit), None, (), words)
