"""What could not be used of a file, kept in order and within bounds.

In: a place (file and line, or a `DecodeError`) and what is wrong there. Out: texts for people. When asked to be strict,
the first problem is raised at once. Every reader of this room notes its problems here.
"""

from __future__ import annotations

from fairway.model import DecodeError

__all__ = ["Problems"]


class Problems:
    """Problems in the order they were found; of very many the first are kept, and the others counted."""

    MOST = 1000

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.number = 0
        self._texts: list[str] = []

    def add(self, problem: str | DecodeError, file: str = "", line: int | None = None) -> None:
        """Note a problem at a line of a file; raise it when strict."""
        if isinstance(problem, str):
            problem = DecodeError(problem, source=f"{file}:{line}" if line is not None else file)
        if self.strict:
            raise problem
        self.number += 1
        if len(self._texts) < self.MOST:
            self._texts.append(str(problem))

    @property
    def first(self) -> str:
        """The first problem, "" when there is none."""
        return self._texts[0] if self._texts else ""

    def texts(self) -> list[str]:
        """What to tell people; says how many problems are not in it."""
        left = self.number - len(self._texts)
        return [*self._texts, f"... and {left} problems more"] if left else list(self._texts)
