"""What is missing in a run: rows that were dropped because the file took none for too long.

In: numbers of dropped rows by table, with the times they tell of, from `RowFile`. Out: rows of the table `gaps`, and,
for those who read a run, the gaps it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fairway.record.run import Run

__all__ = ["Gap", "Gaps", "gaps_of"]

Row = tuple[Any, ...]  # of the table: from, to, table, number of rows, why


class Gaps:
    """Dropped rows that the file does not know of yet, by table."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, begin: float, end: float, table: str, num_rows: int, why: str) -> None:
        """So many rows of a table were dropped, which told of these times."""
        known = self._rows.get(table)
        if known is not None:
            begin, end, num_rows = min(known[0], begin), max(known[1], end), known[3] + num_rows
        self._rows[table] = (begin, end, table, num_rows, why)

    def take_rows(self) -> list[Row]:
        """The rows of the table `gaps`, which are forgotten here."""
        rows = list(self._rows.values())
        self._rows.clear()
        return rows

    def give_back(self, rows: Iterable[Row]) -> None:
        """Rows that were taken and could not be written."""
        for row in rows:
            self.add(*row)


class Gap(NamedTuple):
    """A stretch of a run of which something is missing."""

    begin: float
    end: float
    num_rows: dict[str, int]  # by table
    reason: str


def gaps_of(run: Run) -> list[Gap]:
    """What a run lacks, in order; what is missing of several tables at one time is one gap."""
    found: list[Gap] = []
    for row in sorted(run.gaps, key=lambda row: (row["from_seconds"], row["to_seconds"])):
        begin, end, counts = row["from_seconds"], row["to_seconds"], {row["table_name"]: row["num_rows"]}
        if found and begin <= found[-1].end:
            last = found.pop()
            begin, end = last.begin, max(last.end, end)
            counts = dict(Counter(last.num_rows) + Counter(counts))
        found.append(Gap(begin, end, counts, row["reason"]))
    return found
