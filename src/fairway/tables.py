"""Tables of plain text.

In: rows (mappings), and the columns to show of them. Out: text, lined up with spaces, nothing cut; what is in a cell is
shown and not obeyed (`words.visible`). `explain` answers with them, `cli.output` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairway.words import visible

__all__ = ["Column", "cell_text", "plain_table"]


class Column(NamedTuple):
    """A column of a table: which value of a row, under which title."""

    key: str
    title: str
    right: bool = False  # numbers stand on the right
    wide: bool = False  # shown only with -o wide (and in csv)


def plain_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> str:
    """Columns lined up with spaces, nothing cut, no spaces at line ends; ends in a newline."""
    cells = [[column.title for column in columns]]
    cells += [[cell_text(row.get(column.key)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "   ".join(
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "".join(f"{line}\n" for line in lines)


def cell_text(value: Any) -> str:
    """A value as a cell: numbers with thin grouping, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if isinstance(value, float):
        return f"{value:,.1f}".replace(",", " ") if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell_text, value))
    return visible(str(value), one_line=True)
