"""Go's times, read to the nanosecond and written again."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.stream.go_time import NANOSECONDS, format_go_time, parse_go_time, rfc3339_nanoseconds

SECOND = 1713901867  # 2024-04-23 19:51:07 UTC


@pytest.mark.parametrize(
    ("text", "nanoseconds", "is_exact"),
    [
        ("2024-04-23 19:51:07.300887638 +0000 UTC m=+82.837503147", 300887638, True),
        ("2024-04-23 19:51:07.30088763 +0000 UTC m=+82.837503147", 300887630, True),
        ("2024-04-23 19:51:07.3 +0000 UTC m=+0.000000001", 300000000, True),
        ("2024-04-23 19:51:07 +0000 UTC m=-3", 0, True),
        ("2024-04-23 19:51:07 +0000 UTC", 0, False),
        ("2024-04-23 21:51:07.5 +0200 CEST", 500000000, False),
        ("2024-04-23 15:21:07.5 -0430 -0430 m=+1.5", 500000000, True),
        ("2024-04-24 01:36:07 +0545 +0545", 0, False),
        ("  2024-04-23 19:51:07 +0000 UTC ", 0, False),
    ],
)
def test_every_form_is_read(text: str, nanoseconds: int, is_exact: bool) -> None:
    assert parse_go_time(text) == (SECOND * NANOSECONDS + nanoseconds, is_exact)


@pytest.mark.parametrize(
    "text",
    [
        "2024-04-23T19:51:07Z",
        "2024-04-23 19:51:07",
        "2024-13-23 19:51:07 +0000 UTC",
        "2024-02-30 19:51:07 +0000 UTC",
        "2024-04-23 24:51:07 +0000 UTC",
        "2024-04-23 19:51:07.0123456789 +0000 UTC",
        "2024-04-23 19:51:07. +0000 UTC",
        "2024-04-23 19:51:07 +0000 UTC m=82.8",
        "٢٠٢٤-04-23 19:51:07 +0000 UTC",
        "yesterday",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_go_time(text)


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00 +2359 X", "9999-12-31 23:59:59.999999999 -2359 Y"])
def test_the_ends_of_the_calendar_are_times(text: str) -> None:
    assert isinstance(parse_go_time(text).nanoseconds, int)


@given(st.integers(0, 2**62), st.integers(-(2**62), 2**62))
def test_what_is_written_is_read_again(nanoseconds: int, monotonic: int) -> None:
    assert parse_go_time(format_go_time(nanoseconds, monotonic)) == (nanoseconds, True)


@given(st.integers(0, 2**62))
def test_rfc3339_says_the_same_moment(nanoseconds: int) -> None:
    text = rfc3339_nanoseconds(nanoseconds)
    whole, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    assert int(moment.timestamp()) * NANOSECONDS + int(fraction.ljust(9, "0")) == nanoseconds
