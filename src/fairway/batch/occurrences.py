"""When maintenance windows and reservations are: moments as people write them, and schedules.

In: a `start` (RFC 3339, or a time since the beginning where a simulation allows it), or a cron schedule with its time
zone. Out: moments of the world's clock, and `Occurrence`s of a window: the one that is now, if any, and two to come.
From now and from when the window was made alone: whoever looks later, or after a restart, finds the same ones. Called
by `windows` and `reservations`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from fairway.model.batch import WindowSpec
from fairway.model.cron import Schedule, parse_schedule, parse_zone
from fairway.model.seconds import parse_seconds

__all__ = ["END_OF_TIME", "NUM_PLANNED", "Occurrence", "occurrences", "parse_moment"]

NUM_PLANNED: Final = 2
"""So many occurrences that have not begun are planned with."""
FIRST_LOOK_BACK: Final = 60.0
END_OF_TIME: Final = dt.datetime(3000, 1, 1, tzinfo=dt.UTC).timestamp()


class OutOfReasonError(ValueError):
    """A moment that is none of anybody's plans."""


class Occurrence(NamedTuple):
    """Once: from when to when, by the world's clock."""

    start: float
    end: float


def parse_moment(text: str, epoch: float, *, may_be_span: bool = False) -> float:
    """A moment of the world's clock, which showed 0 at `epoch`; `ValueError` says what is wrong with the text.

    `may_be_span`: a time since the beginning is meant too, such as 2h, as scenarios have it.
    """
    if may_be_span:
        try:
            return _within_reason(parse_seconds(text), text, epoch)
        except OutOfReasonError:
            raise
        except ValueError:
            pass
    example = "2026-12-01T06:00:00Z" + (" or 2h, from the beginning" if may_be_span else "")
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time such as {example}") from None
    if time.tzinfo is None:
        raise ValueError(f"{text!r} does not say in which time zone; write {text}Z or {text}+01:00")
    return _within_reason(time.timestamp() - epoch, text, epoch)


def _within_reason(moment: float, text: str, epoch: float) -> float:
    """What calendars and files can hold."""
    if not 0 <= epoch + moment < END_OF_TIME:
        raise OutOfReasonError(f"{text!r} is not between the years 1970 and 3000")
    return moment


def occurrences(
    spec: WindowSpec, created: float, now: float, epoch: float = 0.0, *, may_be_span: bool = False
) -> list[Occurrence]:
    """The occurrence that is now or, where the window has one alone, was; and those that are planned; by their start.

    A schedule has none that began before the window was made. Where one begins before the one before is over, the
    later one ends later, so it alone is told of those that are now. `ValueError` names the field.
    """
    duration = float(spec.duration)
    if spec.start:
        try:
            start = parse_moment(spec.start, epoch, may_be_span=may_be_span)
        except ValueError as error:
            raise ValueError(f"start: {error}") from None
        return [Occurrence(start, start + duration)]
    try:
        schedule, zone = parse_schedule(spec.schedule), parse_zone(spec.time_zone)
    except ValueError as error:
        raise ValueError(f"{'timeZone' if 'time zone' in str(error) else 'schedule'}: {error}") from None

    def next_after(moment: float) -> float:
        if schedule.every is not None:  # counted from when the window was made: else it would never come
            every = schedule.every.total_seconds()
            return created + every * max(math.floor((moment - created) / every) + 1, 1)
        return _next_by_clock(schedule, zone, max(moment, created), epoch)

    starts = []
    latest = _latest_start(next_after, now, duration)
    if latest is not None and latest + duration > now:
        starts.append(latest)
    coming = next_after(now)
    for _ in range(NUM_PLANNED):
        if coming < math.inf:
            starts.append(coming)
            coming = next_after(coming)
    return [Occurrence(start, start + duration) for start in starts]


def _next_by_clock(schedule: Schedule, zone: ZoneInfo, moment: float, epoch: float) -> float:
    found = schedule.next_in_zone(dt.datetime.fromtimestamp(epoch + moment, dt.UTC), zone)
    return math.inf if found is None else found.timestamp() - epoch


def _latest_start(next_after: Callable[[float], float], now: float, duration: float) -> float | None:
    """The last start up to now, if it is not longer ago than an occurrence lasts."""
    look_back = FIRST_LOOK_BACK
    while (start := next_after(now - look_back)) > now:
        if look_back >= duration:
            return None
        look_back = min(look_back * 2, max(duration, FIRST_LOOK_BACK))
    while (later := next_after(start)) <= now:
        start = later
    return start
