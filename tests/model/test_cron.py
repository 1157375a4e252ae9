"""Cron schedules."""

import datetime as dt

import pytest

from fairway.model.cron import parse_schedule, parse_zone

START = "2030-01-01 00:00"  # a Tuesday


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


CASES = {
    "every minute": ("* * * * *", START, "2030-01-01 00:01"),
    "the next minute begins whole": ("* * * * *", "2030-01-01 00:00:30", "2030-01-01 00:01"),
    "never the same again": ("0 0 * * *", START, "2030-01-02 00:00"),
    "a list": ("5,35 * * * *", "2030-01-01 00:05", "2030-01-01 00:35"),
    "a range": ("0 9-17 * * *", "2030-01-01 17:00", "2030-01-02 09:00"),
    "a step": ("*/15 * * * *", "2030-01-01 00:16", "2030-01-01 00:30"),
    "a range with a step": ("30 6-16/4 * * *", "2030-01-01 10:30", "2030-01-01 14:30"),
    "a number with a step": ("5/20 * * * *", "2030-01-01 00:45", "2030-01-01 01:05"),
    "a weekday": ("0 0 * * 1", START, "2030-01-07 00:00"),
    "weekdays by name": ("0 0 * * mon-FRI", "2030-01-04 12:00", "2030-01-07 00:00"),
    "Sunday is 0": ("0 0 * * 0", START, "2030-01-06 00:00"),
    "a month by name": ("0 0 1 jun *", START, "2030-06-01 00:00"),
    "the end of the year": ("0 0 1 1 *", START, "2031-01-01 00:00"),
    "months of 31 days": ("0 0 31 * *", "2030-01-31 00:00", "2030-03-31 00:00"),
    "a leap day": ("0 0 29 2 *", START, "2032-02-29 00:00"),
    "day or weekday": ("0 0 13 * fri", START, "2030-01-04 00:00"),
    "day and weekday, where one is open": ("0 0 13 * *", START, "2030-01-13 00:00"),
    "a star with a step is not open": ("0 0 */10 * mon", START, "2030-01-07 00:00"),
    "a question mark is": ("0 0 ? * mon", START, "2030-01-07 00:00"),
    "hourly": ("@hourly", START, "2030-01-01 01:00"),
    "daily": ("@daily", START, "2030-01-02 00:00"),
    "midnight": ("@midnight", START, "2030-01-02 00:00"),
    "weekly": ("@weekly", START, "2030-01-06 00:00"),
    "monthly": ("@monthly", START, "2030-02-01 00:00"),
    "yearly": ("@yearly", START, "2031-01-01 00:00"),
    "annually": ("@annually", START, "2031-01-01 00:00"),
    "every so often": ("@every 1h30m", START, "2030-01-01 01:30"),
    "spaces": ("  0   12 * *  * ", START, "2030-01-01 12:00"),
}


@pytest.mark.parametrize(("schedule", "time", "expected"), CASES.values(), ids=CASES)
def test_the_next_time(schedule: str, time: str, expected: str) -> None:
    assert parse_schedule(schedule).next_after(at(time)) == at(expected)


def test_a_day_that_never_comes() -> None:
    assert parse_schedule("0 0 30 2 *").next_after(at(START)) is None


def test_every_minute_of_a_day_agrees_with_a_naive_search() -> None:
    schedule = parse_schedule("7-59/13 */5 1,15 * 2-4")
    time = at(START)
    for _ in range(40):
        found = schedule.next_after(time)
        step = time + dt.timedelta(minutes=1)
        while not (
            step.minute in range(7, 60, 13)
            and step.hour % 5 == 0
            and (step.day in (1, 15) or step.isoweekday() in (2, 3, 4))
        ):
            step += dt.timedelta(minutes=1)
        assert found == step
        time = step


WRONG = {
    "nothing": ("", "has 0 fields"),
    "too few": ("* * * *", "has 4 fields; five are needed: minute, hour,"),
    "seconds": ("0 * * * * *", "has 6 fields"),
    "a word": ("x * * * *", "minute: 'x' is not a number"),
    "a name in the wrong place": ("0 0 mon * *", "day of the month: 'mon' is not a number"),
    "an unknown name": ("0 0 * * someday", "day of the week: 'someday' is not a number or one of sun, mon"),
    "too large": ("60 * * * *", "minute: '60' is not within 0-59"),
    "too small": ("0 0 0 * *", "day of the month: '0' is not within 1-31"),
    "Sunday is not 7": ("0 0 * * 7", "day of the week: '7' is not within 0-6"),
    "backwards": ("0 17-9 * * *", "hour: '17-9' is not within 0-23"),
    "no step": ("*/0 * * * *", "the step of '*/0' must be at least 1"),
    "half a range": ("5- * * * *", "minute: '5-' is neither"),
    "a star as a range": ("*-5 * * * *", "is no range"),
    "an unknown macro": ("@fortnightly", "'@fortnightly' is not one of @yearly"),
    "every nothing": ("@every soon", "'soon' is not a duration"),
    "a time zone": ("TZ=Europe/Berlin 0 0 * * *", "a time zone does not belong into the schedule"),
}


@pytest.mark.parametrize(("schedule", "problem"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense(schedule: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at below
        parse_schedule(schedule)
    assert problem in str(caught.value)


ZONES = {
    "winter": ("0 9 * * *", "Europe/Berlin", "2030-01-01 00:00", "2030-01-01 08:00"),
    "summer": ("0 9 * * *", "Europe/Berlin", "2030-07-01 00:00", "2030-07-01 07:00"),
    "the day begins elsewhere": ("0 0 1 * *", "Asia/Tokyo", "2030-01-31 12:00", "2030-01-31 15:00"),
    "half an hour": ("0 12 * * *", "Asia/Kolkata", "2030-01-01 00:00", "2030-01-01 06:30"),
    "an hour that is skipped": ("30 2 31 3 *", "Europe/Berlin", "2030-03-30 12:00", "2031-03-31 00:30"),
    "on the hour after": ("*/30 * * * *", "Europe/Berlin", "2030-03-31 00:30", "2030-03-31 01:00"),
    "an hour that comes twice": ("30 2 * * *", "Europe/Berlin", "2030-10-27 00:30", "2030-10-27 01:30"),
    "and then not again": ("30 2 * * *", "Europe/Berlin", "2030-10-27 01:30", "2030-10-28 01:30"),
    "all of it": ("*/30 * * * *", "Europe/Berlin", "2030-10-27 00:30", "2030-10-27 01:00"),
    "every so often": ("@every 1h", "Asia/Tokyo", "2030-01-01 00:00", "2030-01-01 01:00"),
}


@pytest.mark.parametrize(("schedule", "zone", "time", "expected"), ZONES.values(), ids=ZONES)
def test_the_next_time_in_a_zone(schedule: str, zone: str, time: str, expected: str) -> None:
    assert parse_schedule(schedule).next_in_zone(at(time), parse_zone(zone)) == at(expected)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/passwd"])
def test_unknown_zones(name: str) -> None:
    with pytest.raises(ValueError, match="unknown time zone"):
        parse_zone(name)
