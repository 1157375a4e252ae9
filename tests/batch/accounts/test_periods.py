"""Days, weeks, months, quarters and years, as the calendar has them."""

import datetime as dt
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts.periods import CALENDAR, EVER, PeriodKind, cut, period_at


def utc(text: str) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    ("kind", "moment", "name", "start", "end"),
    [
        ("day", "2026-11-18T23:59:59", "2026-11-18", "2026-11-18", "2026-11-19"),
        ("day", "2028-02-29", "2028-02-29", "2028-02-29", "2028-03-01"),
        ("week", "2026-11-18", "2026-W47", "2026-11-16", "2026-11-23"),
        ("week", "2027-01-01", "2026-W53", "2026-12-28", "2027-01-04"),  # of the year before
        ("month", "2026-12-31T12:00", "2026-12", "2026-12-01", "2027-01-01"),
        ("month", "2026-01-31", "2026-01", "2026-01-01", "2026-02-01"),
        ("quarter", "2026-11-18", "2026-Q4", "2026-10-01", "2027-01-01"),
        ("quarter", "2026-03-31", "2026-Q1", "2026-01-01", "2026-04-01"),
        ("quarter", "2026-09-30", "2026-Q3", "2026-07-01", "2026-10-01"),
        ("year", "2026-11-18", "2026", "2026-01-01", "2027-01-01"),
    ],
)
def test_the_period_of_a_moment(kind: PeriodKind, moment: str, name: str, start: str, end: str) -> None:
    assert period_at(kind, utc(moment)) == (name, utc(start), utc(end))


def test_ever_has_no_end() -> None:
    assert period_at("ever", 1e9) is EVER


@given(kind=st.sampled_from(CALENDAR), start=st.floats(0, 4e9), length=st.one_of(st.floats(0, 1e5), st.floats(0, 1e8)))
def test_parts_are_the_whole_in_order_of_names(kind: PeriodKind, start: float, length: float) -> None:
    end = start + length
    parts = list(cut(kind, start, end))
    if end == start:
        assert parts == []
        return
    assert parts[0].start == start
    assert parts[-1].end == end
    assert all(before.end == after.start for before, after in itertools.pairwise(parts))
    names = [part.name for part in parts]
    assert names == sorted(set(names))
    assert all(period_at(kind, part.start).name == part.name for part in parts)
    assert all(period_at(kind, math.nextafter(part.end, 0)).name == part.name for part in parts)
