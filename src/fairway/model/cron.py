"""Cron schedules: when a CronJob starts its jobs.

In: a schedule as `spec.schedule` has it: five fields (minute, hour, day of the month, month, day of the week) with
lists, ranges, steps and names; or @hourly and the like; or @every with a duration. Out: a `Schedule`, which knows the
next time after any other. Matches `cron.ParseStandard` of robfig/cron v3, which Kubernetes 1.36 uses. Times are in
UTC, or in a CronJob's own zone (`next_in_zone`).
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from fairway.model.duration import parse_duration

__all__ = ["Schedule", "parse_schedule", "parse_zone"]

MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
DAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 6, DAYS),
)
YEARS: Final = 5  # in which a time must come, or none ever will
PART = re.compile(r"(?P<first>[^-/]+)(?:-(?P<last>[^-/]+))?(?:/(?P<step>[^-/]+))?")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Points in time, without end."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()  # Sunday is 0
    both_days: bool = True  # the day must fit in both ways, because one of them was a star; else one way is enough
    every: dt.timedelta | None = None  # @every: counted from whatever time one asks about

    def next_after(self, time: dt.datetime) -> dt.datetime | None:
        """The first point after `time`; None if there is none within five years (30 February)."""
        if self.every is not None:
            return time.replace(microsecond=0) + self.every
        end = time.year + YEARS
        time = time.replace(second=0, microsecond=0) + dt.timedelta(minutes=1)
        while time.year <= end:
            if time.month not in self.months:
                year, month = divmod(time.year * 12 + time.month, 12)
                time = time.replace(year=year, month=month + 1, day=1, hour=0, minute=0)
            elif not self._has_day(time):
                time = time.replace(hour=0, minute=0) + dt.timedelta(days=1)
            elif time.hour not in self.hours:
                time = time.replace(minute=0) + dt.timedelta(hours=1)
            elif time.minute not in self.minutes:
                time += dt.timedelta(minutes=1)
            else:
                return time
        return None

    def next_in_zone(self, time: dt.datetime, zone: ZoneInfo) -> dt.datetime | None:
        """The same by the clocks of a zone. An hour they skip has no points; in one they repeat, all come twice."""
        if self.every is not None:
            return self.next_after(time)
        here = time.astimezone(zone)
        start = here.replace(tzinfo=None)
        candidates = []
        found = self.next_after(start)
        while found is not None:
            if real := _moments(found, zone, time):
                candidates.append(real[0])
                break
            found = self.next_after(found)
        last = candidates[0].astimezone(zone) if candidates else here
        back = (here.utcoffset() or dt.timedelta()) - (last.utcoffset() or dt.timedelta())
        if back > dt.timedelta():  # clocks were set back in between: they show some hours again
            repeated = self.next_after(start - back)
            candidates += [] if repeated is None else _moments(repeated, zone, time)
        return min(candidates, default=None)

    def _has_day(self, time: dt.datetime) -> bool:
        day, weekday = time.day in self.days, time.isoweekday() % 7 in self.weekdays
        return (day and weekday) if self.both_days else (day or weekday)


def _moments(wall: dt.datetime, zone: ZoneInfo, after: dt.datetime) -> list[dt.datetime]:
    """When clocks of the zone show that time: never, once or twice; in UTC, and only what is later than `after`."""
    found = {wall.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1)}
    return sorted(one for one in found if one > after and one.astimezone(zone).replace(tzinfo=None, fold=0) == wall)


@lru_cache(maxsize=4096)
def parse_schedule(text: str) -> Schedule:
    """Read a schedule; `ValueError` says what is wrong with it."""
    words = text.strip()
    if words.startswith(("TZ=", "CRON_TZ=")):
        raise ValueError("a time zone does not belong into the schedule; write it into timeZone")
    if words.startswith("@every "):
        seconds = parse_duration(words.removeprefix("@every ").strip())
        return Schedule(every=dt.timedelta(seconds=max(1, int(seconds))))
    if words.startswith("@"):
        if words not in MACROS:
            raise ValueError(f"{words!r} is not one of {', '.join(MACROS)}, @every <duration>")
        words = MACROS[words]
    parts = words.split()
    if len(parts) != len(FIELDS):
        raise ValueError(f"{text!r} has {len(parts)} fields; five are needed: {', '.join(name for name, *_ in FIELDS)}")
    minutes, hours, days, months, weekdays = (_values(part, *field) for part, field in zip(parts, FIELDS, strict=True))
    starred = any(_is_starred(parts[number]) for number in (2, 4))
    return Schedule(minutes, hours, days, months, weekdays, both_days=starred)


def _is_starred(field: str) -> bool:
    """Does the field leave the day open? A star with a step larger than 1 does not."""
    return any(part in ("*", "?", "*/1", "?/1") for part in field.split(","))


def _values(text: str, what: str, lowest: int, highest: int, names: dict[str, int]) -> frozenset[int]:
    chosen: set[int] = set()
    for part in text.split(","):
        found = PART.fullmatch(part)
        if found is None:
            raise ValueError(
                f"{what}: {part!r} is neither *, a number, a range such as 1-5, nor one with a step such as */15"
            )
        first, last, step = found["first"], found["last"], found["step"]
        if first in ("*", "?"):
            if last is not None:
                raise ValueError(f"{what}: {part!r} is no range; a range goes from one number to another")
            low, high = lowest, highest
        else:
            low = _number(first, what, names)
            # 5/15 means from 5 on, in steps of 15.
            high = _number(last, what, names) if last is not None else (highest if step else low)
        stride = 1 if step is None else _number(step, what, {})
        if stride < 1:
            raise ValueError(f"{what}: the step of {part!r} must be at least 1")
        if not lowest <= low <= high <= highest:
            raise ValueError(f"{what}: {part!r} is not within {lowest}-{highest}")
        chosen.update(range(low, high + 1, stride))
    return frozenset(chosen)


def _number(text: str, what: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdigit()):
        known = f" or one of {', '.join(names)}" if names else ""
        raise ValueError(f"{what}: {text!r} is not a number{known}")
    return int(text)


@lru_cache(maxsize=256)
def parse_zone(name: str) -> ZoneInfo:
    """The time zone of that name, such as Europe/Berlin; `ValueError` if nobody here knows it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name!r}") from error
