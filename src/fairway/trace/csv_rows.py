"""Rows of a CSV file with a header, each with its line number.

In: a path and the columns that must be there. Out: one dict a row, from the header's names to the cells' text. A row
that cannot be read is noted as a problem with its line, and the next is read. Called by `openb`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fairway.model import DecodeError
from fairway.model.text_file import Progress, read_lines
from fairway.trace.problems import Problems

__all__ = ["Row", "read_rows", "whole_number"]

MAX_DIGITS = 15


class Row(NamedTuple):
    """A line of the file, by column."""

    line: int
    cells: dict[str, str]


def read_rows(
    path: str | os.PathLike[str], required: Iterable[str], problems: Problems, progress: Progress | None = None
) -> Iterator[Row]:
    """Every row that has as many cells as the header; `DecodeError` if the header lacks a required column."""
    file = os.fspath(path)
    header: list[str] | None = None
    for number, line in read_lines(path, progress):
        if not line.strip():
            continue
        try:
            cells = [cell.strip() for cell in _split(line)]
        except csv.Error as error:
            problems.add(f"is not a row of CSV: {error}", file, number)
            continue
        if header is None:
            header = _checked_header(cells, required, f"{file}:{number}")
        elif len(cells) != len(header):
            problems.add(f"has {len(cells)} cells, where the header has {len(header)}", file, number)
        else:
            yield Row(number, dict(zip(header, cells, strict=True)))
    if header is None:
        raise DecodeError(f"is empty; its first line must name the columns {', '.join(required)}", source=file)


def whole_number(row: Row, column: str) -> int:
    """The cell as a whole number, not negative; `ValueError` names the column."""
    text = row.cells[column]
    number = text.removesuffix(".0")
    if not number.isascii() or not number.isdigit() or len(number) > MAX_DIGITS:
        raise ValueError(f"{column} must be a whole number, not {text[:40]!r}")
    return int(number)


def _split(line: str) -> Sequence[str]:
    # One line at a time: a quote that is never closed must not swallow the rest of the file.
    return next(csv.reader((line,), strict=True)) if '"' in line else line.split(",")


def _checked_header(cells: list[str], required: Iterable[str], source: str) -> list[str]:
    twice = sorted({cell for cell in cells if cells.count(cell) > 1})
    if twice:
        raise DecodeError(f"the header names {', '.join(map(repr, twice))} twice", source=source)
    missing = [column for column in required if column not in cells]
    if missing:
        found = "".join(one if one.isprintable() else "?" for one in ", ".join(cells)[:200])
        raise DecodeError(f"the header lacks {', '.join(missing)}; it has {found}", source=source)
    return cells
