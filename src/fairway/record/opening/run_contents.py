"""What the rows of a run may say: nothing that would take all memory, or that no recording says.

In: an open file whose tables are those of the schema. Out: nothing, or a `RecordError`. DuckDB packs what repeats
itself, so a small file may hold a table that no memory holds; numbers of nodes and pods become places in arrays; times
become dates. Called by `run_opening`, once, before anything is read; one pass over each table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb

from fairway.record.errors import RecordError
from fairway.record.schema import TABLES
from fairway.record.table_schema import TableSchema

__all__ = ["check_contents", "check_meta_size"]

MOST_TEXT: Final = 16 << 20  # bytes of one cell; an API server takes objects of 1.5 MB
MOST_META: Final = 256 << 20  # bytes in all
FREE_ROWS: Final = 4_000_000  # of any file; and a row for every two bytes of it
FREE_TEXT: Final = 1 << 30  # bytes of any file; and so many times its size:
MOST_TEXT_RATIO: Final = 64
LATEST_SECONDS: Final = 1e11  # three thousand years
MOST_IDS: Final = {
    "node_id": 1 << 24,
    "pod_id": 1 << 26,
    "victim_id": 1 << 26,
    "blocking_pod_id": 1 << 26,
    "job_id": 1 << 26,
}
"""How high numbers go that are places in arrays."""
GPU_INDEX: Final = "[0-9]{1,4}(-[0-9]{1,4})*"


def check_meta_size(cursor: duckdb.DuckDBPyConnection, path: Path) -> None:
    """The table that is read first, and whole."""
    row = cursor.execute("SELECT count(*), coalesce(sum(strlen(key) + strlen(value)), 0) FROM meta").fetchone()
    assert row is not None
    if row[0] > 1000 or row[1] > MOST_META:
        raise RecordError(f"{path} is no run that Fairway wrote: its table meta has {row[0]:,} rows, {row[1]:,} bytes")


def check_contents(cursor: duckdb.DuckDBPyConnection, path: Path, names: set[str], amounts: list[str]) -> None:
    """Everything else."""
    size = path.stat().st_size
    most_rows, most_text = FREE_ROWS + size // 2, FREE_TEXT + MOST_TEXT_RATIO * size
    tables = [table for name, table in TABLES.items() if name in names]
    num_rows = {table.name: _one(cursor, f"SELECT count(*) FROM {table.name}")[0] for table in tables}
    if sum(num_rows.values()) > most_rows:
        raise RecordError(
            f"{path} is no run that Fairway wrote: it has {sum(num_rows.values()):,} rows in {size:,} bytes"
        )
    text = 0
    for table in tables:
        if num_rows[table.name]:
            text += _check_table(cursor, path, table, amounts)
            if text > most_text:
                raise RecordError(f"{path} is no run that Fairway wrote: it has {text:,} bytes of text in {size:,}")
    lost = _one(cursor, "SELECT count(*) FROM pods ANTI JOIN templates USING (template_id)")[0]
    if lost:
        raise RecordError(f"{path} is damaged: {lost:,} of its pods have no row in its table templates")


def _check_table(cursor: duckdb.DuckDBPyConnection, path: Path, table: TableSchema, amounts: list[str]) -> int:
    """One table; returns how many bytes of text it has."""
    there = {column[0] for column in cursor.execute(f"SELECT * FROM {table.name} LIMIT 0").description or ()}
    columns = [column for column in table.columns if column.name in there]
    texts = [column.name for column in columns if column.type == "VARCHAR"]
    times = [column.name for column in columns if column.type == "DOUBLE"]
    numbers = [column.name for column in columns if column.type in ("INTEGER", "BIGINT") and column.name[-3:] == "_id"]
    asked = [f"max(strlen({name})), coalesce(sum(strlen({name})), 0)" for name in texts]
    asked += [f"bool_and({name} BETWEEN {-LATEST_SECONDS} AND {LATEST_SECONDS})" for name in times]
    asked += [f"min({name}), max({name})" for name in numbers]
    asked += [f'count("{name}") = count(*)' for name in amounts if table.amounts]
    if "gpu_index" in there:
        asked.append(f"bool_and(gpu_index = '' OR regexp_full_match(gpu_index, '{GPU_INDEX}'))")
    answers = iter(_one(cursor, f"SELECT {', '.join(asked)} FROM {table.name}"))
    total = 0
    for name in texts:
        longest, sum_ = next(answers), next(answers)
        total += sum_
        if table.name != "meta" and (longest or 0) > MOST_TEXT:
            raise _odd(path, table, name, f"a text of {longest:,} bytes")
    for name in times:
        if next(answers) is False:
            raise _odd(path, table, name, "a time that is none")
    for name in numbers:
        least, most = next(answers), next(answers)
        if least is not None and (least < 0 or most >= MOST_IDS.get(name, 1 << 62)):
            raise _odd(path, table, name, f"a number out of bounds ({least if least < 0 else most})")
    for name in amounts if table.amounts else ():
        if not next(answers):
            raise _odd(path, table, name, "no amount in some rows")
    if "gpu_index" in there and next(answers) is False:
        raise _odd(path, table, "gpu_index", "what names no devices")
    return total


def _odd(path: Path, table: TableSchema, column: str, what: str) -> RecordError:
    return RecordError(f"{path} is no run that Fairway wrote: its table {table.name} has {what} in the column {column}")


def _one(cursor: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    row = cursor.execute(query).fetchone()
    assert row is not None
    return row
