"""Maintenance windows at a moment: their phase, when they are, and whose jobs they are in the way of.

In: queues at a moment. Out: a `WindowTable`, whose windows are looked at by the rules that the desk goes by
(`fairway.batch.windows`), with what was written down of them; and the reservations, whose nodes are closed as well.
Called by `fairway maintenance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.reservations import ReservationView
from fairway.batch.windows import Phase, WindowView
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import KeptReservation, QueueMoment
from fairway.explain.queues.run_queues import check_name
from fairway.tables import Column
from fairway.words import length_text

__all__ = ["WINDOW_COLUMNS", "SeenWindow", "WindowTable", "window_table"]

NAMED: Final = 3
WINDOW_COLUMNS: Final = (
    Column("name", "WINDOW"),
    Column("phase", "PHASE"),
    Column("when", "WHEN"),
    Column("length", "LENGTH", right=True),
    Column("nodes", "NODES", right=True),
    Column("mode", "MODE"),
    Column("jobs", "JOBS"),
    Column("told", "TOLD", right=True, wide=True),
    Column("message", "MESSAGE", wide=True),
)


@dataclass(frozen=True, slots=True)
class SeenWindow:
    """A window at a moment."""

    view: WindowView
    jobs: Sequence[QueueJob]  # that run on its nodes and may still run when it begins
    told: Sequence[str] = ()  # those that heard of it: they ran there, or wait for longer because of it

    @property
    def start(self) -> float | None:
        """When it begins, or began; None: it is over."""
        return self.view.occurrences[0].start if self.view.occurrences else None


@dataclass(frozen=True, slots=True)
class WindowTable:
    """All windows and reservations."""

    moment: QueueMoment
    windows: Sequence[SeenWindow]
    reservations: Sequence[KeptReservation] = ()

    def rows(self) -> list[dict[str, Any]]:
        """For people."""
        return [*map(self._row, self.windows), *map(self._reservation_row, self.reservations)]

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "atSeconds": self.moment.at,
            "windows": [_document(each) for each in self.windows],
            "reservations": [_reservation_document(each) for each in self.reservations],
        }

    def _reservation_row(self, seen: KeptReservation) -> dict[str, Any]:
        view = seen.view
        is_over = view.phase in ("Done", "Cancelled")
        when = (
            f"until {self.moment.times.clock(view.end)}" if self.moment.at >= view.start else self._begins(view.start)
        )
        return {
            "name": view.reservation.name,
            "phase": view.phase.lower(),
            "when": None if is_over else when,
            "length": length_text(float(view.reservation.spec.duration)),
            "nodes": len(view.reservation.nodes),
            "mode": "reserved",
            "jobs": seen.words or f"for {_whom(view)}",
            "told": None,
            "message": None,
        }

    def _begins(self, start: float) -> str:
        return f"{self.moment.times.clock(start)}, in {length_text(start - self.moment.at)}"

    def _row(self, seen: SeenWindow) -> dict[str, Any]:
        spec = seen.view.window.spec
        return {
            "name": seen.view.window.name,
            "phase": seen.view.phase.lower(),
            "when": self._when(seen),
            "length": length_text(float(spec.duration)),
            "nodes": len(seen.view.nodes),
            "mode": spec.mode,
            "jobs": _jobs_words(seen),
            "told": len(seen.told),
            "message": spec.message or None,
        }

    def _when(self, seen: SeenWindow) -> str | None:
        if seen.start is None:
            return None
        if seen.view.phase is Phase.ACTIVE:
            return f"until {self.moment.times.clock(seen.view.occurrences[0].end)}"
        return self._begins(seen.start)


def window_table(moment: QueueMoment, name: str | None = None) -> WindowTable:
    """All windows then, or one; `UserError` if there is none of that name."""
    settings, at = moment.settings, moment.at
    check_name("window", name, {**settings.windows, **settings.reservations}, "fairway maintenance")
    jobs = [job for job in moment.jobs if job.runs]
    return WindowTable(
        moment,
        [
            SeenWindow(view, _in_the_way(view, jobs, at), told)
            for view, told in moment.windows()
            if name in (None, view.window.name)
        ],
        [kept for kept in moment.reservations() if name in (None, kept.view.reservation.name)],
    )


def _whom(view: ReservationView) -> str:
    whom = view.reservation.spec.for_
    return ", ".join((*whom.users, *whom.accounts, *whom.queues))


def _in_the_way(view: WindowView, jobs: Sequence[QueueJob], at: float) -> list[QueueJob]:
    if not view.occurrences:
        return []
    start = view.occurrences[0].start
    return [job for job in jobs if not view.nodes.isdisjoint(job.nodes) and at + job.left > start]


def _jobs_words(seen: SeenWindow) -> str | None:
    if not seen.jobs:
        return None
    number = "1 job" if len(seen.jobs) == 1 else f"{len(seen.jobs)} jobs"
    verb = "in it" if seen.view.phase is Phase.ACTIVE else "would run into it"
    names = [f"{job.job}{' (no limit)' if job.limit == math.inf else ''}" for job in seen.jobs[:NAMED]]
    more = ", …" if len(seen.jobs) > NAMED else ""
    return f"{number} {verb}: {', '.join(names)}{more}"


def _document(seen: SeenWindow) -> dict[str, Any]:
    window = seen.view.window
    return {
        "name": window.name,
        "phase": seen.view.phase.value,
        "occurrences": [{"startSeconds": each.start, "endSeconds": each.end} for each in seen.view.occurrences],
        "durationSeconds": float(window.spec.duration),
        "mode": window.spec.mode,
        "nodes": sorted(seen.view.nodes),
        "jobs": [job.job for job in seen.jobs],
        "told": list(seen.told),
        "message": window.spec.message,
    }


def _reservation_document(seen: KeptReservation) -> dict[str, Any]:
    view = seen.view
    return {
        "name": view.reservation.name,
        "phase": view.phase.value,
        "startSeconds": view.start,
        "endSeconds": view.end,
        "nodes": list(view.reservation.nodes),
        "for": _whom(view),
        "inTheWay": seen.words or None,
    }
