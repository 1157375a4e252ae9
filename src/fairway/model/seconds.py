"""Spans of time as people write them: a number of seconds, or text such as 90s, 15m, 1h30m, 2d.

In: what an annotation or a scenario says. Out: seconds, and back again. Configurations of Kubernetes' own form have
Go's durations instead (`duration`).
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["PLAIN", "parse_seconds", "seconds_text", "span_text"]

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
NUMBER: Final = r"(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})"
PLAIN: Final = re.compile(rf"{NUMBER}(?:[eE][+-]?[0-9]{{1,2}})?")
AS_WRITTEN: Final = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,3})?")
PART: Final = re.compile(rf"({NUMBER})(ms|s|m|h|d|w)")
WHOLE: Final = re.compile(rf"(?:{NUMBER}(?:ms|s|m|h|d|w))+")


def parse_seconds(text: str | float) -> float:
    """Seconds, from a number or from text such as 90, 90s, 1h30m, 2d; `ValueError` says what else is wrong."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"a duration is a number of seconds or text such as 1h30m, not {text!r}")
    if isinstance(text, str):
        if AS_WRITTEN.fullmatch(text):  # as `seconds_text` has it
            return float(text)
        plain = text.strip()
        if WHOLE.fullmatch(plain):
            return math.fsum(float(number) * UNITS[unit] for number, unit in PART.findall(plain))
        if not PLAIN.fullmatch(plain):
            raise ValueError(f"duration {text!r} is not a number of seconds, nor text such as 90s, 15m, 1h30m, 2d")
        return float(plain)
    try:
        seconds = float(text)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"a duration is a finite number of seconds, not negative: {text!r}")
    return seconds


def seconds_text(seconds: float) -> str:
    """Seconds as an annotation says them: as short as it goes, to the millisecond."""
    rounded = round(seconds, 3)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:.3f}".rstrip("0")


def span_text(seconds: float) -> str:
    """Seconds as people type them, and as our kinds take them: 12h, 2h17m, 1d30m, 1.5s."""
    days, rest = divmod(round(seconds, 3), UNITS["d"])
    hours, rest = divmod(rest, UNITS["h"])
    minutes, rest = divmod(rest, UNITS["m"])
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{seconds_text(number)}{unit}" for number, unit in parts if number) or "0s"
