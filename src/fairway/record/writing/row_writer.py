"""A writer's dealings with its file: when rows are written, what happens if they can not be, and how a run ends.

In: rows in the buffers of a `RowFile`, and what `RunWriter`, which is one of these, still has of its own. Out: a file
with its name, whole or marked as incomplete; a `CannotWriteError` that says what is wrong with the disk and where the
rest is; or, with `Patience`, rows that wait in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from fairway.record.errors import CannotWriteError, RecordError
from fairway.record.writing.buffer import RowChange
from fairway.record.writing.row_file import RowFile
from fairway.record.writing.run_file import partial_path

__all__ = ["Patience", "RowWriter"]


class Patience(NamedTuple):
    """What to do with a file that takes no rows: keep them in memory, up to so many bytes, and tell."""

    max_bytes: int
    failed: Callable[[CannotWriteError], None]  # each time
    dropped: Callable[[Mapping[str, int]], None]  # rows by table, which will be missing in the run


class RowWriter:
    """Writes rows, a chunk at a time, and ends a run."""

    def __init__(self, path: Path, chunk_rows: int, change: RowChange | None = None) -> None:
        self.path = path
        self._file = self._made_file(path, change)
        self._buffers = self._file.buffers
        self._patience: Patience | None = None
        self._chunk_rows = self._chunk = chunk_rows
        self._is_over = False

    def _made_file(self, path: Path, change: RowChange | None) -> RowFile:
        """Where rows go."""
        return RowFile(path, change)

    def _begin(self, meta: Mapping[str, str], patience: Patience | None) -> None:
        """Write the first rows. A file that does not even take these is an error, however patient we are."""
        self._buffers["meta"].rows.extend(meta.items())
        try:
            self.flush()
        except CannotWriteError:
            self._file.discard()
            raise
        self._patience = patience

    @property
    def is_recording(self) -> bool:
        """It keeps what it is told."""
        return True

    def __enter__(self) -> Self:
        return self

    @property
    def is_failing(self) -> bool:
        """Did the last attempt to write fail?"""
        return self._file.failure is not None

    @property
    def num_dropped(self) -> dict[str, int]:
        """Rows by table that the run lacks, because the file could not be written for too long."""
        return self._file.num_dropped

    @property
    def num_waiting(self) -> int:
        """Rows that are not in the file yet."""
        return sum(len(buffer.rows) for buffer in self._buffers.values())

    # -- what the writer of a kind of run adds -----------------------------------------------------------------------

    def _gather(self) -> None:
        """Put rows into the buffers that were held back until they are written."""

    def _gather_open(self) -> None:
        """Put rows into the buffers of what is still open at the end of the run; called once."""

    def _templates_in_use(self) -> set[int]:
        """Templates that rows to come will name."""
        return set()

    def _forget_templates(self, numbers: set[int]) -> None:
        """These will not be in the file."""

    # -- the file ----------------------------------------------------------------------------------------------------

    def _append(self, table: str, row: tuple[Any, ...]) -> None:
        rows = self._buffers[table].rows
        rows.append(row)
        if len(rows) >= self._chunk:
            self.flush()

    def flush(self, *, again: bool = False) -> None:
        """Write all buffers out, together. A patient writer tries a file that failed only if told to try `again`."""
        self._gather()
        if self._file.failure is None or again:
            try:
                self._file.write()
            except CannotWriteError as error:
                if self._patience is None:
                    raise
                self._patience.failed(error)
            else:
                self._chunk = self._chunk_rows
                return
        if self._patience is not None:
            self._drop_excess(self._patience.max_bytes)
        # Rows wait in the buffers: look again when there are as many new ones.
        self._chunk = self._chunk_rows + max(len(buffer.rows) for buffer in self._buffers.values())

    def _drop_excess(self, max_bytes: int) -> None:
        assert self._patience is not None
        dropped = self._file.drop_excess(max_bytes, self._templates_in_use)
        self._forget_templates(dropped.templates)
        if dropped.counts:
            self._patience.dropped(dropped.counts)

    def close(self, t_end: float) -> None:
        """The run is over: write what is open, and give the file its name."""
        self._finish(t_end, {"complete": True})

    def interrupt(self, t_end: float | None, why: str) -> None:
        """The run ends before its time; what is known is kept and marked as incomplete."""
        self._finish(t_end, {"interruption": why})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """An exception, or leaving without `close`, interrupts the run."""
        if self._is_over:
            return
        try:
            self.interrupt(None, "not closed" if kind is None else f"{kind.__name__}: {error}".rstrip(": "))
        except RecordError as problem:  # the disk is full, say: what it took is in the partial file
            if error is None:
                raise
            if isinstance(error, CannotWriteError) and isinstance(problem, CannotWriteError):
                error.left = problem.left
        else:
            if isinstance(error, CannotWriteError):
                error.left = self.path

    def _finish(self, t_end: float | None, ending: dict[str, Any]) -> None:
        if self._is_over:
            raise RecordError(f"{self.path} is closed")
        self._is_over = True  # whatever comes of it: these rows are made once
        self._gather_open()
        self._gather()
        try:
            self._write_last(ending)
            ending["num_rows"] = {name: buffer.num_written for name, buffer in self._buffers.items() if name != "meta"}
            if t_end is not None:
                ending["end_seconds"] = t_end
            self._file.finish({key: json.dumps(value) for key, value in ending.items()})
        except CannotWriteError as error:
            error.left = partial_path(self.path)
            raise
        finally:
            self._file.abandon()

    def _write_last(self, ending: dict[str, Any]) -> None:
        """There is no later: of what the file does not take, it shall at least say that it is missing."""
        try:
            self._file.write()
        except CannotWriteError as error:
            if self._patience is None:
                raise
            self._patience.failed(error)
            ending.pop("complete", None)
            ending["interruption"] = error.what
            self._drop_excess(0)
            self._file.write()
