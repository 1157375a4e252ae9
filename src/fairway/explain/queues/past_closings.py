"""What was closed at a moment of a run, and to whom: maintenance windows and reservations.

In: an open run and a time. Out: windows as the desk's rules see them (`window_views`), with the nodes that were written
down where they had begun; reservations with theirs; rows closed in a machine (`close`), and what is not closed to a job
(`entrances`). Called by `past_plan` and `window_table`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairway.batch.accounts import JobAccounts
from fairway.batch.job import BatchJob
from fairway.batch.machine import Machine
from fairway.batch.reservations import (
    NodeReservation,
    ReservationView,
    entered_keys,
    reservation_closings,
    view_reservation,
)
from fairway.batch.settings import BatchSettings
from fairway.batch.windows import (
    NodeSight,
    Phase,
    Window,
    WindowView,
    unlimited_entrances,
    view_window,
    window_closings,
)
from fairway.cluster import Cluster
from fairway.plan import Entrance
from fairway.record import Run

__all__ = ["PastClosings", "WrittenClosing", "reservation_views", "window_views", "written_closings"]


@dataclass(frozen=True, slots=True)
class WrittenClosing:
    """What the run says of a window or a reservation at a moment."""

    phase: str
    nodes: tuple[str, ...]
    jobs: tuple[str, ...]  # that were told of it
    words: str


def written_closings(run: Run, at: float, kind: str) -> dict[str, WrittenClosing]:
    """The latest that was written of each, by name; none in runs of older versions."""
    if not run.knows_closings:
        return {}
    rows = run.sql(
        "SELECT name, phase, nodes, jobs, message FROM closings WHERE kind = $1 AND time_seconds <= $2 ORDER BY rowid",
        kind,
        at,
    )
    return {
        row["name"]: WrittenClosing(
            row["phase"], tuple(json.loads(row["nodes"])), tuple(json.loads(row["jobs"])), row["message"] or ""
        )
        for row in rows
    }


def window_views(
    settings: BatchSettings, written: Mapping[str, WrittenClosing], nodes: Sequence[NodeSight], at: float, began: float
) -> list[WindowView]:
    """Every window as it was then."""
    views = []
    for name, spec in settings.windows.items():
        status = written.get(name)
        window = Window(name, name, spec, 0.0, status is not None and status.phase == Phase.CANCELLED)
        view = view_window(window, nodes, at, began, may_be_span=True)
        if view.phase is Phase.ACTIVE and status is not None and status.phase == Phase.ACTIVE:
            view = view_window(replace(window, nodes=status.nodes), nodes, at, began, may_be_span=True)
        views.append(view)
    return views


def reservation_views(
    settings: BatchSettings, written: Mapping[str, WrittenClosing], at: float, began: float
) -> list[ReservationView]:
    """Every reservation as it was then; one that was freed is told from one that lasts by what was written."""
    views = []
    for name, spec in settings.reservations.items():
        status = written.get(name)
        nodes, phase = ((), "") if status is None else (status.nodes, status.phase)
        kept = NodeReservation(name, name, spec, 0.0, nodes, phase == "Done", phase == "Cancelled")
        views.append(view_reservation(kept, at, math.inf, began, may_be_span=True))
    return views


class PastClosings:
    """Windows and reservations at a moment of a run, in its cluster."""

    def __init__(self, run: Run, at: float, cluster: Cluster, settings: BatchSettings) -> None:
        self._at = at
        self._accounts = JobAccounts(settings, cluster)
        there = [(row, node) for row, node in enumerate(cluster.nodes.objects[: cluster.nodes.num_rows]) if node]
        sights = [NodeSight(node.metadata.name, row, node.metadata.labels) for row, node in there]
        self._rows = {sight.name: sight.row for sight in sights}
        self.windows = window_views(settings, written_closings(run, at, "maintenance"), sights, at, run.began)
        self.reservations = reservation_views(settings, written_closings(run, at, "reservation"), at, run.began)

    def close(self, machine: Machine) -> None:
        """Let the machine have closed what was closed."""
        closings = [
            *window_closings(self.windows, self._rows),
            *reservation_closings(self.reservations, self._rows),
        ]
        for each in closings:
            machine.close(each.key, each.rows, max(each.start, self._at), each.end, clears=each.clears)
        returns: dict[int, float] = {}
        for view in self.windows:
            if view.phase is Phase.ACTIVE:
                for name in view.nodes & self._rows.keys():
                    returns[self._rows[name]] = max(view.occurrences[0].end, returns.get(self._rows[name], 0.0))
        machine.expect(returns, self._at)

    def entrances(self, job: BatchJob, duration: float) -> tuple[Entrance, ...]:
        """The closings that are none for a job that may run for so long."""
        payer = self._accounts.payer(job)
        accounts = [] if payer is None else self._accounts.tree.path(payer.account)
        found = [Entrance(key) for key in sorted(entered_keys(self.reservations, job.wishes.user, accounts, job.queue))]
        return (*found, *(unlimited_entrances(self.windows) if duration == math.inf else ()))
