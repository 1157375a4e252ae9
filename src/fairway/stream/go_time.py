"""Times as Go prints them: `2024-04-23 19:51:07.300887638 +0000 UTC m=+82.837503147`.

In: such a text, of any zone, with nine to no digits of a second, with or without the reading of the monotonic clock at
its end. Out: whole nanoseconds since 1970, and whether the text had that reading: Go prints it for times that a clock
has just shown, and not for those that were read from an object. Nothing is rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

__all__ = ["NANOSECONDS", "GoTime", "format_go_time", "parse_go_time", "rfc3339_nanoseconds"]

NANOSECONDS: Final = 1_000_000_000
"""In a second."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
GO_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)(?: [A-Za-z0-9+-]{1,16})?"
    r"( m=[+-]\d{1,19}(?:\.\d{1,9})?)?",
    re.ASCII,
)


class GoTime(NamedTuple):
    """A moment; it `is_exact` if a clock was read, and else has whole seconds at best."""

    nanoseconds: int  # since 1970
    is_exact: bool


def parse_go_time(text: str) -> GoTime:
    """Read one; ValueError says what is wrong."""
    match = GO_TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("is no time as Go prints it")
    *whole, fraction, sign, hours, minutes, monotonic = match.groups()
    try:
        local = datetime(*map(int, whole), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError as error:
        raise ValueError(f"is no time that there is: {error}") from None
    offset = timedelta(hours=int(hours), minutes=int(minutes)) * (1 if sign == "+" else -1)
    # Not by subtracting `offset` from the time: at the ends of the calendar there is nothing to subtract from.
    seconds = (local - EPOCH - offset) // timedelta(seconds=1)
    return GoTime(seconds * NANOSECONDS + int((fraction or "").ljust(9, "0")), monotonic is not None)


def format_go_time(nanoseconds: int, monotonic: int) -> str:
    """A moment as Go prints a clock's, in UTC; `monotonic` are the nanoseconds that the process runs."""
    sign = "-" if monotonic < 0 else "+"
    seconds, rest = divmod(abs(monotonic), NANOSECONDS)
    return f"{_utc(nanoseconds, ' ')} +0000 UTC m={sign}{seconds}.{rest:09}"


def rfc3339_nanoseconds(nanoseconds: int) -> str:
    """A moment as Kubernetes writes it, to the nanosecond: 2024-04-23T19:51:07.300887638Z."""
    return f"{_utc(nanoseconds, 'T')}Z"


def _utc(nanoseconds: int, separator: str) -> str:
    seconds, fraction = divmod(nanoseconds, NANOSECONDS)
    moment = EPOCH + timedelta(seconds=seconds)
    digits = f".{fraction:09}".rstrip("0") if fraction else ""
    return f"{moment:%Y-%m-%d}{separator}{moment:%H:%M:%S}".rjust(19, "0") + digits
