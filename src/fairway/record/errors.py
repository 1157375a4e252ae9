"""What is said when a run can not be written or read.

Raised by everything in this room that touches a file; the command line prints it as it is.
"""

from __future__ import annotations

__all__ = ["CannotWriteError", "RecordError"]


class RecordError(Exception):
    """A run that can not be written or read: which file, what is wrong, what to do."""


class CannotWriteError(RecordError):
    """A file that can not be written, or must not be: which, and why."""
