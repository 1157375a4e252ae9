"""The file of a report: an HTML page that says in its head who made it.

In: a page as text. Out: the file, by the rule of `own_file`: only an earlier report of ours is replaced. Called by
`compare`, for comparisons and for experiments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fairway.own_file import check_own, first_bytes, replacing

__all__ = ["GENERATOR", "check_report_place", "write_report"]

GENERATOR: Final = '<meta name="generator" content="Fairway">'
"""In the head of every page (pages/templates/page.html), near its beginning: by it the next report knows what it may
replace."""
WHAT: Final = "a report"


def check_report_place(path: Path) -> None:
    """Raise `CannotWriteError` unless a report may be written there; nothing is written."""
    check_own(path, WHAT, _is_report)


def write_report(path: Path, page: str) -> None:
    """Write the page, or leave what is there."""
    with replacing(path, WHAT, _is_report) as beside:
        beside.write_text(page, encoding="utf-8")


def _is_report(path: Path) -> bool:
    return GENERATOR.encode() in first_bytes(path)
