"""The file of a run, opened for reading: by somebody who does not trust it.

In: a path. Out: a DuckDB connection and the run's `meta`, or a `RecordError` that says what is wrong with the file.
Runs are shared, so a file may be anybody's: it is opened read-only by a DuckDB that reaches no other file, no network
and no extension and whose settings are locked, and looked through (`run_catalog`, `run_contents`, `run_references`)
before it is used. Called by `Run`, and by `run_file` before a run is replaced.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, Final

import duckdb

from fairway.model import DecodeError
from fairway.model.nesting import check_nesting
from fairway.record.errors import RecordError
from fairway.record.opening.run_catalog import LATER_TABLES, amount_columns, check_objects, check_tables, table_names
from fairway.record.opening.run_contents import check_contents, check_meta_size
from fairway.record.opening.run_references import check_references
from fairway.record.schema import SCHEMA_VERSION, TABLES

__all__ = ["OpenRun", "is_locked", "open_run_file"]

OLDEST_VERSION: Final = 1  # of the tables, that is still read
FIRST_BLOCK: Final = 3 * 4096  # a DuckDB file is three headers, then blocks of equal size
MAGIC, MAGIC_AT = b"DUCK", 8
MOST_LOG_BYTES: Final = 1 << 30
"""A run that was interrupted may have a log beside it, which DuckDB reads into memory; writers keep it below 256 MB."""
MOST_MEMORY: Final = 4 << 30
LOCKED: Final = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "temp_directory": "",  # nothing is written beside somebody's file
    "lock_configuration": "true",
}
META_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "scenario": dict,
    "schedulers": list,
    "origin": str,
    "anonymous": bool,
    "seed": int,
    "policies": list,
    "options": dict,
    "source": dict,
    "complete": bool,
    "end_seconds": (int, float),
    "num_rows": dict,
    "fairway_version": str,
    "interruption": str,
    "began": (int, float),
}


Identity = tuple[str, int, int, int, int, int]
MOST_EXAMINED: Final = 256
EXAMINED: Final[dict[Identity, str]] = {}
"""Files that were looked through and found good, each with its database's name. A comparison opens each of its runs for
every part of its report: who was not changed since is not looked through again. One who could change a file without a
trace could do so just as well while it is open."""


class OpenRun:
    """An open file: questions are put to cursors of `connection`, which draw no progress bar."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, meta: dict[str, Any], resources: dict[str, str], missing: set[str]
    ) -> None:
        self.connection = connection
        self.meta = meta
        self.resources = resources  # by name, each with its column
        self.missing = missing  # tables of the schema that it does not have


def open_run_file(path: Path) -> OpenRun:
    """A run for reading."""
    _check_path(path)
    _check_magic(path)
    try:
        # The whole path: DuckDB takes a name such as `md:x` for an address.
        connection = duckdb.connect(str(path.absolute()), read_only=True, config=_settings())
    except (duckdb.Error, UnicodeError) as error:
        raise RecordError(_unreadable(path, error)) from error
    try:
        return _examine(connection, path)
    except (duckdb.Error, UnicodeError) as error:
        connection.close()
        raise RecordError(_unreadable(path, error)) from error
    except BaseException:
        connection.close()
        raise


def _settings() -> dict[str, str | bool | int | float | list[str]]:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        memory = MOST_MEMORY
    return {**LOCKED, "memory_limit": f"{min(MOST_MEMORY, memory * 4 // 5) >> 20}MiB"}


