"""Runs for other tools: Parquet and CSV, a file a table.

In: a `Run` and a directory. Out: files, written by DuckDB row group by row group, in the order of the schema. The
files get their names when all are written, and are their owner's alone to read, as runs are. The
connection that has the run can write nothing; another one, that never saw the run's file, is handed the rows and
writes them. Traces are made by `perfetto`. Called by the command line and by people in notebooks.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb

from fairway.own_file import PRIVATE_MODE, check_own, first_bytes, replacing
from fairway.record.errors import CannotWriteError, RecordError, why_refused
from fairway.record.run import Run
from fairway.record.schema import TABLES
from fairway.record.table import Table
from fairway.words import FORMULA, UNSEEN, safe_cell, visible

__all__ = ["export_csv", "export_parquet", "export_rows", "export_table"]

MARK, MAGIC = "made_by_fairway", b"PAR1"
PARQUET = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA {{{MARK}: 'yes'}}"
CSV = "FORMAT csv, HEADER, USE_TMP_FILE false"
WHAT = "a table of a run"
PROBED = (*range(0x2100), *range(0xFE00, 0xFF00))
"""Where the characters are that `visible` writes out; surrogates, which it does too, are in no database."""


def export_parquet(run: Run, directory: str | os.PathLike[str], tables: Iterable[str] = TABLES) -> list[Path]:
    """Write each table to `<directory>/<table>.parquet`; returns the files."""
    return _export(run, Path(directory), tables, ".parquet", PARQUET)


def export_csv(run: Run, directory: str | os.PathLike[str], tables: Iterable[str] = TABLES) -> list[Path]:
    """Write each table to `<directory>/<table>.csv`, with a header; null is empty, an empty text is quoted.

    Texts are as a spreadsheet may read them: control characters are written out, and what would be calculated gets an
    apostrophe in front (`fairway.words`). Parquet has every text as it is.
    """
    return _export(run, Path(directory), tables, ".csv", CSV)


def export_table(run: Run, path: str | os.PathLike[str], table: str, rows: Table | None = None) -> Path:
    """Write one table to this file, in the form that its name ends in: .csv or .parquet; or only these rows of it."""
    path = Path(path)
    _check_tables([table])
    form = CSV if path.suffix == ".csv" else PARQUET
    with _connect() as writing, _replacing(table, path) as beside:
        _write(writing, run.tables[table] if rows is None else rows, beside, path, form)
    return path


def export_rows(path: str | os.PathLike[str], table: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows of no run as a file of one of a run's tables; what a row does not have is null."""
    path = Path(path)
    _check_tables([table])
    columns = TABLES[table].columns
    with _connect() as writing, _replacing(table, path) as beside:
        cursor = writing.cursor()
        cursor.execute(f"CREATE TABLE told ({', '.join(f'{one.name} {one.type}' for one in columns)})")
        if rows:
            marks = ", ".join("?" * len(columns))
            values = [[_told(row.get(one.name), path) for one in columns] for row in rows]
            cursor.executemany(f"INSERT INTO told VALUES ({marks})", values)
        target = str(beside.absolute()).replace("'", "''")
        try:
            cursor.execute(f"COPY told TO '{target}' ({CSV if path.suffix == '.csv' else PARQUET})")
        except duckdb.IOException as error:
            raise CannotWriteError(f"cannot write {path}: {why_refused(error)}") from error
    return path


def _told(value: Any, path: Path) -> Any:
    return safe_cell(visible(value)) if isinstance(value, str) and path.suffix == ".csv" else value


def _export(run: Run, directory: Path, tables: Iterable[str], suffix: str, form: str) -> list[Path]:
    wanted = list(tables)
    _check_tables(wanted)
    if directory.exists() and not directory.is_dir():
        raise CannotWriteError(f"cannot write to {directory}: it is a file, and tables go into a directory")
    paths = {name: directory / f"{name}{suffix}" for name in wanted}
    with _made(directory), _connect() as writing, contextlib.ExitStack() as stack:
        for name, path in paths.items():  # before the first is written
            check_own(path, WHAT, partial(_is_export, name), CannotWriteError)
        for name, path in paths.items():  # none gets its name before all are written
            _write(writing, run.tables[name], stack.enter_context(_replacing(name, path)), path, form)
    return list(paths.values())


