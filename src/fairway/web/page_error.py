"""What a question to the pages' server is answered with when it can not be answered.

In: a status, a code for programs, a sentence and what to do about it, for people. Raised by everything in this room;
`server` sends it as `{"error": {"code": ..., "message": ..., "hint": ...}}`.
"""

from __future__ import annotations

import msgspec

from fairway.words import excerpt

__all__ = ["Failure", "FailureAnswer", "PageError"]


class Failure(msgspec.Struct):
    """What is wrong, and what to do."""

    code: str
    message: str
    hint: str


class FailureAnswer(msgspec.Struct):
    """Every answer that is none."""

    error: Failure


class PageError(Exception):
    """A question that has no answer."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        self.status = status
        self.code = code
        self.message = excerpt(message)
        self.hint = excerpt(hint)
        super().__init__(self.message)
