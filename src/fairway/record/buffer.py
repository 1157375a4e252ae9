"""Rows on their way into a table.

In: tuples in the order of the schema's columns, appended to `rows` by `RunWriter` (for tables of amounts, the last
item is a tuple over resources). Out: NumPy columns, taken over by DuckDB a chunk at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from fairway.record.schema import TableSchema

__all__ = ["Resources", "TableBuffer"]

DTYPES = {"DOUBLE": np.float64, "BIGINT": np.int64, "INTEGER": np.int32, "BOOLEAN": np.bool_}


class Resources:
    """The resources of a run in order of appearance, each with its column."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}  # by resource
        self._numbers: dict[str, int] = {}

    def vector(self, amounts: dict[str, int]) -> tuple[int, ...]:
        """Amounts by number of the resource; a resource not seen before gets the next number."""
        numbers = self._numbers
        if not amounts.keys() <= numbers.keys():
            from fairway.record.schema import amount_column
            for resource in amounts:
                if resource not in numbers:
                    self.columns[resource] = amount_column(resource, self.columns.values())
                    numbers[resource] = len(numbers)
        return tuple(amounts.get(resource, 0) for resource in numbers)


class TableBuffer:
    """The rows of one table that are not in the file yet."""

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.rows: list[tuple[Any, ...]] = []
        self.num_written = 0

    def write(self, connection: duckdb.DuckDBPyConnection, amount_columns: Sequence[str]) -> None:
        """Put the rows into the table, which has these columns of amounts."""
        if not self.rows:
            return
        values = list(zip(*self.rows, strict=True))
        arrays = {
            column.name: _array(cells, column.type, column.is_nullable)
            for column, cells in zip(self.schema.columns, values[: len(self.schema.columns)], strict=True)
        }
        if self.schema.amounts:
            # Rows written before a resource appeared have shorter vectors.
            by_resource = zip_longest(*values[-1], fillvalue=0)
            for name in amount_columns:
                cells = next(by_resource, None)
                arrays[name] = np.zeros(len(self.rows), np.int64) if cells is None else np.array(cells, np.int64)
        connection.register("chunk", arrays)
        connection.execute(f"INSERT INTO {self.schema.name} BY NAME SELECT * FROM chunk")
        connection.unregister("chunk")
        self.num_written += len(self.rows)
        self.rows.clear()


def _array(cells: Sequence[Any], sql_type: str, is_nullable: bool) -> NDArray[Any]:
    """A column; nulls are masked."""
    if sql_type == "VARCHAR":
        return np.array(cells, object)
    if not is_nullable:
        return np.array(cells, DTYPES[sql_type])
    mask = np.array([cell is None for cell in cells], np.bool_)
    return np.ma.array([0 if cell is None else cell for cell in cells], DTYPES[sql_type], mask=mask)