def _check_path(path: Path) -> None:
    """Nothing but a file: opening a pipe waits for ever, and a device is no run."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RecordError(f"there is no run {path}") from error
    except (OSError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISDIR(found.st_mode):
        raise RecordError(f"{path} is a directory; a run is one file")
    if not stat.S_ISREG(found.st_mode):
        raise RecordError(f"{path} is no run: it is not a regular file")
    log = path.with_name(path.name + ".wal")
    try:
        beside = log.lstat()
    except OSError:
        return
    if not stat.S_ISREG(beside.st_mode):
        raise RecordError(f"{path} can not be opened: {log} beside it is not a regular file; remove it")
    if beside.st_size > MOST_LOG_BYTES:
        raise RecordError(
            f"{path} can not be opened: {log} beside it has {beside.st_size:,} bytes, more than the "
            f"{MOST_LOG_BYTES:,} that are read; remove it"
        )


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


def _examine(connection: duckdb.DuckDBPyConnection, path: Path) -> OpenRun:
    before = identity(path)
    cursor = connection.cursor()
    database = EXAMINED.get(before) if before is not None else None
    is_known = database is not None
    if database is None:
        database = check_objects(cursor, path)
    names = table_names(cursor, database)
    if "meta" not in names:
        raise RecordError(f"{path} is a DuckDB file but no run: it has no table meta")
    meta = _meta(cursor, path)
    missing = TABLES.keys() - names
    if missing - LATER_TABLES:
        raise RecordError(f"{path} is damaged: it has no table {', '.join(sorted(missing - LATER_TABLES))}")
    if not is_known:
        check_tables(cursor, path, database, names)
    _check_whole(cursor, path)
    resources = amount_columns(cursor, path, database)
    if not is_known:
        check_contents(cursor, path, names, list(resources.values()))
        check_references(cursor, path, names, meta)
        if before is not None and before == identity(path):
            while len(EXAMINED) >= MOST_EXAMINED:
                del EXAMINED[next(iter(EXAMINED))]
            EXAMINED[before] = database
    return OpenRun(connection, meta, resources, missing)


def identity(path: Path) -> Identity | None:
    """What differs if the file was changed, or another is there; None if a log beside it is a part of it, too."""
    if path.with_name(path.name + ".wal").exists():
        return None
    found = path.stat()
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return (str(path.absolute()), found.st_dev, found.st_ino, found.st_size, *times)


def _meta(cursor: duckdb.DuckDBPyConnection, path: Path) -> dict[str, Any]:
    unversioned = f"{path} is a DuckDB file but no run: its table meta has no schema_version"
    shape = cursor.execute("SELECT * FROM meta LIMIT 0").description or []
    if [column[0] for column in shape] != ["key", "value"] or {str(column[1]) for column in shape} != {"VARCHAR"}:
        raise RecordError(unversioned)
    check_meta_size(cursor, path)
    meta: dict[str, Any] = {}
    try:
        for key, value in cursor.execute("SELECT key, value FROM meta").fetchall():
            check_nesting(value.encode(), "")
            meta[key] = json.loads(value)
        version = int(meta["schema_version"])
        if "profiles" in meta:  # as policies were called before
            meta.setdefault("policies", meta.pop("profiles"))
    except DecodeError as error:
        raise RecordError(f"{path} is no run that Fairway wrote: its table meta is {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise RecordError(unversioned) from error
    if version > SCHEMA_VERSION:
        raise RecordError(
            f"{path} was written by Fairway {meta.get('fairway_version', '?')} in version {version} of the tables; "
            f"this one reads version {SCHEMA_VERSION} at most. Update Fairway to read it."
        )
    if version < OLDEST_VERSION:
        raise RecordError(
            f"{path} was written by Fairway {meta.get('fairway_version', '?')} in version {version} of the tables; "
            f"this one reads version {OLDEST_VERSION} at least. Read it with the Fairway that wrote it."
        )
    for key, kind in META_TYPES.items():
        if key in meta and not isinstance(meta[key], kind):
            raise RecordError(f"{path} is no run that Fairway wrote: {key} in its table meta is of another kind")
    return meta


def _check_whole(cursor: duckdb.DuckDBPyConnection, path: Path) -> None:
    """DuckDB reads blocks when they are asked for: look now whether all are there."""
    row = cursor.execute("SELECT block_size, total_blocks FROM pragma_database_size()").fetchone()
    assert row is not None
    expected = FIRST_BLOCK + row[0] * row[1]
    actual = path.stat().st_size
    if actual < expected:
        raise RecordError(f"{path} is cut off: it has {actual:,} of {expected:,} bytes")


def is_locked(text: str) -> bool:
    """Does DuckDB say that another process has the file?"""
    return "lock on file" in text


def _unreadable(path: Path, error: Exception) -> str:
    text = str(error)
    if "not a valid DuckDB" in text:
        return f"{path} is no run: it is not a DuckDB file"
    if "enough bytes" in text:
        return f"{path} is cut off or damaged: {text}"
    if is_locked(text) or "different configuration" in text:
        return f"{path} is still being written"
    return f"cannot read {path}: {text}"
