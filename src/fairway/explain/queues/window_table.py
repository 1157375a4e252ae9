"""Maintenance windows at a moment of a run: their phase, when they are, and whose jobs they are in the way of.

In: an open run and a time. Out: a `WindowTable`, whose windows are looked at by the rules that the desk goes by
(`fairway.batch.windows`). Called by `fairway maintenance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.windows import NodeSight, Phase, Window, WindowView, view_window
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.explain.queues.run_queues import check_name, run_settings
from fairway.record import Run
from fairway.record.snapshot import nodes_at
from fairway.tables import Column
from fairway.words import clock_text, length_text

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
    Column("message", "MESSAGE", wide=True),
)


@dataclass(frozen=True, slots=True)
class SeenWindow:
    """A window at a moment."""

    view: WindowView
    jobs: Sequence[QueueJob]  # that run on its nodes and may still run when it begins

    @property
    def start(self) -> float | None:
        """When it begins, or began; None: it is over."""
        return self.view.occurrences[0].start if self.view.occurrences else None


@dataclass(frozen=True, slots=True)
class WindowTable:
    """All windows."""

    at: float
    windows: Sequence[SeenWindow]

    def rows(self) -> list[dict[str, Any]]:
        """For people."""
        return [self._row(each) for each in self.windows]

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"atSeconds": self.at, "windows": [_document(each) for each in self.windows]}

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
            "message": spec.message or None,
        }

    def _when(self, seen: SeenWindow) -> str | None:
        if seen.start is None:
            return None
        if seen.view.phase is Phase.ACTIVE:
            return f"until {clock_text(seen.view.occurrences[0].end)}"
        return f"{clock_text(seen.start)}, in {length_text(seen.start - self.at)}"


def window_table(run: Run, at: float, name: str | None = None) -> WindowTable:
    """All windows at that time, or one; `UserError` if there is none of that name."""
    settings = run_settings(run)
    check_name("window", name, settings.windows, "fairway maintenance")
    sights = [
        NodeSight(node.metadata.name, row, node.metadata.labels, node.spec.unschedulable)
        for row, node in enumerate(nodes_at(run, at))
    ]
    jobs = [job for job in queue_jobs(run, at) if job.runs]
    found = []
    for key, spec in settings.windows.items():
        if name in (None, key):
            view = view_window(Window(key, key, spec, 0.0), sights, at, run.began, may_be_span=True)
            found.append(SeenWindow(view, _in_the_way(view, jobs, at)))
    return WindowTable(at, found)


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
        "message": window.spec.message,
    }
