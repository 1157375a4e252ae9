"""Durations as Go writes them: "15s", "1m30s", "500ms".

In: text from a configuration, a schedule or a command line. Out: a `Duration`: seconds, as a number of its own type.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

__all__ = ["Duration", "parse_duration"]

NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "\N{MICRO SIGN}s": 10**3,
    "\N{GREEK SMALL LETTER MU}s": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
MAX_NANOSECONDS: Final = 2**63 - 1
DURATION_TERM: Final = re.compile(
    r"(\d+\.?\d*|\.\d+)(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m|h)", re.ASCII
)


class Duration(float):
    """Seconds. Written as Go writes durations: "15s", "1m30s", "500ms"."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """As a configuration writes it, to the nanosecond: "15s", "0.5s"."""
        return f"{f'{self:.9f}'.rstrip('0').rstrip('.')}s"


def parse_duration(text: str) -> Duration:
    """Read a Go duration (time.ParseDuration); `ValueError` says what is wrong with it."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    nanoseconds = Fraction(0)
    end = 0
    while end < len(unsigned) and (term := DURATION_TERM.match(unsigned, end)):
        # A bare ending point ("1.s") is as good as ".0" in Go; Fraction wants the digit.
        nanoseconds += Fraction(f"{term[1]}0" if "." in term[1] else term[1]) * NANOSECONDS[term[2]]
        end = term.end()
    if unsigned != "0" and (not unsigned or end < len(unsigned)):
        raise ValueError(f'{text!r} is not a duration such as "15s", "1m30s" or "500ms"')
    if nanoseconds > MAX_NANOSECONDS:
        raise ValueError(f"{text!r} is longer than 292 years")
    return Duration((-1 if text.startswith("-") else 1) * int(nanoseconds) / 10**9)
