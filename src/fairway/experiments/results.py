"""The results of an experiment, over seeds: what tables and figures are made of.

In: the stored runs, and published tables where there are any. Out: curves by load with their spread, values at one load
with mean and standard deviation, tables as files (in the form of the published ones), and a summary. Called by
the command `compare`, `figures` and `report`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.experiments.openb_expected import TABLES, Expected
from fairway.experiments.ordered_cluster import RunKey
from fairway.experiments.stored_runs import StoredRun
from fairway.own_file import first_bytes, replacing

__all__ = ["LoadCurve", "Results", "SeedValue", "write_tables"]

FULL: Final = 100  # percent of load at which policies are compared
NUM_NAMES: Final = 4  # columns of a table that say which run a line is about
FAMILY: Final = re.compile(r"[0-9]+$")

Floats = NDArray[np.float64]


class SeedValue(NamedTuple):
    """A number over seeds."""

    mean: float
    std: float  # of the seeds' values; 0 for one
    num_seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}" if self.num_seeds > 1 else f"{self.mean:.2f}"


class LoadCurve(NamedTuple):
    """A metric against load, over seeds."""

    median: Floats  # (num_loads,)
    low: Floats  # (num_loads,) a quarter of the seeds is below
    high: Floats  # (num_loads,) a quarter is above


@dataclass(frozen=True)
class Results:
    """All runs of an experiment."""

    name: str
    runs: Mapping[RunKey, StoredRun]
    published: Mapping[str, Mapping[RunKey, Mapping[int, float]]]  # by table

    @classmethod
    def of(cls, name: str, runs: Mapping[RunKey, StoredRun], expected: Expected | None) -> Results:
        """With the published results beside them, if there are any."""
        published = {} if expected is None else {table: expected.table(table) for table in TABLES}
        return cls(name, runs, published)

    @property
    def traces(self) -> list[str]:
        """In the order of the experiment."""
        return list(dict.fromkeys(key.trace for key in self.runs))

    @property
    def policies(self) -> list[str]:
        """In the order of the experiment."""
        return list(dict.fromkeys(key.policy for key in self.runs))

    @property
    def num_seeds(self) -> int:
        """The most that any trace and policy have."""
        return max((len(self.seeds(trace, policy)) for trace in self.traces for policy in self.policies), default=0)

    @property
    def load(self) -> int:
        """The percentage of load at which policies are compared: 100, or the highest that all runs came to."""
        ends = [int(np.flatnonzero(~np.isnan(run.columns.allo)).max(initial=0)) for run in self.runs.values()]
        return min([FULL, *ends])

    def seeds(self, trace: str, policy: str) -> list[int]:
        """Those of the runs."""
        return [key.seed for key in self.runs if key.trace == trace and key.policy == policy]

    def columns(self, table: str, trace: str, policy: str) -> Floats:
        """(num_seeds, num_loads); `unallocated` is what the table allo leaves."""
        name = "allo" if table == "unallocated" else table
        rows: list[Floats] = [
            getattr(run.columns, name) for key, run in self.runs.items() if key[:2] == (trace, policy)
        ]
        width = max(map(len, rows), default=0)
        found = np.full((len(rows), width), np.nan)
        for place, row in enumerate(rows):
            found[place, : len(row)] = row
        return 100 - found if table == "unallocated" else found

    def published_columns(self, table: str, trace: str, policy: str) -> Floats:
        """The same as published, (num_seeds, num_loads); no rows if it was not."""
        name = "allo" if table == "unallocated" else table
        rows = [values for key, values in self.published.get(name, {}).items() if key[:2] == (trace, policy)]
        width = max((max(row, default=-1) + 1 for row in rows), default=0)
        found = np.full((len(rows), width), np.nan)
        for place, row in enumerate(rows):
            found[place, list(row)] = list(row.values())
        return 100 - found if table == "unallocated" else found

    def curve(self, table: str, trace: str, policy: str, *, published: bool = False) -> LoadCurve | None:
        """Median and quartiles over seeds; None without any run."""
        of = self.published_columns if published else self.columns
        found = of(table, trace, policy)
        found = found[:, ~np.isnan(found).all(axis=0)]
        if not found.size:
            return None
        low, median, high = np.nanpercentile(found, (25, 50, 75), axis=0)
        return LoadCurve(median, low, high)

    def value(self, table: str, trace: str, policy: str, *, published: bool = False) -> SeedValue | None:
        """Mean and standard deviation at the load of comparison."""
        of = self.published_columns if published else self.columns
        found = of(table, trace, policy)
        if not found.size or self.load >= found.shape[1]:
            return None
        values = found[:, self.load]
        values = values[~np.isnan(values)]
        if not len(values):
            return None
        return SeedValue(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0, len(values))

    def causes(self, trace: str, policy: str) -> Floats:
        """What is idle at the end by cause, in percent of all devices, mean over seeds: (num_causes,)."""
        shares = [run.causes / run.capacity * 100 for key, run in self.runs.items() if key[:2] == (trace, policy)]
        return np.asarray(np.mean(shares, axis=0))

    def families(self) -> dict[str, list[str]]:
        """Traces that vary the same thing, under its name; `default` stands with each of them, if it is there."""
        found: dict[str, list[str]] = {}
        for trace in self.traces:
            found.setdefault(FAMILY.sub("", trace), []).append(trace)
        if len(found) > 1 and "default" in found:
            del found["default"]
            found = {name: ["default", *traces] for name, traces in found.items()}
        return found

    def summary(self) -> list[dict[str, Any]]:
        """A row for each trace and policy, at the load of comparison."""
        rows = []
        for trace in self.traces:
            for policy in self.policies:
                row: dict[str, Any] = {"trace": trace, "policy": policy, "load_percent": self.load}
                for table in ("unallocated", "frag", "frag_ratio"):
                    ours = self.value(table, trace, policy)
                    theirs = self.value(table, trace, policy, published=True)
                    row["seeds"] = ours.num_seeds if ours else 0
                    row[f"{table}_percent"] = ours.mean if ours else None
                    row[f"{table}_std"] = ours.std if ours else None
                    row[f"{table}_published"] = theirs.mean if theirs else None
                    row[f"{table}_published_seeds"] = theirs.num_seeds if theirs else 0
                rows.append(row)
        return rows


def write_tables(results: Results, folder: Path, load: float) -> list[Path]:
    """allo, frag and frag_ratio in the form of the published tables, and the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = sorted(results.runs)
    width = max(len(run.columns.allo) for run in results.runs.values())
    written = []
    for table in TABLES:
        lines = []
        for key in keys:
            run = results.runs[key]
            devices = [run.capacity // 1000] if table == "allo" else []
            values = getattr(run.columns, table)
            cells = ["" if np.isnan(value) else repr(round(float(value), 9)) for value in values]
            lines.append([f"openb_pod_list_{key.trace}", key.policy, load, key.seed, *devices, *cells])
        head = ["workload", "sc_policy", "tune", "seed", *(["total_gpus"] if table == "allo" else []), *range(width)]
        written.append(_write_csv(folder / f"{table}.csv", head, lines))
    rows = results.summary()
    written.append(_write_csv(folder / "summary.csv", list(rows[0]), [list(row.values()) for row in rows]))
    return written


def _write_csv(path: Path, head: Sequence[Any], lines: Iterable[Sequence[Any]]) -> Path:
    with (
        replacing(path, "a table of an experiment", partial(_has_columns, head)) as beside,
        beside.open("w", encoding="utf-8", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    return path


def _has_columns(head: Sequence[Any], path: Path) -> bool:
    """A table of ours, of more loads or fewer."""
    return first_bytes(path).startswith(",".join(map(str, head[:NUM_NAMES])).encode() + b",")
