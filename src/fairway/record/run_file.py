"""The file of a run: made under another name, renamed when it is whole; opened with care.

In: a path. Out: DuckDB connections, for `RunWriter` (a new file) and `Run` (an existing one), or a `RecordError` that
says what is wrong with the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

from fairway.record.errors import CannotWriteError, RecordError, why_refused
from fairway.record.schema import SCHEMA_VERSION, TABLES

__all__ = [
    "check_replaceable",
    "create_run",
    "finish_run",
    "missing_tables",
    "open_run_file",
    "partial_path",
    "remove_partial",
    "reopen_run",
    "rescue_run",
]

FIRST_BLOCK = 3 * 4096  # a DuckDB file is three headers, then blocks of equal size
MAGIC, MAGIC_AT = b"DUCK", 8
LATER_TABLES = frozenset(("gaps",))
"""Tables that runs of older versions do not have."""
NO_BAR = "SET enable_progress_bar = false"  # where DuckDB takes people to be watching, it draws one on stdout


def partial_path(path: Path) -> Path:
    """What a run is called while it is being written."""
    return path.with_name(path.name + ".partial")


def check_replaceable(path: Path) -> None:
    """A run may take the place of an earlier one, or of nothing: whatever else is there is somebody's work."""
    if path.is_dir():
        raise CannotWriteError(f"{path} is a directory; a run is one file")
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return
    try:
        if not path.is_file():
            raise RecordError(f"{path} is not a regular file")
        open_run_file(path)[0].close()
    except (RecordError, OSError) as error:
        raise CannotWriteError(f"{path} is there already, and no run that could be replaced: {error}") from error


def create_run(path: Path) -> duckdb.DuckDBPyConnection:
    """A new file with empty tables, beside `path`; what an earlier writer left there is removed."""
    partial = partial_path(path)
    check_replaceable(path)
    if not path.parent.is_dir():
        raise CannotWriteError(f"cannot write {path}: there is no directory {path.parent}")
    try:
        if partial.exists():
            _check_unused(partial)
            _remove(partial)
        connection = _connect(partial)
        for table in TABLES.values():
            connection.execute(table.creation)
    except (duckdb.Error, OSError) as error:
        raise CannotWriteError(f"cannot write {path}: {why_refused(error)}") from error
    return connection


def _connect(partial: Path) -> duckdb.DuckDBPyConnection:
    # One thread: the simulation has the other cores, and rows keep their order for free.
    connection = duckdb.connect(str(partial), config={"threads": 1, "memory_limit": "512MB"})
    connection.execute(NO_BAR)
    connection.execute("SET pandas_analyze_sample = 0")  # columns of objects are texts; do not guess
    connection.execute("SET wal_autocheckpoint = '256MB'")
    return connection


def reopen_run(path: Path) -> duckdb.DuckDBPyConnection:
    """The file that `create_run` made, opened again to go on with it; raises what DuckDB does."""
    partial = partial_path(path)
    if not partial.is_file():  # DuckDB would make a new one
        raise FileNotFoundError(f"{partial} was removed while it was being written")
    return _connect(partial)


