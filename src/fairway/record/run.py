"""A run, opened: what happened, by table, by pod, by node, at any time.

In: a file written by `RunWriter`. Out: tables (`run.pods`, `run.decisions`, ...) and answers. Called by the commands,
the pages and people in notebooks; nothing here changes the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from fairway.model.meta import EPOCH
from fairway.record.errors import RecordError
from fairway.record.opening.run_opening import OpenRun, open_run_file
from fairway.record.schedulers import RecordedScheduler, schedulers_of_meta
from fairway.record.schema import TABLES, Origin
from fairway.record.table import Question, Table

if TYPE_CHECKING:
    from fairway.record.metrics import Metrics

__all__ = ["Run"]


class Run:
    """One run. The tables of the schema are its attributes."""

    def __init__(self, opened: OpenRun, path: Path) -> None:
        self._connection = opened.connection
        self.path = path
        self.meta = opened.meta
        self._missing = opened.missing
        self.resources = opened.resources
        """Resources by name, with their columns in `nodes`, `pods`, `holds`, `occupancy` and `charges`."""
        self.nodes = self._table("nodes")
        self.pods = self._table("pods")
        self.templates = self._table("templates")
        self.decisions = self._table("decisions")
        self.filter_counts = self._table("filter_counts")
        self.scores = self._table("scores")
        self.data = self._table("data")
        self.preemptions = self._table("preemptions")
        self.jobs = self._table("jobs")
        self.job_decisions = self._table("job_decisions")
        self.holds = self._table("holds")
        self.job_states = self._table("job_states")
        self.estimates = self._table("estimates")
        self.plans = self._table("plans")
        self.closings = self._table("closings")
        self.charges = self._table("charges")
        self.queue_moves = self._table("queue_moves")
        self.occupancy = self._table("occupancy")
        self.data_reads = self._table("data_reads")
        self.events = self._table("events")
        self.objects = self._table("objects")
        self.plugin_times = self._table("plugin_times")
        self.gaps = self._table("gaps")

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a run for reading; `RecordError` says what is wrong with a file that is none."""
        return cls(open_run_file(Path(path)), Path(path))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Run {self.path}{'' if self.is_complete else ', incomplete'}>"

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def scenario(self) -> dict[str, Any]:
        """The completed scenario that was run; of a live cluster, and of an anonymous run, nothing but a title."""
        scenario: dict[str, Any] = self.meta["scenario"]
        return scenario

    @property
    def schedulers(self) -> list[RecordedScheduler] | None:
        """Its schedulers, with their whole configurations; None if it does not say (runs of older versions)."""
        try:
            return schedulers_of_meta(self.meta)
        except ValueError as error:
            raise RecordError(f"{self.path} is no run that Fairway wrote: its table meta has {error}") from error

    @property
    def origin(self) -> Origin:
        """Was it simulated, or recorded from a live cluster?"""
        known = self.meta.get("origin")
        if known in ("simulated", "live"):
            return known  # type: ignore[no-any-return]
        return "simulated" if "cluster" in (self.scenario.get("spec") or {}) else "live"

    @property
    def began(self) -> float:
        """The date at 0 seconds of the run's clock, in seconds since 1970."""
        known = self.meta.get("began")
        return float(known) if isinstance(known, int | float) else EPOCH.timestamp()

    @property
    def is_anonymous(self) -> bool:
        """Are the names in it pseudonyms?"""
        known = self.meta.get("anonymous")
        return known if isinstance(known, bool) else self.scenario.get("metadata") == {"name": "anonymous"}

    @property
    def seed(self) -> int:
        """The seed of all chance in it."""
        return int(self.meta["seed"])

    @property
    def is_complete(self) -> bool:
        """False if it was interrupted."""
        return bool(self.meta["complete"])

    @property
    def end_seconds(self) -> float:
        """When it ended; of an interrupted run the last time known."""
        if "end_seconds" not in self.meta:
            latest = " UNION ALL ".join(
                f"SELECT max({table.columns[place].name}) AS time FROM {name}"
                for name, table in TABLES.items()
                if name not in self._missing
                for place in table.moments
            )
            (row,) = self.sql(f"SELECT coalesce(max(time), 0.0) AS time FROM ({latest})").rows()
            self.meta["end_seconds"] = row["time"]
        return float(self.meta["end_seconds"])

    @property
    def knows_jobs(self) -> bool:
        """Does it say which pods belong together? Runs that older versions wrote do not."""
        return "jobs" not in self._missing

    @property
    def knows_queues(self) -> bool:
        """Does it say where jobs of queues stood? Runs that older versions wrote do not."""
        return not self._missing & {"jobs", "job_states"}

    @property
    def knows_closings(self) -> bool:
        """Does it say where windows and reservations were? Runs that older versions wrote do not."""
        return "closings" not in self._missing

    # -- tables ------------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by name, in the order of the schema."""
        return {name: self._table(name) for name in TABLES}

    def sql(self, query: str, *parameters: Any) -> Table:
        """The answer to any question in DuckDB's SQL, with `?` for each parameter."""
        return Table(self._connection, self.path, Question(f"({query})"), parameters)

    def _table(self, name: str) -> Table:
        if name in self._missing:
            columns = ", ".join(f"NULL::{column.type} AS {column.name}" for column in TABLES[name].columns)
            return self.sql(f"SELECT {columns} WHERE false")
        return Table(self._connection, self.path, Question(name, TABLES[name].order))

    # -- answers -----------------------------------------------------------------------------------------------------

    def node_load(self, at: float) -> Table:
        """Every node that was there at that time: pods on it, amounts held, and `allocatable_` of each."""
        columns = self.resources.values()
        held = "".join(f', coalesce(sum(o."{column}"), 0)::BIGINT AS "{column}"' for column in columns)
        there = "".join(f', any_value(n."{column}") AS "allocatable_{column}"' for column in columns)
        return self.sql(
            f"""
            SELECT n.node_id, n.node, any_value(n.is_ready) AS is_ready,
                   any_value(n.is_unschedulable) AS is_unschedulable,
                   count(o.pod_id) AS num_pods{held}, any_value(n.pods) AS allocatable_pods{there}
            FROM nodes n LEFT JOIN occupancy o
              ON o.node_id = n.node_id AND o.from_seconds <= ? AND (? < o.to_seconds OR o.to_seconds IS NULL)
            WHERE n.from_seconds <= ? AND (? < n.to_seconds OR n.to_seconds IS NULL)
            GROUP BY n.node_id, n.node ORDER BY n.node_id
            """,
            *(at, at, at, at),
        )

    def pods_on(self, node: str, at: float) -> Table:
        """The intervals open on a node at that time."""
        if not len(self.nodes.where("node = ?", node)):
            raise RecordError(f"{self.path} has no node {node}")
        return self.occupancy.where(
            "node = ? AND from_seconds <= ? AND (? < to_seconds OR to_seconds IS NULL)", node, at, at
        )

    def pod(self, name: str | int) -> dict[str, Any]:
        """A pod's row, by `namespace/name`, by name, by uid or by number; of several with one name, the latest."""
        if isinstance(name, int):
            found = list(self.pods.where("pod_id = ?", name).rows())
        else:
            found = list(self.pods.where("pod = $1 OR uid = $1 OR ends_with(pod, '/' || $1)", name).rows())
        keys = {row["pod"] for row in found if row["uid"] != name}
        if len(keys) > 1:
            raise RecordError(f"{self.path} has several pods {name}: {', '.join(sorted(keys)[:10])}")
        if not found:
            raise RecordError(f"{self.path} has no pod {name}")
        return found[-1]

    def decisions_of(self, pod: str | int) -> Table:
        """The attempts for one pod, in order."""
        return self.decisions.where("pod_id = ?", self.pod(pod)["pod_id"])

    def metrics(self) -> Metrics:
        """What the run came to, in numbers."""
        from fairway.record.metrics import measure  # noqa: PLC0415 - metrics are made of runs

        return measure(self)
