"""Periods of time by the calendar, in UTC: days, weeks, months, quarters, years.

In: a kind of period and a moment, in seconds since 1970. Out: the period's name (`2026-11`, `2026-W47`), which sorts as
time goes, when it begins and ends, and an interval cut at the borders. Used by the account book and the budgets.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

__all__ = ["CALENDAR", "EVER", "Period", "PeriodKind", "cut", "period_at", "read_period"]

PeriodKind = Literal["day", "week", "month", "quarter", "year", "ever"]

CALENDAR: Final[tuple[PeriodKind, ...]] = ("day", "week", "month", "quarter", "year")
"""The kinds that end some day."""


class Period(NamedTuple):
    """One of them."""

    name: str
    start: float
    end: float


DAY: Final = 86_400
EVER: Final = Period("ever", -math.inf, math.inf)


def period_at(kind: PeriodKind, seconds: float) -> Period:
    """The period of that kind in which a moment lies; where one ends the next begins."""
    if kind == "ever":
        return EVER
    return _period_of_day(kind, math.floor(seconds) // DAY)


@lru_cache(maxsize=1024)
def _period_of_day(kind: PeriodKind, number: int) -> Period:
    """That of a day, counted from 1970; whatever is charged comes back to the same few days."""
    name, start, end = _around(kind, dt.datetime.fromtimestamp(number * DAY, dt.UTC))
    return Period(name, start.timestamp(), end.timestamp())


NAMES: Final[tuple[tuple[PeriodKind, str], ...]] = (
    ("day", r"(\d{4})-(\d{2})-(\d{2})"),
    ("week", r"(\d{4})-W(\d{2})"),
    ("month", r"(\d{4})-(\d{2})"),
    ("quarter", r"(\d{4})-Q([1-4])"),
    ("year", r"(\d{4})"),
)


def read_period(name: str) -> Period:
    """The period of that name; `ValueError` if there is none."""
    for kind, pattern in NAMES:
        if found := re.fullmatch(pattern, name, re.ASCII):
            year, *rest = map(int, found.groups())
            if kind == "week":
                day = dt.datetime.fromisocalendar(year, rest[0], 1)
            elif kind == "quarter":
                day = dt.datetime(year, rest[0] * 3 - 2, 1)  # noqa: DTZ001 - the next line says where
            else:
                month, day_number = [*rest, 1, 1][:2]
                day = dt.datetime(year, month, day_number)  # noqa: DTZ001 - as above
            return period_at(kind, day.replace(tzinfo=dt.UTC).timestamp())
    raise ValueError(f"{name!r} is no period; allowed: 2026-11-30, 2026-W48, 2026-11, 2026-Q4, 2026")


def _around(kind: PeriodKind, day: dt.datetime) -> tuple[str, dt.datetime, dt.datetime]:
    if kind == "day":
        return f"{day:%Y-%m-%d}", day, day + dt.timedelta(days=1)
    if kind == "week":
        year, week, weekday = day.isocalendar()
        monday = day - dt.timedelta(days=weekday - 1)
        return f"{year:04}-W{week:02}", monday, monday + dt.timedelta(days=7)
    if kind == "year":
        return f"{day:%Y}", day.replace(month=1, day=1), day.replace(year=day.year + 1, month=1, day=1)
    months = 1 if kind == "month" else 3
    first = (day.month - 1) // months * months + 1
    start = day.replace(month=first, day=1)
    end = start.replace(year=day.year + (first + months) // 13, month=(first + months - 1) % 12 + 1)
    return (f"{day:%Y-%m}" if kind == "month" else f"{day:%Y}-Q{first // 3 + 1}"), start, end


def cut(kind: PeriodKind, start: float, end: float) -> Iterator[Period]:
    """The parts of an interval, each with the name of the period in which it lies."""
    while start < end:
        period = period_at(kind, start)
        yield Period(period.name, start, min(end, period.end))
        start = period.end
