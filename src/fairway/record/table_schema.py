"""What a table of a run is: its name, its fields, what each means, and how it is created.

In: nothing; `schema` makes a `TableSchema` for each table. Out: the statement that creates it, and which of its fields
are moments of the run's clock. Read by `schema_page`, and by whoever checks the tables of a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from fairway.record.vocabulary import Word

__all__ = ["Field", "TableSchema"]

NO_MOMENTS: Final = (
    "cycle_seconds", "cpu_seconds", "start_seconds", "limit_seconds", "run_seconds", "likely_seconds", "safe_seconds",
    "by_limits_seconds", "safe_held", "rate",
)  # fmt: skip
"""Fields that say how long something took, or when something was or will be that may lie outside of the run."""

SqlType = Literal["VARCHAR", "DOUBLE", "BIGINT", "INTEGER", "BOOLEAN"]
Lists = tuple[type[Word], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a table."""

    name: str
    type: SqlType
    meaning: str
    is_nullable: bool = False
    words: Lists = ()  # the words it may hold, if it is one of a closed list


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table; `amounts` says what its columns of resources mean, empty if it has none."""

    name: str
    meaning: str
    order: str  # the columns that give its rows their order; rowid is the order of writing
    columns: tuple[Field, ...]
    amounts: str = ""

    @property
    def creation(self) -> str:
        """The statement that makes it, without columns of resources."""
        columns = ", ".join(
            f"{column.name} {column.type}{'' if column.is_nullable else ' NOT NULL'}" for column in self.columns
        )
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def moments(self) -> tuple[int, ...]:
        """The places of the columns that hold times of the run's clock."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.type == "DOUBLE" and column.name not in NO_MOMENTS
        )
