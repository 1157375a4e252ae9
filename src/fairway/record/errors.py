"""What is said when a run can not be written or read.

Raised by everything in this room that touches a file; the command line prints it as it is. `why_refused`, from
`own_file`, puts what an operating system says about a file that it does not take into words.
"""

from __future__ import annotations

from fairway import own_file
from fairway.own_file import why_refused
from fairway.words import visible

__all__ = ["CannotWriteError", "RecordError", "quoted", "why_refused"]

LONGEST_QUOTE = 60


class RecordError(Exception):
    """A run that can not be written or read: which file, what is wrong, what to do."""


class CannotWriteError(own_file.CannotWriteError, RecordError):
    """A run, or a part of one, that can not be written or must not be."""


def quoted(text: object) -> str:
    """What a file says, to be shown: the beginning of it, on a line, with nothing in it that can not be seen."""
    shown = visible(str(text), one_line=True)
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"