def rescue_run(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write a file anew that was removed while it was open; raises what DuckDB and the operating system do."""
    partial = partial_path(path)
    if partial.exists():
        raise FileExistsError(f"{partial} was replaced while it was being written")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the directory {path.parent} was removed")
    fresh = partial.with_name(partial.name + ".new")
    _remove(fresh)
    row = connection.execute("SELECT current_database()").fetchone()
    assert row is not None
    target = str(fresh).replace("'", "''")
    connection.execute(f"ATTACH '{target}' AS rescued")
    try:
        connection.execute(f'COPY FROM DATABASE "{row[0]}" TO rescued')
    finally:
        connection.execute("DETACH rescued")
    fresh.replace(partial)


def finish_run(connection: duckdb.DuckDBPyConnection, path: Path, meta: dict[str, str]) -> None:
    """Add the last of what `meta` says and give a written file its name, at once and whole."""
    partial = partial_path(path)
    try:
        connection.execute("DELETE FROM meta WHERE key IN (SELECT unnest(?))", [list(meta)])
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(item) for item in meta.items()])
        connection.execute("CHECKPOINT")
        connection.close()
        partial.replace(path)
    except (duckdb.Error, OSError) as error:
        raise CannotWriteError(f"cannot finish {path}: {why_refused(error)}", partial) from error


def open_run_file(path: Path) -> tuple[duckdb.DuckDBPyConnection, dict[str, Any]]:
    """A run for reading, and its `meta`."""
    if not path.exists():
        raise RecordError(f"there is no run {path}")
    if path.is_dir():
        raise RecordError(f"{path} is a directory; a run is one file")
    _check_magic(path)
    try:
        connection = duckdb.connect(str(path), read_only=True)
        connection.execute(NO_BAR)
    except duckdb.Error as error:
        raise RecordError(_unreadable(path, error)) from error
    try:
        meta = _meta(connection, path)
        _check_whole(connection, path)
    except duckdb.Error as error:
        connection.close()
        raise RecordError(_unreadable(path, error)) from error
    except RecordError:
        connection.close()
        raise
    return connection, meta


def _check_magic(path: Path) -> None:
    """DuckDB goes looking on the network for what reads files of other databases: such a file never reaches it."""
    try:
        with path.open("rb") as file:
            head = file.read(MAGIC_AT + len(MAGIC))
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror}") from error
    if not head:
        raise RecordError(f"{path} is no run: it is empty")
    if not head[MAGIC_AT:].startswith(MAGIC[: len(head[MAGIC_AT:])]):
        raise RecordError(f"{path} is no run: it is not a DuckDB file")


def _meta(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, Any]:
    tables = TABLES.keys() - missing_tables(connection)
    if "meta" not in tables:
        raise RecordError(f"{path} is a DuckDB file but no run: it has no table meta")
    try:
        meta = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta").fetchall()}
        version = int(meta["schema_version"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is a DuckDB file but no run: its table meta has no schema_version") from error
    if version > SCHEMA_VERSION:
        raise RecordError(
            f"{path} was written by Fairway {meta.get('fairway_version', '?')} in version {version} of the tables; "
            f"this one reads version {SCHEMA_VERSION} at most. Update Fairway to read it."
        )
    missing = TABLES.keys() - tables - LATER_TABLES
    if missing:
        raise RecordError(f"{path} is damaged: it has no table {', '.join(sorted(missing))}")
    return meta


def missing_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables of the schema that a file does not have."""
    there = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return TABLES.keys() - there


def _check_whole(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """DuckDB reads blocks when they are asked for: look now whether all are there."""
    row = connection.execute("SELECT block_size, total_blocks FROM pragma_database_size()").fetchone()
    assert row is not None
    expected = FIRST_BLOCK + row[0] * row[1]
    actual = path.stat().st_size
    if actual < expected:
        raise RecordError(f"{path} is cut off: it has {actual:,} of {expected:,} bytes")


def _check_unused(partial: Path) -> None:
    """Raise if somebody is writing that file."""
    try:
        duckdb.connect(str(partial), config={"threads": 1, "memory_limit": "512MB"}).close()
    except duckdb.Error as error:
        if _is_locked(str(error)):
            raise CannotWriteError(f"{partial} is being written by another process") from error


def _is_locked(text: str) -> bool:
    return "lock on file" in text


def remove_partial(path: Path) -> None:
    """Remove what a writer of this run has left."""
    _remove(partial_path(path))


def _remove(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    partial.with_name(partial.name + ".wal").unlink(missing_ok=True)


def _unreadable(path: Path, error: duckdb.Error) -> str:
    text = str(error)
    if "not a valid DuckDB" in text:
        return f"{path} is no run: it is not a DuckDB file"
    if "enough bytes" in text:
        return f"{path} is cut off or damaged: {text}"
    if _is_locked(text) or "different configuration" in text:
        return f"{path} is still being written"
    return f"cannot read {path}: {text}"
