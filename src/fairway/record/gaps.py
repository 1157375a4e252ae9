"""What is missing in a run: rows that were dropped because the file took none for too long.

In: numbers of dropped rows by table, with the times they tell of, from `RowFile`. Out: rows of the table `gaps`, and,
for those who read a run, sentences: "this run has a gap ...".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairway.record.run import Run

__all__ = ["Gaps", "gap_sentences"]

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


def gap_sentences(run: Run) -> list[str]:
    """What a run lacks, a sentence for each gap; the command line prints them before its answer."""
    gaps: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for row in run.gaps:
        together = next((key for key in gaps if row["from_seconds"] <= key[1] and key[0] <= row["to_seconds"]), None)
        rows = gaps.pop(together) if together is not None else []
        rows.append(row)
        times = min(one["from_seconds"] for one in rows), max(one["to_seconds"] for one in rows)
        gaps[times] = rows
    return [_sentence(run, begin, end, rows) for (begin, end), rows in sorted(gaps.items())]


def _sentence(run: Run, begin: float, end: float, rows: list[dict[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["table_name"]] = counts.get(row["table_name"], 0) + row["num_rows"]
    what = ", ".join(f"{table} {number}" for table, number in counts.items())
    return (
        f"this run has a gap: {run.path} lacks what happened from {begin:.1f} s to {end:.1f} s, "
        f"{sum(counts.values())} rows ({what}): {rows[-1]['reason']}"
    )
