"""What a plot says in numbers is what is drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from fairway.plots.plot_card import card_of
from fairway.plots.readings import Line, Reading, apart, means_over, reached_at


def line(*ys: float) -> Line:
    return np.arange(len(ys), dtype=float) + 0.5, np.array(ys)


def text(value: float) -> str:
    return f"{value:.1f}"


def reading(words: str = "x", **values: float | None) -> Reading:
    return Reading(0.0, 1.0, words, values)


@given(st.lists(st.floats(0, 100), min_size=6, max_size=6), st.sampled_from([1, 2, 3, 6]))
def test_means_over_stretches_keep_the_mean_of_all(ys: list[float], num_stretches: int) -> None:
    readings = means_over({"a": line(*ys)}, np.linspace(0, 6, num_stretches + 1).tolist(), str)
    values = [one.values["a"] for one in readings]
    size = 6 // num_stretches
    assert values == pytest.approx([sum(ys[place : place + size]) / size for place in range(0, 6, size)])
    assert readings[0].words.startswith("0.0 to ")


def test_where_a_line_has_ended_there_is_no_value() -> None:
    first, second = means_over({"short": line(1, 1), "long": line(1, 1, 3, 3)}, [0, 2, 4], str)
    assert first.values == {"short": 1.0, "long": 1.0}
    assert second.values == {"short": None, "long": 3.0}
    assert second.cells(text) == ["2 to 4", "–", "3.0"]
    assert second.title(text) == "2 to 4\nshort: –\nlong: 3.0"


@given(st.lists(st.floats(0.001, 90), max_size=20, unique=True), st.lists(st.floats(0, 100), min_size=1, unique=True))
def test_a_distribution_has_reached_what_is_no_longer(waits: list[float], places: list[float]) -> None:
    waits, places = sorted(waits), sorted(places)
    seconds = np.array([0.0, *waits])
    shares = np.arange(len(seconds)) / max(len(waits), 1)
    readings = reached_at({"a": (seconds, shares)}, [(place, str(place)) for place in places], 100.0)
    for one, place in zip(readings, places, strict=True):
        assert one.values["a"] == pytest.approx(sum(wait <= place for wait in waits) / max(len(waits), 1))
    assert [one.end for one in readings] == [*places[1:], 100.0]


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([reading(a=1.0)], "", id="one policy"),
        pytest.param([reading(a=1.0, b=None)], "", id="no value"),
        pytest.param([reading(a=1.0, b=1.0)], "The lines lie on each other: no value below differs.", id="same"),
        pytest.param([reading(a=1.0, b=1.01)], "The lines lie on each other: no value below differs.", id="as shown"),
        pytest.param(
            [reading("at 1", a=1.0, b=2.0), reading("at 2", a=1.0, b=4.0), reading("at 3", a=1.0, b=0.0)],
            "Farthest apart, at 2: a 1.0, b 4.0.",
            id="farthest",
        ),
        pytest.param([reading("x", a=1.0, b=1.5, c=3.0)], "Farthest apart, x: a 1.0, c 3.0.", id="third policy"),
    ],
)
def test_how_far_lines_are_apart(readings: list[Reading], words: str) -> None:
    assert apart(readings, text) == words


def test_a_card_has_a_row_a_reading_and_a_column_a_policy() -> None:
    card = card_of("t", "m", Markup("<svg/>"), "time", [reading("0 to 1", a=1.0, b=2.0)], text)
    assert (card.columns, card.rows) == (["time", "a", "b"], [["0 to 1", "1.0", "2.0"]])
    assert card.note == "Farthest apart, 0 to 1: a 1.0, b 2.0."
    empty = card_of("t", "m", Markup(""), "time", [], text)
    assert (empty.columns, empty.rows, empty.note) == (["time"], [], "")
