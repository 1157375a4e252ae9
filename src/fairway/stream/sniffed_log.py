"""A log of the sniffer, read: both forms, mixed or not, plain or gzip, with lines that make no sense.

In: a file, or the standard input. Out: what its messages say (`Sniffed`), and how the reading went: how many lines of
which form, and which were skipped. A log that was cut off, compressed or not, is read as far as it goes; one without a
single message is an error that says what was looked for. Called by `fairway import`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from fairway.model import DecodeError
from fairway.model.text_file import Progress, read_lines
from fairway.stream.message import LOG_FORMS, BadLineError, Form, read_line
from fairway.stream.sniffed import Sniffed, Sniffing

__all__ = ["SniffedLog", "read_log"]

STANDARD_INPUT: Final = "/dev/stdin"
MOST_NAMED: Final = 5


@dataclass(slots=True)
class SniffedLog:
    """How the reading went; blank lines count as nothing."""

    source: str
    num_lines: int = 0
    num_skipped: int = 0
    named: list[str] = field(default_factory=list)  # the first few of those, with line numbers and reasons
    forms: set[Form] = field(default_factory=set)

    @property
    def form(self) -> str:
        """In a word: first, second or mixed."""
        return next(iter(self.forms)) if len(self.forms) == 1 else "mixed"

    def skip(self, number: int, why: object) -> None:
        """A line is no message."""
        self.num_skipped += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(f"{self.source}:{number}: {why}")


def read_log(path: str, progress: Progress | None = None) -> tuple[Sniffed, SniffedLog]:
    """Read a log; `-` is the standard input. Raises `DecodeError` if nothing of it can be used."""
    log = SniffedLog("standard input" if path == "-" else path)
    sniffing = Sniffing()
    for number, line in _lines(STANDARD_INPUT if path == "-" else path, log, progress):
        if not line.strip():
            continue
        log.num_lines += 1
        try:
            message, form = read_line(line)
        except BadLineError as error:
            log.skip(number, error)
            continue
        log.forms.add(form)
        sniffing.take(message)
    if not log.forms:
        what = f"has no message in {log.num_lines} lines; the first: {log.named[0]}" if log.named else "is empty"
        raise DecodeError(f"{what}; a message is {LOG_FORMS}", source=log.source)
    return sniffing.result(), log


def _lines(path: str, log: SniffedLog, progress: Progress | None) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, up to where compressed data was cut off."""
    number = 0
    lines: Iterable[tuple[int, str]] = read_lines(path, progress)
    try:
        for number, line in lines:
            yield number, line
    except DecodeError as error:
        if not isinstance(error.__cause__, EOFError):
            raise
        log.num_lines += 1
        log.skip(number + 1, error.problem)
