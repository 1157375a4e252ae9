"""Rows on their way into a table.

In: tuples in the order of the schema's columns, appended to `rows` by `RunWriter` (for tables of amounts, the last
item is a tuple over resources). Out: NumPy columns, taken over by DuckDB a chunk at a time. `RowFile` owns the buffers,
and says what becomes of rows that the file does not take.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from fairway.record.schema import amount_column
from fairway.record.table_schema import TableSchema

__all__ = ["Resources", "RowChange", "TableBuffer"]

NUM_WEIGHED = 200
RowChange = Callable[[str, tuple[Any, ...]], tuple[Any, ...]]
DTYPES = {"DOUBLE": np.float64, "BIGINT": np.int64, "INTEGER": np.int32, "BOOLEAN": np.bool_}


class Resources:
    """The resources of a run in order of appearance, each with its column."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}  # by resource
        self._numbers: dict[str, int] = {}

    def vector(self, amounts: dict[str, int]) -> tuple[int, ...]:
        """Amounts by number of the resource, up to the last that there is something of; a new one gets the next number.

        A run may have seen thousands of resources of which most pods know nothing: these take no room in their rows.
        """
        numbers = self._numbers
        if not amounts.keys() <= numbers.keys():
            for resource in amounts:
                if resource not in numbers:
                    self.columns[resource] = amount_column(resource, self.columns.values())
                    numbers[resource] = len(numbers)
        width = max((numbers[resource] + 1 for resource, amount in amounts.items() if amount), default=0)
        return tuple(amounts.get(resource, 0) for resource in islice(numbers, width))


class TableBuffer:
    """The rows of one table that are not in the file yet."""

    def __init__(self, schema: TableSchema, change: RowChange | None = None) -> None:
        self.schema = schema
        self._change = change  # what becomes of a row when it is written
        self.rows: list[tuple[Any, ...]] = []
        self.num_written = 0
        self._num_kept = 0  # rows that `keep_new` has seen: the file refuses them, and they wait
        self._moments = schema.moments

    def write(self, connection: duckdb.DuckDBPyConnection, amount_columns: Sequence[str]) -> None:
        """Put the rows into the table, which has these columns of amounts; they stay here until `drop_written`."""
        if not self.rows:
            return
        rows = self.rows
        if self._change is not None:
            rows = [self._change(self.schema.name, row) for row in rows]
        arrays = {
            column.name: _array(list(map(itemgetter(number), rows)), column.type, column.is_nullable)
            for number, column in enumerate(self.schema.columns)
        }
        if self.schema.amounts:
            matrix = _matrix([row[-1] for row in rows], len(amount_columns))
            arrays |= {name: matrix[:, number] for number, name in enumerate(amount_columns)}
        connection.register("chunk", arrays)
        try:
            connection.execute(f"INSERT INTO {self.schema.name} BY NAME SELECT * FROM chunk")
        finally:
            with contextlib.suppress(duckdb.Error):  # a database that has given itself up takes nothing back
                connection.unregister("chunk")

    def drop_written(self, number: int) -> None:
        """So many rows are in the file for good."""
        self.num_written += number
        self._num_kept = max(self._num_kept - number, 0)
        del self.rows[:number]

    # -- while the file takes no rows --------------------------------------------------------------------------------

    def weigh_new(self) -> int:
        """About how many bytes of memory the rows since `keep_new` take, from a sample of them."""
        number = len(self.rows) - self._num_kept
        sample = self.rows[self._num_kept :: max(number // NUM_WEIGHED, 1)]
        return number * sum(map(_weight, sample)) // len(sample) if sample else 0

    def new_times(self) -> list[float]:
        """The times that the first and the last of the rows since `keep_new` tell of."""
        ends = (self.rows[self._num_kept], self.rows[-1]) if len(self.rows) > self._num_kept else ()
        found = (max((row[place] for place in self._moments if row[place] is not None), default=None) for row in ends)
        return [time for time in found if time is not None]

    def keep_new(self) -> None:
        """These rows wait until the file takes them."""
        self._num_kept = len(self.rows)

    def kept_rows(self) -> list[tuple[Any, ...]]:
        """Those."""
        return self.rows[: self._num_kept]

    def drop_new(self, least: int) -> int:
        """Forget the rows since then, but for so many at the front; says how many."""
        kept = max(self._num_kept, least)
        number = max(len(self.rows) - kept, 0)
        del self.rows[kept:]
        return number


def _weight(value: Any) -> int:
    """Bytes, with everything in it."""
    inner = sum(map(_weight, value)) if isinstance(value, tuple) else 0
    return sys.getsizeof(value) + inner


def _matrix(vectors: list[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    """Amounts by row and resource; vectors end where nothing more follows."""
    padded = [vector if len(vector) == width else vector + (0,) * (width - len(vector)) for vector in vectors]
    return np.asfortranarray(np.array(padded, np.int64).reshape(len(vectors), width))


def _array(cells: list[Any], sql_type: str, is_nullable: bool) -> NDArray[Any]:
    """A column; nulls are masked."""
    if sql_type == "VARCHAR":
        return np.array(cells, object)
    if not is_nullable:
        return np.array(cells, DTYPES[sql_type])
    if sql_type == "DOUBLE":
        numbers = np.array(cells, np.float64)  # None becomes not-a-number, which is no time or amount either
        return np.ma.array(numbers, mask=np.isnan(numbers))
    mask = np.array([cell is None for cell in cells], np.bool_)
    return np.ma.array([0 if cell is None else cell for cell in cells], DTYPES[sql_type], mask=mask)
