"""Reservations are kept: nodes are chosen and written down, and given back when nobody uses them.

In: the reservations of the settings, what is written down of them, the machine as the plan sees it. Out: views of them
for the plan, events, and which of them a job may enter. Nodes are chosen once, in the first pass in which there are
enough; until then a reservation is Pending, and says what is in the way. Called by `upkeep`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from fairway.batch.accounts import JobAccounts
from fairway.batch.actions import Action, Tell
from fairway.batch.closings import Closing
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob, RunInterval
from fairway.batch.reservations import (
    InTheWay,
    NodeReservation,
    ReservationPhase,
    ReservationView,
    RowHolder,
    choose_rows,
    entered_keys,
    last_use,
    view_reservation,
)
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.batch.upkeep.node_sights import NodeSights
from fairway.batch.upkeep.status_book import StatusBook
from fairway.model.batch import ReservationSpec
from fairway.words import nodes_text, time_text

__all__ = ["ReservationKeeping"]


class ReservationKeeping:
    """Looks after the reservations of a desk."""

    def __init__(self, desk: DutyDesk, nodes: NodeSights, statuses: StatusBook, accounts: JobAccounts) -> None:
        self._desk = desk
        self._accounts = accounts
        self._nodes = nodes
        self._statuses = statuses
        self.views: list[ReservationView] = []
        self._used: dict[str, float] = {}  # by name: until when jobs that are over used it
        self._read_records()

    def _read_records(self) -> None:
        """Who used what, as far as it was written down by whoever was here before."""
        reservations = self._desk.settings.reservations
        if any(spec.if_unused is not None for spec in reservations.values()):
            self.views = [self._view(name, spec, self._desk.world.now()) for name, spec in reservations.items()]
            for record in self._desk.world.records():
                billed = record.ledger.billed
                if billed is not None:
                    above = self._accounts.tree.path(billed.account)
                    self._note_use(billed.user, above, billed.queue, record.ledger.intervals)

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe_end(self, job: BatchJob, accounts: Collection[str]) -> None:
        """A job is over: it is in the book no more."""
        self._note_use(job.wishes.user, accounts, job.queue, job.ledger.intervals)

    def _note_use(self, user: str, accounts: Collection[str], queue: str, ran: Collection[RunInterval]) -> None:
        entered = self.entered(user, accounts, queue)
        for view in self.views:
            if view.key in entered and (used := last_use(view, ran)) is not None and used < math.inf:
                name = view.reservation.name
                self._used[name] = max(used, self._used.get(name, -math.inf))

    def cancel(self, name: str) -> None:
        """The reservation is called off, by order."""
        self._statuses.put(replace(self._status(name), is_cancelled=True))
        self._desk.is_due = True

    def entered(self, user: str, accounts: Collection[str], queue: str) -> set[str]:
        """The keys in the calendar that do not stop a job of these; `accounts` with those above."""
        return entered_keys(self.views, user, accounts, queue) if self.views else set()

    def next_time(self, now: float) -> float:
        """When one begins, is over, or has not been used for too long."""
        if not self.views:
            return math.inf
        times = []
        for view in self.views:
            times += [view.start, view.end] if view.phase is not ReservationPhase.DONE else []
            unused = view.reservation.spec.if_unused
            if view.is_kept and unused is not None:
                times.append(max(view.start, self._used.get(view.reservation.name, -math.inf)) + unused)
        return min((time for time in times if time > now), default=math.inf)

    # -- a pass ------------------------------------------------------------------------------------------------------

    def look(self, now: float, is_inside: dict[str, list[RunInterval]], closings: Iterable[Closing]) -> list[Action]:
        """See where each one is, choose nodes, and free what nobody uses.

        `is_inside`: by key of a reservation, when the jobs that may enter it ran, as far as they are not over.
        """
        actions: list[Action] = []
        self.views = []
        for name, spec in self._desk.settings.reservations.items():
            view = self._view(name, spec, now, is_inside)
            status = self._status(name)
            if view.phase is ReservationPhase.PENDING:
                status = self._choose(view, status, list(closings))
                view = self._view(name, spec, now, is_inside, status)
            if view.is_unused:
                status = replace(status, is_freed=True)
                actions += view.notes
                view = self._view(name, spec, now, is_inside, status)
            elif view.phase is ReservationPhase.DONE and status.phase != ReservationPhase.DONE:
                actions += view.notes
            actions += self._write(view, status)
            self.views.append(view)
        return actions

    def _status(self, name: str) -> ClosingStatus:
        return self._statuses.find("reservation", name)

    def _view(
        self,
        name: str,
        spec: ReservationSpec,
        now: float,
        is_inside: dict[str, list[RunInterval]] | None = None,
        status: ClosingStatus | None = None,
    ) -> ReservationView:
        status = status or self._status(name)
        kept = NodeReservation(
            name, status.uid, spec, status.created, status.nodes, status.is_freed, status.is_cancelled
        )
        view = view_reservation(kept, now, None, self._desk.epoch)
        if not view.is_unused:
            return view
        now_inside = last_use(view, (is_inside or {}).get(view.key, ()))
        used = max([time for time in (now_inside, self._used.get(name)) if time is not None], default=None)
        return view_reservation(kept, now, used, self._desk.epoch)

    def _choose(self, view: ReservationView, status: ClosingStatus, closings: list[Closing]) -> ClosingStatus:
        machine, spec = self._desk.machine, view.reservation.spec
        calendar = machine.calendar
        eligible = np.zeros(calendar.timeline.num_rows, np.bool_)
        eligible[[sight.row for sight in self._nodes.all if spec.nodes.matches(sight.labels)]] = True
        holders = [*self._holders(eligible), *_closed(closings)]
        chosen = choose_rows(calendar, eligible, spec.nodes.count, view.start, view.end, holders)
        if isinstance(chosen, InTheWay):
            return replace(status, words=chosen.words)
        for key in chosen.displaced:
            calendar.remove(key)  # an operator's order comes first; it is planned anew in this pass
        names = self._desk.cluster.nodes.names
        return replace(status, nodes=tuple(sorted(names[row] for row in chosen.rows.tolist())), words="")

    def _holders(self, eligible: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[RowHolder]:
        machine, book, found = self._desk.machine, self._desk.book, []
        for row in np.flatnonzero(eligible).tolist():
            for placed in self._desk.cluster.pods.on_row(row):
                uid = placed.pod.metadata.uid
                job, occupant = book.of(uid), machine.occupant(uid)
                end = math.inf if occupant is None else occupant.end
                found.append(RowHolder(placed.pod.key if job is None else job.key, row, end))
        return found

    def _write(self, view: ReservationView, before: ClosingStatus) -> list[Action]:
        written = self._status(view.reservation.name)
        is_over = view.phase in (ReservationPhase.DONE, ReservationPhase.CANCELLED)
        start, end = (None, None) if is_over else (view.start, view.end)
        status = replace(before, phase=view.phase.value, start=start, end=end)
        self._statuses.put(status)
        if (written.phase, written.words) == (status.phase, status.words):
            return []
        if view.phase is ReservationPhase.DONE and not written.phase:
            return []  # it was over from the beginning, which was told
        what, offset = nodes_text(len(status.nodes)), self._desk.wall_offset
        words = status.words or f"{what} from {time_text(view.start + offset)} to {time_text(view.end + offset)}"
        return [Tell(view.reservation.name, f"Reservation{view.phase.value}", words)]


def _closed(closings: Iterable[Closing]) -> list[RowHolder]:
    return [
        RowHolder(f"{each.kind} {each.name}", row, each.end, each.start)
        for each in closings
        for row in each.rows.tolist()
    ]
