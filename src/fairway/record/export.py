"""Runs for other tools: Parquet and CSV, a file a table.

In: a `Run` and a directory. Out: files, written by DuckDB row group by row group, in the order of the schema. Traces
are made by `perfetto`. Called by the command line and by people in notebooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from fairway.record.errors import CannotWriteError, RecordError
from fairway.record.run import Run
from fairway.record.schema import TABLES

__all__ = ["export_csv", "export_parquet"]


def export_parquet(run: Run, directory: str | os.PathLike[str], tables: Iterable[str] = TABLES) -> list[Path]:
    """Write each table to `<directory>/<table>.parquet`; returns the files."""
    return _export(run, Path(directory), tables, ".parquet", "FORMAT parquet, COMPRESSION zstd")


def export_csv(run: Run, directory: str | os.PathLike[str], tables: Iterable[str] = TABLES) -> list[Path]:
    """Write each table to `<directory>/<table>.csv`, with a header; null is empty, an empty text is quoted."""
    return _export(run, Path(directory), tables, ".csv", "FORMAT csv, HEADER")


def _export(run: Run, directory: Path, tables: Iterable[str], suffix: str, form: str) -> list[Path]:
    wanted = list(tables)
    unknown = [name for name in wanted if name not in TABLES]
    if unknown:
        raise RecordError(f"a run has no table {', '.join(unknown)}; its tables are {', '.join(TABLES)}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(f"cannot write to {directory}: {error}") from error
    written = []
    for name in wanted:
        path = directory / f"{name}{suffix}"
        run.tables[name].copy_to(path, form)
        written.append(path)
    return written
