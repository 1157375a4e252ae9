"""What is closed to others and not to a job: its own reservation; a window that is still far away, if it has no limit.

In: the `Entrance`s of a waiting job, within what times it may start. Out: the stages in which its earliest slot is
looked for (`stages`): until when which closings are not there for it. Called by `bookings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Entrance", "EntranceStage", "stages"]


class Entrance(NamedTuple):
    """A closing that a job does not see if it starts before a time."""

    key: str  # in the calendar
    until: float = math.inf


class EntranceStage(NamedTuple):
    """Starts within [begin, latest] do not see these closings."""

    begin: float
    latest: float
    keys: tuple[str, ...]


def stages(entrances: Sequence[Entrance], begin: float, latest: float) -> Iterator[EntranceStage]:
    """One after another, until `latest`; in the last one as little is open as ever."""
    for until in sorted({entrance.until for entrance in entrances if entrance.until > begin}):
        keys = tuple(entrance.key for entrance in entrances if entrance.until >= until)
        yield EntranceStage(begin, min(latest, math.nextafter(until, -math.inf)) if until < math.inf else latest, keys)
        if until > latest or until == math.inf:
            return
        begin = until
    yield EntranceStage(begin, latest, ())
