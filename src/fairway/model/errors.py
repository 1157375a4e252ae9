"""What is said when an input can not be used.

A `DecodeError` names the file, the document in it, the object, the field by its API path, what is wrong and what
is allowed, as far as each is known. Raised by everything in this room that reads from outside; the command
line prints it as it is. A `UserError` is any other thing that the user can mend, with what would help. Both quote what
somebody else wrote, which may be long or hold control characters: what they say is on a line and within bounds.
"""

from __future__ import annotations

import msgspec

from fairway.exit_codes import FAILED
from fairway.words import excerpt

__all__ = ["DecodeError", "Source", "UserError"]


class Source(msgspec.Struct, frozen=True, gc=False):
    """Where an object came from."""

    file: str = "<input>"
    document: int = 1
    """1-based, in files of several YAML documents."""
    line: int | None = None
    """1-based line of the document's beginning, if there are several documents."""
    item: int | None = None
    """Index in the list the object was part of, if any."""

    def __str__(self) -> str:
        text = self.file
        if self.line is not None:
            text += f", document {self.document} (line {self.line})"
        return text if self.item is None else f"{text}, items[{self.item}]"


class DecodeError(Exception):
    """An input that can not be used: where, which object, which field, and why."""

    def __init__(self, problem: str, *, source: Source | str = "", subject: str = "", field: str = "") -> None:
        self.problem = excerpt(problem)
        self.source = source
        self.subject = excerpt(subject)
        self.field = excerpt(field)
        where = excerpt(str(source)), self.subject, self.field
        super().__init__(": ".join(part for part in (*where, self.problem) if part))

    def __reduce__(self) -> tuple[type[DecodeError], tuple[str], dict[str, object]]:
        return type(self), (self.problem,), self.__dict__ | {"args": self.args}


class UserError(Exception):
    """Something that the user can mend: what it is, and what would help; rooms above make their own of it."""

    def __init__(self, what: str, hint: str = "", exit_code: int = FAILED) -> None:
        """`exit_code` is that of a command that ends with it: `USAGE` where the question itself makes no sense."""
        self.what = "\n".join(map(excerpt, what.split("\n")))
        self.hint = excerpt(hint)
        super().__init__(f"{self.what}; {self.hint}" if hint else self.what)
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str, int]]:
        return type(self), (self.what, self.hint, self.exit_code)
