"""When windows are: moments, schedules, zones whose clocks are set."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.occurrences import Occurrence, occurrences, parse_moment
from fairway.model.batch import WindowSpec
from fairway.model.cron import parse_schedule, parse_zone
from fairway.model.duration import Duration

HOUR = 3600.0


def moment(text: str) -> float:
    return dt.datetime.fromisoformat(text).timestamp()


def starts(spec: WindowSpec, now: str, created: str = "2020-01-01T00:00:00Z") -> list[str]:
    found = occurrences(spec, moment(created), moment(now))
    return [dt.datetime.fromtimestamp(each.start, dt.UTC).strftime("%m-%dT%H:%M") for each in found]


def scheduled(schedule: str, duration: float = 4 * HOUR, zone: str = "UTC") -> WindowSpec:
    return WindowSpec(schedule=schedule, time_zone=zone, duration=Duration(duration))


@pytest.mark.parametrize(
    ("text", "epoch", "seconds"),
    [
        ("1970-01-01T01:00:00Z", 0.0, 3600.0),
        ("1970-01-01T01:00:00+01:00", 0.0, 0.0),
        ("2026-12-01T06:00:00Z", moment("2026-12-01T00:00:00Z"), 21600.0),
        ("2h", 1e9, 7200.0),
        ("90", 1e9, 90.0),
    ],
)
def test_moments(text: str, epoch: float, seconds: float) -> None:
    assert parse_moment(text, epoch, may_be_span=True) == seconds


@pytest.mark.parametrize(
    ("text", "may_be_span", "says"),
    [
        ("2026-12-01T06:00:00", False, "time zone"),
        ("tomorrow", False, "no time such as 2026-12-01T06:00:00Z$"),
        ("2h", False, "no time such as"),
        ("tomorrow", True, "or 2h, from the beginning"),
        ("", True, "no time such as"),
        ("0001-01-01T00:00:00+23:59", False, "not between the years 1970 and 3000"),
        ("9999-12-31T23:59:59Z", True, "not between the years 1970 and 3000"),
        ("99999999w", True, "not between the years 1970 and 3000"),
    ],
)
def test_what_is_no_moment(text: str, may_be_span: bool, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_moment(text, 0.0, may_be_span=may_be_span)


def test_one_start_is_one_occurrence_whenever_one_asks() -> None:
    spec = WindowSpec(start="2h", duration=Duration(HOUR))
    for now in (0.0, 9000.0, 1e9):
        assert occurrences(spec, 0.0, now, may_be_span=True) == [Occurrence(7200.0, 10800.0)]


@pytest.mark.parametrize(
    ("spec", "now", "found"),
    [
        pytest.param(scheduled("0 6 * * 1"), "2026-11-18T00:00:00Z", ["11-23T06:00", "11-30T06:00"], id="two to come"),
        pytest.param(
            scheduled("0 6 * * 1"), "2026-11-23T06:00:00Z", ["11-23T06:00", "11-30T06:00", "12-07T06:00"], id="begins"
        ),
        pytest.param(scheduled("0 6 * * 1"), "2026-11-23T10:00:00Z", ["11-30T06:00", "12-07T06:00"], id="just over"),
        pytest.param(
            scheduled("0 6 * * *", 30 * HOUR),
            "2026-11-18T07:00:00Z",
            ["11-18T06:00", "11-19T06:00", "11-20T06:00"],
            id="begins again before it is over",
        ),
        pytest.param(scheduled("0 0 30 2 *"), "2026-11-18T07:00:00Z", [], id="never"),
        pytest.param(
            scheduled("30 2 * * *", zone="Europe/Copenhagen"),
            "2026-03-28T00:00:00Z",
            ["03-28T01:30", "03-30T00:30"],
            id="clocks are set forward over it: that day has none",
        ),
        pytest.param(
            scheduled("30 2 * * *", HOUR / 2, zone="Europe/Copenhagen"),
            "2026-10-24T23:00:00Z",
            ["10-25T00:30", "10-25T01:30"],
            id="clocks are set back over it: that day has two",
        ),
        pytest.param(
            scheduled("0 6 * * *", zone="Europe/Copenhagen"),
            "2026-03-28T12:00:00Z",
            ["03-29T04:00", "03-30T04:00"],
            id="summer time",
        ),
    ],
)
def test_schedules(spec: WindowSpec, now: str, found: list[str]) -> None:
    assert starts(spec, now) == found


def test_none_began_before_the_window_was_made() -> None:
    spec = scheduled("0 6 * * *")
    assert starts(spec, "2026-11-18T08:00:00Z", "2026-11-18T07:00:00Z") == ["11-19T06:00", "11-20T06:00"]


def test_every_is_counted_from_when_the_window_was_made() -> None:
    spec = scheduled("@every 24h", HOUR)
    first = occurrences(spec, 1000.0, 1000.0)
    assert [each.start for each in first] == [87400.0, 173800.0]
    assert [each.start for each in occurrences(spec, 1000.0, 87500.0)] == [87400.0, 173800.0, 260200.0]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (scheduled("every day"), "^schedule: "),
        (scheduled("0 6 * * *", zone="Europe/Kopenhagen"), "^timeZone: unknown time zone"),
        (WindowSpec(start="soon", duration=Duration(60)), "^start: "),
    ],
    ids=["schedule", "zone", "start"],
)
def test_what_can_not_be_read_names_its_field(spec: WindowSpec, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        occurrences(spec, 0.0, 0.0)


@settings(max_examples=60, deadline=None)
@given(
    schedule=st.sampled_from(["0 6 * * *", "*/20 1-4 * * *", "30 2 * * *", "15 2 29 3 *", "0 0 1 * *"]),
    zone=st.sampled_from(["UTC", "Europe/Copenhagen", "America/New_York", "Australia/Lord_Howe"]),
    day=st.sampled_from(
        ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z", "2026-04-04T00:00:00Z", "2026-07-01T00:00:00Z"]
    ),
    minutes=st.integers(0, 48 * 60),
    duration=st.integers(1, 40).map(lambda number: number * 600.0),
)
def test_the_same_as_minute_by_minute(schedule: str, zone: str, day: str, minutes: int, duration: float) -> None:
    now = moment(day) + minutes * 60
    created = moment(day) - 86400
    cron, place = parse_schedule(schedule), parse_zone(zone)
    horizon = 75 * 60  # minutes
    slow = []
    for minute in range(-int(duration) // 60, horizon):
        at = dt.datetime.fromtimestamp(now + minute * 60, dt.UTC).astimezone(place)
        day_fits = at.day in cron.days and at.isoweekday() % 7 in cron.weekdays
        if at.minute in cron.minutes and at.hour in cron.hours and at.month in cron.months and day_fits:
            slow.append(at.timestamp())
    past = [start for start in slow if start <= now < start + duration and start > created]
    coming = [start for start in slow if start > now][:2]
    found = [each.start for each in occurrences(scheduled(schedule, duration, zone), created, now)]
    assert [start for start in found if start < now + horizon * 60] == past[-1:] + coming
