"""Results of the order-only experiments as others published them: tables by load, and placements one by one.

In: a folder. Its tables (`allo`, `frag`, `frag_ratio`; CSV, plain or gzip) have a row for each workload, policy and
seed and a column for each percent of load; its placement files (`placements_<trace>_<policy>_seed<n>.csv`) a row for
each arrival. Out: `Expected`. Whatever cannot be read is a `DecodeError` with its place; other files are listed as not
understood. Called by `conformance --openb` and by the reports of `compare`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from fairway.experiments.ordered_cluster import RunKey
from fairway.model import DecodeError
from fairway.trace.csv_rows import Row, read_rows
from fairway.trace.problems import Problems

__all__ = ["TABLES", "Expected", "ExpectedTable", "PlacementRow", "read_expected", "read_placements"]

TABLES: Final = ("allo", "frag", "frag_ratio")
TUNE: Final = 1.3
"""The load at which the recorded orders end, as a multiple of the cluster's devices."""

KEYS: Final = ("workload", "sc_policy", "seed")
PLACEMENTS: Final = re.compile(r"placements_(.+)_([^_]+)_seed([0-9]{1,18})\.csv(\.gz)?")
PLACEMENT_COLUMNS: Final = ("i", "pod", "node", "gpu_index")
LIST: Final = "openb_pod_list_"
NUMBERED: Final = re.compile(r"[0-9]+-")


@dataclass(frozen=True)
class ExpectedTable:
    """A table: for each run its values by load in percent."""

    name: str  # one of TABLES
    path: Path
    rows: dict[RunKey, dict[int, float]] = field(default_factory=dict)
    other_loads: list[str] = field(default_factory=list)  # rows that were tuned to another load


@dataclass(frozen=True)
class Expected:
    """All that a folder holds."""

    folder: Path
    tables: list[ExpectedTable]
    placements: dict[RunKey, Path]
    ignored: list[str]  # files that are neither

    def keys(self) -> list[RunKey]:
        """Every run that anything is known about, in order."""
        return sorted({*(key for table in self.tables for key in table.rows), *self.placements})

    def table(self, name: str) -> dict[RunKey, dict[int, float]]:
        """All rows of the tables of that name together."""
        return {key: values for table in self.tables if table.name == name for key, values in table.rows.items()}


class PlacementRow(NamedTuple):
    """What became of one arrival."""

    number: int
    pod: str
    node: str  # "" if it was not placed
    devices: str  # "3", "0-1-2", or ""
    used_milli: int | None
    frag_milli: float | None


def read_expected(folder: str | Path) -> Expected:
    """Everything in the folder; `DecodeError` if there is nothing to compare with."""
    folder = Path(folder)
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise DecodeError(f"cannot be read: {error.strerror or error}", source=str(folder)) from error
    tables, placements, ignored = [], {}, []
    for path in files:
        if match := PLACEMENTS.fullmatch(path.name):
            placements[RunKey(match[1], match[2], int(match[3]))] = path
        elif name := _table_name(path.name):
            tables.append(_read_table(name, path))
        else:
            ignored.append(path.name)
    if not tables and not placements:
        wanted = "allo.csv, frag.csv, frag_ratio.csv (or .gz), or placements_<trace>_<policy>_seed<n>.csv"
        raise DecodeError(f"has nothing to compare with; wanted: {wanted}", source=str(folder))
    return Expected(folder, tables, placements, ignored)


def read_placements(path: Path) -> Iterator[PlacementRow]:
    """The rows of a placement file, in order."""
    for row in read_rows(path, PLACEMENT_COLUMNS, Problems(strict=True)):
        cells = row.cells
        used, frag = cells.get("used_gpu_milli", ""), cells.get("frag_gpu_milli", "")
        yield PlacementRow(
            _whole(row, "i", path),
            cells["pod"],
            cells["node"],
            cells["gpu_index"],
            _whole(row, "used_gpu_milli", path) if used else None,
            _number(frag, row, path) if frag else None,
        )


def _table_name(file: str) -> str | None:
    stem = file.removesuffix(".gz")
    if not stem.endswith(".csv"):
        return None
    stem = stem.removesuffix(".csv").removeprefix("analysis_").removesuffix("_discrete")
    return stem if stem in TABLES else None


def _read_table(name: str, path: Path) -> ExpectedTable:
    table = ExpectedTable(name, path)
    for row in read_rows(path, KEYS, Problems(strict=True)):
        cells = row.cells
        key = RunKey(
            cells["workload"].removeprefix(LIST), NUMBERED.sub("", cells["sc_policy"], 1), _whole(row, "seed", path)
        )
        if key in table.rows:
            raise DecodeError(f"has a second row for {key}", source=f"{path}:{row.line}")
        tune = cells.get("tune", "")
        if tune and _number(tune, row, path) != TUNE:
            table.other_loads.append(f"{key}: tuned to {tune} times the devices; the recorded orders are for {TUNE}")
            continue
        table.rows[key] = {
            int(column): _number(text, row, path) for column, text in cells.items() if column.isdigit() and text
        }
    return table


def _whole(row: Row, column: str, path: Path) -> int:
    text = row.cells[column]
    if not text.isascii() or not text.isdigit():
        raise DecodeError(f"{column} must be a whole number, not {text[:40]!r}", source=f"{path}:{row.line}")
    return int(text)


def _number(text: str, row: Row, path: Path) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DecodeError(f"must be a number: {text[:40]!r}", source=f"{path}:{row.line}")
    return number
