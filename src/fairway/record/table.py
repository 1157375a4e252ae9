"""A table of a run, or any question put to one, in the form the user likes.

Made by `Run`. Nothing is read until it is asked for: `numpy`, `pandas`, `polars`, `arrow` give all rows at once, `rows`
gives them one by one.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from fairway.record.errors import RecordError

__all__ = ["Question", "Table"]

NUM_FETCHED = 10_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question in SQL that can be made narrower."""

    source: str  # a table, or a query in brackets
    order: str = ""
    conditions: tuple[str, ...] = ()
    selected: str = "*"

    def __str__(self) -> str:
        if not self.conditions and self.selected == "*" and self.source.startswith("("):
            return self.source[1:-1]
        where = " AND ".join(f"({condition})" for condition in self.conditions)
        return (
            f"SELECT {self.selected} FROM {self.source}"
            + (f" WHERE {where}" if where else "")
            + (f" ORDER BY {self.order}" if self.order else "")
        )


class Table:
    """Rows and named columns."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        path: Path,
        question: Question,
        parameters: Sequence[Any] = (),
    ) -> None:
        self._connection = connection
        self._path = path
        self._question = question
        self.parameters = tuple(parameters)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def __len__(self) -> int:
        return int(self._execute(f"SELECT count(*) FROM ({self.sql})").fetchall()[0][0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    @property
    def sql(self) -> str:
        """The question in DuckDB's SQL; `parameters` belong to it."""
        return str(self._question)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self.shape)

    @property
    def shape(self) -> dict[str, str]:
        """The columns' types by name, in DuckDB's words."""
        cursor = self._execute(f"SELECT * FROM ({self.sql}) LIMIT 0")
        return {column[0]: str(column[1]) for column in cursor.description or ()}

    def where(self, condition: str, *parameters: Any) -> Table:
        """The rows that satisfy a condition in SQL, with `?` for each parameter: `where("node = ?", "n-1")`.

        The condition is about the columns that `select` chose from, not about those it made.
        """
        question = replace(self._question, conditions=(*self._question.conditions, condition))
        return Table(self._connection, self._path, question, (*self.parameters, *parameters))

    def select(self, *expressions: str) -> Table:
        """Some columns, or expressions over columns in SQL."""
        question = replace(self._question, selected=", ".join(expressions))
        if self._question.selected != "*":
            question = Question(f"({self.sql})", selected=question.selected)
        return Table(self._connection, self._path, question, self.parameters)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, one by one; not all are in memory."""
        cursor = self._execute(self.sql)
        names = [column[0] for column in cursor.description or ()]
        while True:
            try:
                chunk = cursor.fetchmany(NUM_FETCHED)
            except duckdb.Error as error:
                raise self.problem(error) from error
            if not chunk:
                return
            for row in chunk:
                yield dict(zip(names, row, strict=True))

    def numpy(self, *columns: str) -> dict[str, NDArray[Any]]:
        """Arrays by column, of all columns or of these.

        Null is NaN among floats, None among texts; integers that may be null are masked arrays if any is.
        """
        sql = self.select(*(f'"{column}"' for column in columns)).sql if columns else self.sql
        try:
            arrays = self._execute(sql).fetchnumpy()
        except duckdb.Error as error:
            raise self.problem(error) from error
        return {name: _plain(array) for name, array in arrays.items()}

    def pandas(self) -> Any:
        """A pandas.DataFrame; needs pandas."""
        _need("pandas", "pandas")
        try:
            return self._execute(self.sql).df()
        except duckdb.Error as error:
            raise self.problem(error) from error

    def arrow(self) -> Any:
        """A pyarrow.Table; needs pyarrow."""
        _need("pyarrow", "arrow")
        try:
            relation = self._connection.cursor().sql(self.sql, params=list(self.parameters))
            return relation.to_arrow_table()
        except duckdb.Error as error:
            raise self.problem(error) from error

    def polars(self) -> Any:
        """A polars.DataFrame; needs polars and pyarrow."""
        return _need("polars", "polars").from_arrow(self.arrow())

    def stream(self) -> Any:
        """The rows as a stream in Arrow's C interface, for other libraries; nothing is read until they do."""
        try:
            return self._connection.cursor().sql(self.sql, params=list(self.parameters)).__arrow_c_stream__()
        except duckdb.Error as error:
            raise self.problem(error) from error

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """A cursor of its own, so that two readers do not take each other's rows."""
        try:
            return self._connection.cursor().execute(sql, list(self.parameters))
        except duckdb.Error as error:
            raise self.problem(error) from error

    def problem(self, error: duckdb.Error) -> RecordError:
        """What DuckDB says about the file, in our words."""
        if "enough bytes" in str(error):
            return RecordError(f"{self._path} is cut off or damaged: {error}")
        return RecordError(f"{self._path}: {error}")


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.kind == "f":
        return array.filled(np.nan)
    if array.dtype.kind == "O":
        plain = array.data.copy()
        plain[np.ma.getmaskarray(array)] = None
        return plain
    return array if np.ma.is_masked(array) else array.data


def _need(module: str, method: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RecordError(f"Table.{method}() needs {module}: pip install {module}") from error
