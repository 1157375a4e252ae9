"""Durations as people write them in objects and scenarios: Go's text, days and weeks besides, or a number of seconds.

Out: `read_span` for one value, and `SPANS`, the notations with which `decode_fields` reads specs of queues, accounts,
windows and reservations wherever they are: in a scenario, a file, or an API server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairway.config.fields import KUBERNETES, Notation
from fairway.model.duration import Duration, parse_duration
from fairway.model.seconds import parse_seconds

__all__ = ["SPANS", "read_span"]


def read_span(value: Any) -> Duration:
    """Seconds from a number, from Go's text (1h30m, 500ms) or from days and weeks (2d); `ValueError` otherwise."""
    if isinstance(value, str):
        try:
            seconds = parse_duration(value)
        except ValueError:
            seconds = Duration(parse_seconds(value))
        if seconds < 0:
            raise ValueError("negative")
        return seconds
    return Duration(parse_seconds(value))


SPANS: Final[Mapping[type, Notation]] = {
    **KUBERNETES,
    Duration: Notation(read_span, 'a duration: seconds, or text such as "90s", "1h30m" or "2d"'),
}
