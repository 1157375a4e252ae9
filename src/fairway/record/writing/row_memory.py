"""The tables of a run in memory, compressed: a history that grows at one end and is forgotten at the other.

In: the rows of a writer's buffers, and rows of what is open now, which replace those given before. Out: a connection
whose tables `nodes`, `pods`, ... have both, under the names and columns of the schema, `rowid` among them; a `Run` asks
it as it asks a file. Rows are in a database of their own (`past`), and so are open ones; who asks sees views over both.
Nothing here may be written while somebody asks: `RecentRun`'s owner sees to that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import duckdb

from fairway.record.schema import TABLES
from fairway.record.writing.buffer import TableBuffer
from fairway.record.writing.forgetting import FORGETFUL, remaining
from fairway.record.writing.row_file import RowFile

__all__ = ["RowMemory"]

OPEN: Final = {"nodes", "jobs", "occupancy", "holds", "pods"}
"""Tables whose rows may be of what has not ended."""
BEHIND: Final = 1 << 60
"""What is open comes after everything that has ended."""


class RowMemory(RowFile):
    """Rows by table; those that were written before, and those that are open."""

    def _created(self) -> duckdb.DuckDBPyConnection:
        self.reader = duckdb.connect(":memory:", config={"threads": 1})
        self.reader.execute("SET enable_progress_bar = false")
        self.reader.execute("ATTACH ':memory:' AS past (COMPRESS)")
        writer = self.reader.cursor()
        writer.execute("USE past")
        writer.execute("SET pandas_analyze_sample = 0")  # columns of objects are texts; do not guess
        for table in TABLES.values():
            writer.execute(table.creation)
        return writer

    def _in_place(self) -> duckdb.DuckDBPyConnection:
        return self._open()

    def show(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        """From now on these are open, and nothing else is."""
        columns = list(self.resources.columns.values())
        for name, table in TABLES.items():
            past = f"SELECT *, rowid AS rowid FROM past.{name}"
            if name in OPEN:
                self.reader.execute(f"CREATE OR REPLACE TABLE open_{name} AS FROM past.{name} LIMIT 0")
                buffer = TableBuffer(replace(table, name=f"open_{name}"))
                buffer.rows.extend(rows[name])
                buffer.write(self.reader, columns)
                past += f" UNION ALL BY NAME SELECT *, {BEHIND} + rowid AS rowid FROM open_{name}"
            self.reader.execute(f"CREATE OR REPLACE VIEW {name} AS {past}")

    def forget(self, before: float, templates: Collection[int]) -> None:
        """Of what has ended, and of what happened, only that stays which is not older; and these templates."""
        connection = self._open()
        for table in FORGETFUL:
            values = {"before": before} if table.name != "templates" else {"in_use": list(templates)}
            sql = remaining(table)
            given = {name: value for name, value in values.items() if f"${name}" in sql}
            connection.execute(f"CREATE TABLE fresh AS {sql}", given)
            connection.execute(f"DROP TABLE {table.name}")
            connection.execute(f"ALTER TABLE fresh RENAME TO {table.name}")

    @property
    def templates(self) -> set[int]:
        """The numbers of those that are kept."""
        return {number for (number,) in self._open().execute("SELECT template_id FROM templates").fetchall()}

    @property
    def num_bytes(self) -> int:
        """What all tables take."""
        row = self.reader.execute("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()").fetchone()
        assert row is not None
        return int(row[0])
