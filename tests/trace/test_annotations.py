"""Durations as people write them, and the annotations that carry them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError
from fairway.testing import pod
from fairway.trace import parse_seconds, seconds_annotation, seconds_text
from fairway.trace.annotations import check_annotations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        (" 90s ", 90),
        ("1.5", 1.5),
        (".5s", 0.5),
        ("1e3", 1000),
        ("250ms", 0.25),
        ("15m", 900),
        ("1h30m", 5400),
        ("2d", 172800),
        ("1w", 604800),
        ("1h1h", 7200),
        (300, 300),
        (0.25, 0.25),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "s", "5 minutes", "-1", "-1s", "1h 30m", "nan", "inf", "1_000", "1m30", "٣s", -1, float("nan"), True, 10**400],
    ids=repr,
)
def test_what_is_no_duration(text: str | float) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_seconds(text)


@given(st.floats(0, 1e9))
def test_text_and_back_is_exact_to_the_millisecond(seconds: float) -> None:
    assert parse_seconds(seconds_text(seconds)) == pytest.approx(seconds, abs=0.000501)


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        seconds = parse_seconds(text)
    except ValueError:
        seconds = 0
    assert 0 <= seconds < math.inf


def test_annotations_of_a_pod() -> None:
    thing = pod("a", annotations={"fairway.dev/duration": "5m", "fairway.dev/exit-code": "137"})
    assert seconds_annotation(thing, "fairway.dev/duration") == 300
    assert seconds_annotation(thing, "fairway.dev/arrival") is None
    assert check_annotations(thing) == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("fairway.dev/duration", "soon"),
        ("fairway.dev/arrival", "-3"),
        ("fairway.dev/fail-probability", "2"),
        ("fairway.dev/fail-probability", "often"),
        ("fairway.dev/exit-code", "0"),
        ("fairway.dev/exit-code", "256"),
        ("fairway.dev/exit-code", "-1"),
        ("fairway.dev/exit-code", "٣"),
        ("fairway.dev/exclusive", "yes"),
        ("fairway.dev/gang-one-per-node", "1"),
    ],
)
def test_wrong_annotations_are_named(key: str, text: str) -> None:
    (problem,) = check_annotations(pod("a", annotations={key: text}), "pods.yaml:3")
    assert isinstance(problem, DecodeError)
    assert str(problem).startswith(f"pods.yaml:3: Pod default/a: metadata.annotations['{key}']: ")
    assert text in str(problem)


@pytest.mark.parametrize(
    ("key", "near"),
    [("duratoin", "duration"), ("start-latancy", "start-latency"), ("rack", ""), ("duration", "")],
)
def test_an_annotation_that_is_nearly_one_of_ours_is_a_mistake(key: str, near: str) -> None:
    told = [one.problem for one in check_annotations(pod("a", annotations={f"fairway.dev/{key}": "5m"}))]
    assert told == ([f"is unknown; did you mean fairway.dev/{near}?"] if near else [])
