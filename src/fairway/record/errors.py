"""What is said when a run can not be written or read.

Raised by everything in this room that touches a file; the command line prints it as it is. `why_refused` puts what an
operating system says about a file that it does not take into words.
"""

from __future__ import annotations

from pathlib import Path

from fairway.words import visible

__all__ = ["CannotWriteError", "RecordError", "quoted", "why_refused"]

LONGEST_QUOTE = 60

CAUSES = {
    "No space left on device": "the disk is full",
    "Disk quota exceeded": "the disk is full for this user: the quota is used up",
    "File too large": "the disk is full for this file: it has reached the limit on the size of files",
    "Read-only file system": "the file system is read-only",
    "Permission denied": "there is no permission to write there",
    "Input/output error": "the disk does not work",
}
"""What the operating system says of a file, and what that means; DuckDB hands its words on."""


class RecordError(Exception):
    """A run that can not be written or read: which file, what is wrong, what to do."""


class CannotWriteError(RecordError):
    """A file that can not be written, or must not be: which, and why; `left` is where what was written is."""

    def __init__(self, what: str, left: Path | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.left = left

    def __str__(self) -> str:
        return self.what if self.left is None else f"{self.what}; what was written until then is in {self.left}"


def why_refused(error: Exception) -> str:
    """Why something could not be written, in a line."""
    text = " ".join(str(error).split())
    for words, cause in CAUSES.items():
        if words in text:
            return f"{cause} ({words})"
    return text


def quoted(text: object) -> str:
    """What a file says, to be shown: the beginning of it, on a line, with nothing in it that can not be seen."""
    shown = visible(str(text), one_line=True)
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"
