"""Text from elsewhere, made fit to be shown."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.words import go_duration, safe_cell, time_text, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve · 名前 ✓", "naïve · 名前 ✓"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("back\rover", r"back\rover"),
        ("bell\x07", r"bell\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("abc\u202egpj.exe", r"abc\u202egpj.exe"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_can_not_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_cell_has_one_line() -> None:
    assert visible("a\nb\tc", one_line=True) == r"a\nb\tc"


@given(st.text())
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    kept = visible(text, one_line=True)
    assert not [char for char in kept if unicodedata.category(char) == "Cc"]
    kept.encode()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_is_no_formula(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=b", "name-1", "1.5"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert safe_cell(text) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (30, "30s"),
        (1.5, "1.5s"),
        (60, "1m0s"),
        (90.25, "1m30.25s"),
        (3600, "1h0m0s"),
        (90061.001, "25h1m1.001s"),
        (0.5, "500ms"),
        (0.0015, "1.5ms"),
        (2.5e-5, "25µs"),
        (3e-9, "3ns"),
        (-2, "-2s"),
    ],
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


def test_a_moment_of_a_real_cluster_is_a_time_of_day() -> None:
    assert time_text(1_795_003_155.02) == "2026-11-18 11:59:15Z"
    assert time_text(999_999_999) == "11574d 01:46:39"
