"""What may be in the file of a run: plain tables of the schema, and nothing that does anything.

In: an open DuckDB file that somebody else may have made, and a path to name in complaints. Out: nothing, or a
`RecordError`. A view, a macro that bears the name of a function, a generated column or a default are code that runs
when the table is read; a run has none of them. Called by `run_opening` before anything else is asked of the file.

What is asked here is asked by full names (`system.main.…`) and without functions: a file may hold others of the same
names. Everything of the file's own database counts, also what calls itself internal.
"""

from __future__ import annotations

import re
from typing import Any, Final

import duckdb

from fairway.record.errors import RecordError, quoted
from fairway.record.queues.queue_tables import QUEUE_COLUMNS
from fairway.record.schema import TABLES
from fairway.record.table_schema import Field, TableSchema

__all__ = ["LATER_TABLES", "amount_columns", "check_objects", "check_tables", "table_names"]

LATER_TABLES: Final = frozenset(
    (
        "data",
        "data_reads",
        "gaps",
        "holds",
        "job_decisions",
        "jobs",
        "job_states",
        "estimates",
        "plans",
        "closings",
        "charges",
    )
)
"""Tables that runs of older versions do not have."""
LATER_COLUMNS: Final = {
    "pods": frozenset(("gpu_index", "start_seconds", "leaving_seconds", "job_id")),
    "decisions": frozenset(("job_id", "job_decision_id")),
    "jobs": frozenset(column.name for column in QUEUE_COLUMNS),
    "job_states": frozenset(("limit_seconds", "queue")),
}
"""Columns that they do not have."""
AMOUNT_COLUMN: Final = re.compile(r"[a-z][a-z0-9_]{0,511}")
NO_DEFAULT: Final = frozenset((None, "0", "CAST('0' AS BIGINT)", "CAST(0 AS BIGINT)"))
"""What a column may hold that nobody wrote: nothing, or no amount."""

SIDE_OBJECTS: Final = (
    ("view", "duckdb_views", "view_name", ""),
    ("macro or function", "duckdb_functions", "function_name", ""),
    ("type", "duckdb_types", "type_name", "AND NOT internal"),  # built-in types count as every database's
    ("sequence", "duckdb_sequences", "sequence_name", ""),
    ("index", "duckdb_indexes", "index_name", ""),
    ("trigger", "duckdb_triggers", "trigger_name", ""),
)
"""What else a DuckDB file can hold: the word for it, the function that lists them, the column with the name."""
HAS_TRIGGERS: Final = int(duckdb.__version__.partition(".")[0]) >= 2


def check_objects(cursor: duckdb.DuckDBPyConnection, path: object) -> str:
    """Refuse a file with anything but tables of the schema `main`; returns the database's name."""
    databases = cursor.execute("SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal").fetchall()
    if len(databases) != 1:
        raise RecordError(f"{path} is no run: it opens {len(databases)} databases")
    database = str(databases[0][0])
    if database in ("system", "temp"):
        raise RecordError(f"{path} can not be told from DuckDB's own database {database}: rename the file")
    for word, function, column, but in SIDE_OBJECTS:
        if function == "duckdb_triggers" and not HAS_TRIGGERS:
            continue
        row = cursor.execute(
            f"SELECT {column} FROM system.main.{function}() WHERE database_name = ? {but} LIMIT 1", [database]
        ).fetchone()
        if row is not None:
            raise _foreign(path, f"a {word} {quoted(row[0])}")
    for (name,) in cursor.execute(
        "SELECT schema_name FROM system.main.duckdb_schemas() WHERE database_name = ?", [database]
    ).fetchall():
        if name != "main":
            raise _foreign(path, f"a schema {quoted(name)}")
    rows = cursor.execute(
        "SELECT constraint_type, table_name FROM system.main.duckdb_constraints() WHERE database_name = ?"
        " AND constraint_type <> 'NOT NULL' LIMIT 1",
        [database],
    ).fetchall()
    for kind, table in rows:
        raise _foreign(path, f"a constraint {kind} on its table {quoted(table)}")
    return database


def table_names(cursor: duckdb.DuckDBPyConnection, database: str) -> set[str]:
    """The tables that the file has."""
    rows = cursor.execute("SELECT table_name FROM system.main.duckdb_tables() WHERE database_name = ?", [database])
    return {name for (name,) in rows.fetchall()}


def check_tables(cursor: duckdb.DuckDBPyConnection, path: object, database: str, names: set[str]) -> None:
    """Refuse tables that a run does not have, and columns that are not as the schema says."""
    unknown = sorted(names - TABLES.keys())
    if unknown:
        raise _foreign(path, f"a table {quoted(unknown[0])}")
    columns: dict[str, dict[str, tuple[Any, ...]]] = {name: {} for name in names}
    for table, name, kind, is_nullable, default in cursor.execute(
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM system.main.duckdb_columns()"
        " WHERE database_name = ?",
        [database],
    ).fetchall():
        if table in columns:
            columns[table][name] = (kind, is_nullable, default)
    for table in TABLES.values():
        if table.name in names:
            _check_columns(path, table, columns[table.name])


def _check_columns(path: object, table: TableSchema, there: dict[str, tuple[Any, ...]]) -> None:
    known = {column.name: column for column in table.columns}
    missing = known.keys() - there.keys() - LATER_COLUMNS.get(table.name, frozenset())
    if missing:
        raise RecordError(f"{path} is damaged: its table {table.name} has no column {', '.join(sorted(missing))}")
    for name, (kind, is_nullable, default) in there.items():
        what = f"its table {table.name} has a column {quoted(name)}"
        column = known.get(name)
        if column is None:
            if not table.amounts or AMOUNT_COLUMN.fullmatch(name) is None:
                raise _foreign(path, f"a column {quoted(name)} of its table {table.name}")
            column = Field(name, "BIGINT", table.amounts, is_nullable=True)
        elif default is not None:
            raise RecordError(f"{path} is no run that Fairway wrote: {what} that is calculated")
        if kind != column.type:
            raise RecordError(f"{path} is no run that Fairway wrote: {what} of type {quoted(kind)}, not {column.type}")
        if default not in NO_DEFAULT:
            raise RecordError(f"{path} is no run that Fairway wrote: {what} that is calculated")
        if is_nullable and not column.is_nullable:
            raise RecordError(f"{path} is no run that Fairway wrote: {what} that may be null")


def amount_columns(cursor: duckdb.DuckDBPyConnection, path: object, database: str) -> dict[str, str]:
    """Resources by name, each with its column: one that all tables of amounts really have."""
    found = dict(cursor.execute("SELECT resource, amount_column FROM resources ORDER BY number").fetchall())
    tables = {name: table for name, table in TABLES.items() if table.amounts}
    rows = cursor.execute(
        "SELECT table_name, column_name FROM system.main.duckdb_columns() WHERE database_name = ?", [database]
    ).fetchall()
    for name, table in tables.items():
        if name in LATER_TABLES and not any(where == name for where, _ in rows):
            continue
        own = {column.name for column in table.columns}
        there = {column for where, column in rows if where == name and column not in own}
        if there != set(found.values()) or len(there) != len(found):
            odd = sorted(there ^ set(found.values())) or sorted(found.values())
            raise RecordError(
                f"{path} is no run that Fairway wrote: its table resources and the columns of {name} differ in "
                f"{quoted(odd[0])}"
            )
    return found


def _foreign(path: object, what: str) -> RecordError:
    return RecordError(f"{path} is no run that Fairway wrote: it holds {what}; it was not read any further")