@contextlib.contextmanager
def _made(directory: Path) -> Iterator[None]:
    """With that directory; if it was made for what the block writes, and that fails, it is no more."""
    made = [one for one in (directory, *directory.parents) if not one.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(f"cannot write to {directory}: {why_refused(error)}") from error
    try:
        yield
    except BaseException:
        for one in made:
            with contextlib.suppress(OSError):  # somebody else has put something there
                one.rmdir()
        raise


def _check_tables(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        raise RecordError(f"a run has no table {', '.join(unknown)}; its tables are {', '.join(TABLES)}")


def _replacing(name: str, path: Path) -> contextlib.AbstractContextManager[Path]:
    return replacing(path, WHAT, partial(_is_export, name), CannotWriteError, PRIVATE_MODE)


def _is_export(name: str, path: Path) -> bool:
    """Parquet has our name in its footer; of a CSV file, the columns are those of that table."""
    if path.suffix == ".parquet":
        with path.open("rb") as stream:
            if stream.read(4) != MAGIC or path.stat().st_size < 12:
                return False
            stream.seek(-8, os.SEEK_END)
            length = int.from_bytes(stream.read(4), "little")
            if not 0 < length <= path.stat().st_size - 12 or stream.read(4) != MAGIC:
                return False
            stream.seek(-8 - length, os.SEEK_END)
            return MARK.encode() in stream.read(length)
    beginning = first_bytes(path)
    header = ",".join(column.name for column in TABLES[name].columns).encode()
    return beginning.startswith(header) and (name != "meta" or b"fairway_version" in beginning)


def _connect() -> duckdb.DuckDBPyConnection:
    """One that never saw a run's file."""
    return duckdb.connect(":memory:", config={"autoload_known_extensions": "false"})


def _write(writing: duckdb.DuckDBPyConnection, table: Table, beside: Path, path: Path, form: str) -> None:
    target = str(beside.absolute()).replace("'", "''")
    columns = ", ".join(_safe_columns(table) if form == CSV else (f'"{name}"' for name in table.columns))
    cursor = writing.cursor()  # which draws no progress bar
    try:
        cursor.register("rows_of_run", table.stream())
        cursor.execute(f"COPY (SELECT {columns} FROM rows_of_run) TO '{target}' ({form})")
        cursor.unregister("rows_of_run")
    except duckdb.IOException as error:
        raise CannotWriteError(f"cannot write {path}: {why_refused(error)}") from error
    except duckdb.Error as error:
        raise table.problem(error) from error


def _safe_columns(table: Table) -> Iterator[str]:
    """Its columns in SQL, texts as `safe_cell` makes them of what `visible` makes of them.

    To write characters out is a long expression, which costs DuckDB more than to look for them; few tables have any.
    """
    shape = table.shape
    any_unseen = "".join(f"\\x{{{ord(character):x}}}" for character in _unseen())
    looks = {name: f"regexp_matches(\"{name}\", '[{any_unseen}]')" for name in shape if shape[name] == "VARCHAR"}
    has_unseen = bool(looks) and len(table.select("*").where(" OR ".join(looks.values()))) > 0
    begins = "".join(re.escape(character) for character in FORMULA if visible(character) == character)
    for name in shape:
        shown = plain = f'"{name}"'
        if name in looks:
            if has_unseen:
                for character in _unseen():
                    shown = f"replace({shown}, chr({ord(character)}), '{visible(character)}')"
                shown = f"CASE WHEN {looks[name]} THEN {shown} ELSE {plain} END"
            shown = f"regexp_replace({shown}, '^([{begins}])', '''\\1') AS {plain}"
        yield shown


@cache
def _unseen() -> tuple[str, ...]:
    return tuple(chr(code) for code in PROBED if UNSEEN.match(chr(code)))
