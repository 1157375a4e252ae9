"""Reservations: which nodes are kept for whom, and when they are given back.

In: reservations (`NodeReservation`), the calendar, who is on which row until when, the time of day (the world's clock).
Out: the rows of a new one (`choose_rows`), fixed from then on, or what is in the way; of each a `ReservationView`,
`Closing`s for the calendar, and the keys of those that a job may enter. From state alone. Called by the desk in each
pass, before it plans: it writes chosen nodes, and that one was freed, into the object's status.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.batch.actions import Tell
from fairway.batch.closings import Closing
from fairway.batch.job import RunInterval
from fairway.batch.occurrences import parse_moment
from fairway.model.batch import ReservationSpec
from fairway.plan import Calendar
from fairway.plan.waiting_job import WHOLE
from fairway.words import length_text, nodes_text

__all__ = [
    "InTheWay",
    "NodeReservation",
    "ReservationPhase",
    "ReservationView",
    "RowHolder",
    "RowsChosen",
    "choose_rows",
    "entered_keys",
    "last_use",
    "reservation_closings",
    "view_reservation",
]


class ReservationPhase(enum.StrEnum):
    """Where a reservation is."""

    PENDING = "Pending"  # it has no nodes yet: somebody is there
    PLANNED = "Planned"
    ACTIVE = "Active"
    DONE = "Done"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True)
class NodeReservation:
    """A reservation as it is written down."""

    name: str
    uid: str
    spec: ReservationSpec
    created: float
    nodes: tuple[str, ...] = ()  # fixed when it was made, as its status has them; none: not yet
    is_freed: bool = False  # nobody used it for too long
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class ReservationView:
    """A reservation at a moment."""

    reservation: NodeReservation
    phase: ReservationPhase
    start: float
    end: float
    is_unused: bool = False  # nobody has used it for so long that it is given back: to be written down
    notes: tuple[Tell, ...] = ()

    @property
    def key(self) -> str:
        """Its key in the calendar."""
        return f"reservation/{self.reservation.uid}"

    @property
    def is_kept(self) -> bool:
        """Are its nodes closed to others?"""
        return self.phase in (ReservationPhase.PLANNED, ReservationPhase.ACTIVE) and not self.is_unused


class RowHolder(NamedTuple):
    """Who is on a row, or closes it, and until when."""

    name: str
    row: int
    end: float  # infinite: nobody knows
    start: float = -math.inf  # of a window that is to come


class RowsChosen(NamedTuple):
    """The rows of a reservation."""

    rows: NDArray[np.intp]  # (num_rows,)
    displaced: tuple[str, ...] = ()  # jobs whose promises give way: an operator's order comes first


class InTheWay(NamedTuple):
    """Why a reservation has no rows yet."""

    missing: int
    holders: tuple[RowHolder, ...]  # on as many rows as are missing, those that come free first
    words: str


def view_reservation(
    reservation: NodeReservation,
    now: float,
    used: float | None = None,
    epoch: float = 0.0,
    *,
    may_be_span: bool = False,
) -> ReservationView:
    """Where it is now. `used`: when it was used last (`last_use`). `ValueError` names a field that can not be read."""
    spec = reservation.spec
    try:
        start = parse_moment(spec.start, epoch, may_be_span=may_be_span)
    except ValueError as error:
        raise ValueError(f"start: {error}") from None
    end = start + spec.duration
    if reservation.is_cancelled:
        return ReservationView(reservation, ReservationPhase.CANCELLED, start, end)
    if now >= end or reservation.is_freed:
        notes = []
        if end <= reservation.created:
            notes.append(_note(reservation, "ReservationInThePast", "it was over before it was made: nothing is done"))
        elif not reservation.nodes:
            notes.append(_note(reservation, "ReservationWithoutNodes", "it is over, and never had nodes"))
        return ReservationView(reservation, ReservationPhase.DONE, start, end, notes=tuple(notes))
    if not reservation.nodes:
        return ReservationView(reservation, ReservationPhase.PENDING, start, end)
    if now < start:
        return ReservationView(reservation, ReservationPhase.PLANNED, start, end)
    idle = now - max(start, used if used is not None else start)
    is_unused = spec.if_unused is not None and idle >= spec.if_unused
    notes = []
    if is_unused:
        words = f"nobody has used it for {length_text(idle)}: its nodes are given back"
        notes.append(Tell(reservation.name, "ReservationUnused", words))
    return ReservationView(reservation, ReservationPhase.ACTIVE, start, end, is_unused, tuple(notes))


def last_use(view: ReservationView, intervals: Iterable[RunInterval]) -> float | None:
    """Until when the jobs that may enter were on its nodes while it lasts; infinite: one is; None: none ever was."""
    nodes = set(view.reservation.nodes)
    ends = [
        each.end
        for each in intervals
        if nodes.intersection(each.nodes) and each.start < view.end and each.end > view.start
    ]
    return max(ends, default=None)


def reservation_closings(views: Iterable[ReservationView], rows: Mapping[str, int]) -> list[Closing]:
    """What the calendar shall have closed; `rows` by node."""
    return [
        Closing(
            view.key,
            "reservation",
            view.reservation.name,
            np.array(sorted(rows[name] for name in view.reservation.nodes if name in rows), np.intp),
            view.start,
            view.end,
        )
        for view in views
        if view.is_kept
    ]


def entered_keys(views: Iterable[ReservationView], user: str, accounts: Collection[str], queue: str) -> set[str]:
    """The keys that do not stop a job: to be lifted from the calendar where it is planned (`Calendar.without`).

    `accounts` are its own and those above it.
    """
    return {
        view.key
        for view in views
        if user in view.reservation.spec.for_.users
        or queue in view.reservation.spec.for_.queues
        or any(account in view.reservation.spec.for_.accounts for account in accounts)
    }


def choose_rows(
    calendar: Calendar,
    eligible: NDArray[np.bool_],
    count: int | None,
    start: float,
    end: float,
    holders: Sequence[RowHolder],
) -> RowsChosen | InTheWay:
    """The rows for [start, end): empty by then by the limits of those who are there, those first that are empty first.

    Promises are kept if there are enough rows beside them; running jobs always. `count` None: all that are eligible.
    """
    start = max(start, calendar.now)
    rows = np.flatnonzero(eligible)  # (num_eligible,)
    wanted = len(rows) if count is None else count
    bare = calendar.without(list(calendar.promises))
    for trial in (calendar, bare):
        empty = rows[trial.timeline.least_free(rows, start, end)[:, -1] >= WHOLE] if len(rows) else rows
        if len(empty) >= wanted > 0:
            first = sorted(empty.tolist(), key=lambda row: (_empty_since(trial, row, start), row))[:wanted]
            chosen = np.array(sorted(first), np.intp)
            return RowsChosen(chosen, _displaced(calendar, chosen, start, end))
    missing = wanted - len(empty)
    if len(rows) < wanted or not wanted:
        words = f"{nodes_text(max(wanted, 1))} wanted, {nodes_text(len(rows))} match"
        return InTheWay(max(wanted, 1) - len(rows), (), words)
    busy = set(rows.tolist()) - set(empty.tolist())
    there = [each for each in holders if each.row in busy and each.end > start and each.start < end]
    until = {row: max((each.end for each in there if each.row == row), default=math.inf) for row in busy}
    nearest = sorted(busy, key=lambda row: (until[row], row))[:missing]
    shown = tuple(
        sorted((each for each in there if each.row in nearest), key=lambda each: (each.end, each.name, each.row))
    )
    names = ", ".join(dict.fromkeys(each.name for each in shown)) or "nodes that are down"
    words = f"{nodes_text(wanted)} wanted, {nodes_text(len(empty))} can be had; in the way: {names}"
    return InTheWay(missing, shown, words)


def _empty_since(calendar: Calendar, row: int, start: float) -> float:
    """Since when the row is empty without a break, as seen from `start`."""
    timeline = calendar.timeline
    at = int(timeline.stretches_at(np.array([row]), start)[0])
    while at > timeline.first[row] and timeline.free[-1, at - 1] >= WHOLE:
        at -= 1
    return float(timeline.starts[at])


def _displaced(calendar: Calendar, rows: NDArray[np.intp], start: float, end: float) -> tuple[str, ...]:
    return tuple(
        key
        for key, (_, slot) in calendar.promises.items()
        if slot.start < end
        and slot.end > start
        and any(np.isin(placement.rows, rows).any() for placement in slot.placements)
    )


def _note(reservation: NodeReservation, reason: str, words: str) -> Tell:
    return Tell(reservation.name, reason, words, is_warning=True)
