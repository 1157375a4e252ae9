"""The file of a run while it is written: made under another name, renamed when it is whole.

In: a path. Out: DuckDB connections for `RunWriter`, or a `CannotWriteError`. A file is its owner's alone to read, for
a cluster's names and numbers are in it. `run_opening` opens what was written here.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from fairway.record.errors import CannotWriteError, RecordError, why_refused
from fairway.record.opening.run_opening import is_locked, open_run_file
from fairway.record.schema import TABLES
from fairway.record.writing.private_files import PRIVATE

__all__ = [
    "check_replaceable",
    "create_run",
    "finish_run",
    "partial_path",
    "remove_partial",
    "reopen_run",
    "rescue_run",
]

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
        open_run_file(path).connection.close()
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
        with PRIVATE:
            connection = _connect(partial)
            try:
                connection.begin()  # all at once: every commit waits for the disk
                for table in TABLES.values():
                    connection.execute(table.creation)
                connection.commit()
            except duckdb.Error:
                connection.close()
                raise
    except (duckdb.Error, OSError) as error:
        if not is_locked(str(error)):
            _remove(partial)  # there is nothing in it yet
        raise CannotWriteError(f"cannot write {path}: {why_refused(error)}") from error
    return connection


def _connect(partial: Path) -> duckdb.DuckDBPyConnection:
    # One thread: the simulation has the other cores, and rows keep their order for free.
    connection = duckdb.connect(str(partial.absolute()), config={"threads": 1, "memory_limit": "512MB"})
    connection.execute(NO_BAR)
    connection.execute("SET pandas_analyze_sample = 0")  # columns of objects are texts; do not guess
    connection.execute("SET wal_autocheckpoint = '256MB'")
    return connection


def reopen_run(path: Path) -> duckdb.DuckDBPyConnection:
    """The file that `create_run` made, opened again to go on with it; raises what DuckDB does."""
    partial = partial_path(path)
    if not partial.is_file():  # DuckDB would make a new one
        raise FileNotFoundError(f"{partial} was removed while it was being written")
    with PRIVATE:
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
    target = str(fresh.absolute()).replace("'", "''")
    with PRIVATE:
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
        with PRIVATE:
            connection.begin()
            connection.execute("DELETE FROM meta WHERE key IN (SELECT unnest(?))", [list(meta)])
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [list(item) for item in meta.items()])
            connection.commit()
            connection.execute("CHECKPOINT")
            connection.close()
        partial.replace(path)
    except (duckdb.Error, OSError) as error:
        raise CannotWriteError(f"cannot finish {path}: {why_refused(error)}", partial) from error


def _check_unused(partial: Path) -> None:
    """Raise if somebody is writing that file."""
    try:
        duckdb.connect(str(partial.absolute()), config={"threads": 1, "memory_limit": "512MB"}).close()
    except duckdb.Error as error:
        if is_locked(str(error)):
            raise CannotWriteError(f"{partial} is being written by another process") from error


def remove_partial(path: Path) -> None:
    """Remove what a writer of this run has left."""
    _remove(partial_path(path))


def _remove(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    partial.with_name(partial.name + ".wal").unlink(missing_ok=True)
