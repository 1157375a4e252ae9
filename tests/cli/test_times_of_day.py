"""Times that people type for queues and windows: what is meant, and what is none."""

from __future__ import annotations

import datetime as dt

import click
import pytest

from fairway.cli.queues.ordering import TimeOfDay, now


def meant(text: str) -> float:
    return TimeOfDay().convert(text, None, None)


def test_what_is_meant() -> None:
    assert meant("2030-01-01T06:00Z") == dt.datetime(2030, 1, 1, 6, tzinfo=dt.UTC).timestamp()
    assert meant("+2h") == pytest.approx(now() + 7200, abs=60)
    for text in ("0:00", "06:30", "23:59"):
        moment = dt.datetime.fromtimestamp(meant(text), dt.UTC).astimezone()
        assert f"{moment:%H:%M}" == text.zfill(5)
        assert now() < moment.timestamp() <= now() + 25 * 3600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", "'soon' is no time"),
        ("+-2h", "is no time"),
        ("25:00", "is no time"),
        ("0001-01-01T00:00", "1970 and 3000|is no time"),  # as the machine's zone has it
        ("1066-10-14T09:00Z", "not between the years 1970 and 3000"),
        ("3000-01-01T00:00Z", "not between the years 1970 and 3000"),
        ("+999999999h", "not between the years 1970 and 3000"),
    ],
)
def test_what_is_none_is_told_with_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(click.BadParameter, match=f"({words}).*; allowed: .2h"):
        meant(text)
