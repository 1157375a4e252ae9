"""Promises outlive the desk: what is booked for jobs is written down, and booked again by whoever comes after.

In: the calendar after each pass, and what is written down of jobs (`Booking` of the ledger). Out: a write for each job
whose booking is another one now (`note`), in the order in which room changed hands, and before anybody is let go: so
what is written down fits together wherever the desk is killed. And once, in the first pass of a new desk (`restore`),
the same slots on the same nodes; whoever has no room there any more, because a node is gone or others are there, has
the next one. A job that was let go keeps its booking until it has nodes. Called by the desk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob, Booking
from fairway.batch.planned_jobs import PlannedJobs
from fairway.batch.quotas.quotas import Quotas
from fairway.plan import MemberRows, PassOutcome, Promise, Slot, Steps, WaitingJob, only_at

__all__ = ["PromiseKeeping"]


class PromiseKeeping:
    """Writes down what is promised, and keeps what others promised."""

    def __init__(self, desk: DutyDesk, planned: PlannedJobs, quotas: Quotas) -> None:
        self._desk = desk
        self._planned = planned
        self._quotas = quotas
        self._is_wanted = desk.world.keeps_promises
        self._noted: dict[str, Promise | None] = {}  # by key, as it was last; None: by another desk
        self._has_to_restore = False

    def resume(self) -> None:
        """All that is there was heard of: what was promised to those who wait is booked in the next pass."""
        self._noted = dict.fromkeys(job.key for job in self._desk.book if job.ledger.booking is not None)
        self._has_to_restore = bool(self._noted)

    # -- what was promised before --------------------------------------------------------------------------------------

    def restore(self) -> Steps[None]:
        """Once: book for those who wait what was booked for them, the first dates first; in steps."""
        if not self._has_to_restore:
            return
        desk, calendar = self._desk, self._desk.machine.calendar
        num_rows = calendar.timeline.num_rows
        calendar.lacks_promises = True
        self._quotas.look()
        self._planned.refresh(desk.book.jobs)
        kept = [
            (job.ledger.booking, self._planned.plan_of(job, desk.scheduler.profiles), job.number)
            for job in desk.book
            if job.ledger.booking is not None
            and not job.is_released
            and job.waiting
            and job.queue in desk.settings.queues
            and job.key not in calendar.promises
        ]
        for booking, plan, _ in sorted(kept, key=lambda each: (each[0].start, each[2])):
            slot = self._slot(plan, booking)
            there = None if slot is None else only_at(plan, slot, num_rows)
            if there is None or slot is None or calendar.search(there, slot.start, slot.start) is None:
                slot = calendar.search(plan)
            if slot is not None:
                calendar.book(plan, slot)
            yield
        calendar.lacks_promises = self._has_to_restore = False

    def _slot(self, plan: WaitingJob, booking: Booking) -> Slot | None:
        """The same one again, not before now; None: the nodes are not there."""
        row_of, now = self._desk.cluster.nodes.row_of, self._desk.machine.calendar.now
        if any(name not in row_of for names in booking.nodes for name in names):
            return None
        placements = []
        for names in booking.nodes:
            rows, counts = np.unique(np.array([row_of[name] for name in names], np.intp), return_counts=True)
            placements.append(MemberRows(rows, counts.astype(np.int64)))
        start = max(booking.start, now)
        return Slot(start, start + plan.duration, tuple(placements))

    # -- what is promised now ------------------------------------------------------------------------------------------

    def note(self, outcome: PassOutcome) -> Steps[None]:
        """Jobs were planned, and nobody was let go yet: write down what is promised otherwise than before; in steps."""
        if not self._is_wanted:
            return
        promises = self._desk.machine.calendar.promises
        self._forget_lost(promises, {each.job.key for each in outcome.started})
        for key, promise in list(promises.items()):  # those that were booked last are the last
            if self._noted.get(key) is not promise and promises.get(key) is promise:
                self._noted[key] = promise
                self._write(self._desk.book.jobs[key], self._booking(promise.slot))
                yield

    def has_nodes(self, job: BatchJob) -> None:
        """Nothing is kept for it any more. What is written of it next says so."""
        self._noted.pop(job.key, None)
        job.ledger.booking = None

    def _forget_lost(self, promises: Collection[str], started: Collection[str]) -> None:
        """Those who lost their promises: others may have their room from now on."""
        for key in [key for key in self._noted if key not in promises and key not in started]:
            job = self._desk.book.find(key)
            if job is None or not job.is_released:
                del self._noted[key]
                if job is not None:
                    self._write(job, None)

    def _write(self, job: BatchJob, booking: Booking | None) -> None:
        if job.ledger.booking != booking:
            job.ledger.booking = booking
            self._desk.world.write_promise(job)

    def _booking(self, slot: Slot) -> Booking:
        names = self._desk.cluster.nodes.names
        return Booking(slot.start, tuple(_members(names, placement) for placement in slot.placements))


def _members(names: Sequence[str], placement: MemberRows) -> tuple[str, ...]:
    """The node of each member."""
    rows, counts = placement.rows.tolist(), placement.counts.tolist()
    return tuple(names[row] for row, count in zip(rows, counts, strict=True) for _ in range(count))
