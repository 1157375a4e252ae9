import pytest

from fairway.model.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("+0", 0.0),
        ("15s", 15.0),
        ("10m0s", 600.0),
        ("1h15m30.918s", 4530.918),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("-2s", -2.0),
        ("500ms", 0.5),
        ("3us", 3e-6),
        ("3\N{MICRO SIGN}s", 3e-6),
        ("7ns", 7e-9),
        ("0.1ns", 0.0),
        ("9223372036854775807ns", 9223372036.854775807),
    ],
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert float(parse_duration(text)) == seconds


@pytest.mark.parametrize(
    "text", ["", "-", "15", "s", "15 s", " 15s", "1d", "1.2.3s", ".s", "--1s", "1s-1s", "15S", "\u0661s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_a_duration_beyond_64_bits_of_nanoseconds_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than 292 years"):
        parse_duration("9223372036854775808ns")
