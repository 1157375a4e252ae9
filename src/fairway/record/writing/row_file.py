"""Rows on their way into the file of a run: all tables together, or none of them.

In: rows that `RunWriter` appends to the buffers. Out: transactions in a DuckDB file. What a failed one wanted to write
stays in the buffers, so that it can be tried again; after a failure that DuckDB does not survive the file is opened
anew, and looked at: the transaction may have taken effect all the same. A file that somebody removed meanwhile is
written again from the open one. While the file takes nothing, `drop_excess` keeps the buffers within bounds and counts
what it drops as a gap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb

from fairway.record.errors import CannotWriteError, RecordError, why_refused
from fairway.record.gaps import Gaps
from fairway.record.schema import TABLES, unit_of
from fairway.record.writing.buffer import Resources, RowChange, TableBuffer
from fairway.record.writing.private_files import PRIVATE
from fairway.record.writing.run_file import create_run, finish_run, partial_path, remove_partial, reopen_run, rescue_run
from fairway.record.writing.uninterrupted import uninterrupted

__all__ = ["Dropped", "RowFile"]

TEMPLATE = next(place for place, column in enumerate(TABLES["pods"].columns) if column.name == "template_id")
UNDROPPABLE = ("meta", "resources", "gaps", "templates")


class Dropped(NamedTuple):
    """What was dropped: numbers of rows by table, and which templates."""

    counts: dict[str, int]
    templates: set[int]


class RowFile:
    """The buffers of all tables, and the file they are written to."""

    def __init__(self, path: Path, change: RowChange | None = None) -> None:
        self.path = path
        self.resources = Resources()
        self.buffers = {name: TableBuffer(table, change) for name, table in TABLES.items()}
        self.failure: CannotWriteError | None = None  # why the last attempt to write failed
        self.num_dropped: dict[str, int] = {}  # rows by table, in all of the run
        self._gaps = Gaps()
        self._columns: list[str] = []  # of amounts: those the file's tables have
        self._waiting_bytes = 0
        self._is_dropping = False
        self._latest = 0.0  # the time that the last row weighed or dropped tells of
        self._attempted: dict[str, int] | None = None  # rows by table of a transaction whose fate is unknown
        self._connection: duckdb.DuckDBPyConnection | None = self._created()
        self._identity = _identity(partial_path(path))
        self.is_closed = False

    def _created(self) -> duckdb.DuckDBPyConnection:
        """A database with empty tables."""
        return create_run(self.path)

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all buffers out, together; if that can not be, nothing is written and nothing is lost."""
        if self.is_closed:
            raise RecordError(f"{self.path} is closed")
        try:
            with uninterrupted(), PRIVATE:
                self._write()
        except (duckdb.Error, OSError) as error:
            if not self._recover():
                self.failure = CannotWriteError(f"cannot write {self.path}: {why_refused(error)}")
                raise self.failure from error
        self.failure = None

    def _write(self) -> None:
        connection = self._in_place()
        self.buffers["gaps"].rows.extend(self._gaps.take_rows())
        known = len(self._columns)
        fresh = list(self.resources.columns.items())[known:]
        columns = [*self._columns, *(column for _, column in fresh)]
        self.buffers["resources"].rows[:] = [
            (number, resource, column, unit_of(resource)) for number, (resource, column) in enumerate(fresh, known)
        ]
        self._attempted = {name: len(buffer.rows) for name, buffer in self.buffers.items()}
        connection.execute("BEGIN")
        for column in columns[known:]:
            for table in TABLES.values():
                if table.amounts:
                    connection.execute(f'ALTER TABLE {table.name} ADD COLUMN "{column}" BIGINT DEFAULT 0')
        for buffer in self.buffers.values():
            buffer.write(connection, columns)
        connection.execute("COMMIT")
        self._succeeded()

    def _in_place(self) -> duckdb.DuckDBPyConnection:
        """The connection, once the file is where it was."""
        connection = self._open()
        if _identity(partial_path(self.path)) != self._identity:
            connection = self._rescue(connection)
        return connection

    def _succeeded(self) -> None:
        """What was attempted is in the file."""
        assert self._attempted is not None
        for name, number in self._attempted.items():
            self.buffers[name].drop_written(number)
        self._columns = list(self.resources.columns.values())[: len(self._columns) + self._attempted["resources"]]
        self._attempted = None
        self._waiting_bytes = 0
        self._is_dropping = False

    # -- after a failure ---------------------------------------------------------------------------------------------

    def _recover(self) -> bool:
        """End the transaction, and say whether it took effect; a database that has given itself up is opened anew."""
        if self._connection is None:
            return False
        try:
            with contextlib.suppress(duckdb.TransactionException):  # a COMMIT that failed has ended it already
                self._connection.execute("ROLLBACK")
            self._connection.execute("SELECT count(*) FROM meta")
        except duckdb.Error:
            self._disconnect()
            with contextlib.suppress(duckdb.Error, OSError):
                self._connection = self._reopen()
                return self._settle(self._connection)
        else:
            self._take_back()
        return False

    def _open(self) -> duckdb.DuckDBPyConnection:
        """The connection; one that was lost is made anew."""
        if self._connection is None:
            self._connection = self._reopen()
            self._settle(self._connection)
        return self._connection

    def _reopen(self) -> duckdb.DuckDBPyConnection:
        connection = reopen_run(self.path)
        self._identity = _identity(partial_path(self.path))
        return connection

    def _settle(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Find out what became of the last transaction, in a file that was opened again."""
        if self._attempted is None:
            return False
        name = next((name for name, number in self._attempted.items() if number), "meta")
        row = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
        assert row is not None
        took_effect: bool = row[0] == self.buffers[name].num_written + self._attempted[name]
        if took_effect:
            self._succeeded()
        else:
            self._take_back()
        return took_effect

    def _take_back(self) -> None:
        """The transaction had no effect: what it wanted to write waits on."""
        self._attempted = None
        self._gaps.give_back(self.buffers["gaps"].rows)
        self.buffers["gaps"].rows.clear()
        self.buffers["resources"].rows.clear()

    def _rescue(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        """Somebody removed the file; what is in it can still be read, and gets a new one."""
        self._connection = None
        try:
            rescue_run(connection, self.path)
        except BaseException:
            self._connection = connection  # to be tried again
            raise
        connection.close()
        return self._open()

    # -- bounds ------------------------------------------------------------------------------------------------------

    def drop_excess(self, max_bytes: int, templates_in_use: Callable[[], set[int]]) -> Dropped:
        """Keep what fits, drop what came after it; returns how many rows of which tables were dropped.

        From the first row that does not fit on, everything is dropped until the file takes rows again: one gap, with
        whole decisions before and after it. Manifests of pods that are still there are kept.
        """
        if not self._is_dropping:
            self._waiting_bytes += sum(buffer.weigh_new() for buffer in self.buffers.values())
            if self._waiting_bytes <= max_bytes:
                for buffer in self.buffers.values():
                    self._latest = max((self._latest, *buffer.new_times()))
                    buffer.keep_new()
                return Dropped({}, set())
            self._is_dropping = True
        attempted = self._attempted or {}
        times = [time for buffer in self.buffers.values() for time in buffer.new_times()] or [self._latest]
        self._latest = max(times)
        templates = self._drop_templates(templates_in_use(), attempted.get("templates", 0))
        counts = {"templates": len(templates)}
        for name, buffer in self.buffers.items():
            if name not in UNDROPPABLE:
                counts[name] = buffer.drop_new(attempted.get(name, 0))
        counts = {name: number for name, number in counts.items() if number}
        why = "" if self.failure is None else self.failure.what
        for name, number in counts.items():
            self.num_dropped[name] = self.num_dropped.get(name, 0) + number
            self._gaps.add(min(times), max(times), name, number, why)
        return Dropped(counts, templates)

    def _drop_templates(self, in_use: set[int], least: int) -> set[int]:
        """Drop manifests that no pod has, of those that are there and those that wait to be written."""
        rows = self.buffers["templates"].rows
        in_use = in_use | {row[TEMPLATE] for row in self.buffers["pods"].kept_rows()}
        gone = {row[0] for row in rows[least:]} - in_use
        rows[least:] = [row for row in rows[least:] if row[0] in in_use]
        self.buffers["templates"].keep_new()
        return gone

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, meta: dict[str, str]) -> None:
        """Give the written file its name."""
        if _identity(partial_path(self.path)) != self._identity:
            self._rescue(self._open())
        try:
            with uninterrupted():
                finish_run(self._open(), self.path, meta)
        finally:
            self._disconnect()
            self.is_closed = True

    def abandon(self) -> None:
        """Let go of the file as it is, under the name that it has while it is written."""
        self._disconnect()
        self.is_closed = True

    def discard(self) -> None:
        """Let go of a file in which there is nothing, and remove it."""
        self.abandon()
        with contextlib.suppress(OSError):
            remove_partial(self.path)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(duckdb.Error):
                self._connection.close()
            self._connection = None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is, whatever its name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
