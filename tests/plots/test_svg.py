"""Drawings are well-formed, whatever the words in them, and things are where their numbers say."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib import resources
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.plots.axes import cause_colour, policy_colour
from fairway.plots.line_plots import PlotAxes, bar_plot, line_plot
from fairway.plots.readings import Reading
from fairway.plots.svg import LETTER, NARROW, NUM_COLOURS, Frame, colour, dashes, element, key, text

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))
FRAME = Frame(100, (0.0, 50.0), (0.0, 10.0))


@given(words=WORDS, value=WORDS)
def test_words_come_back_as_they_were(words: str, value: str) -> None:
    words, value = (part.replace("\ufffe", "").replace("\uffff", "") for part in (words, value))  # no XML has these
    drawn = ET.fromstring(element("title", words, class_=value))
    assert drawn.text == (words or None)
    assert drawn.get("class") == value


def test_numbers_are_short() -> None:
    assert text(1 / 3, 2.0, "a", "end") == '<text x="0.33" y="2" text-anchor="end">a</text>'


def test_a_frame_puts_values_where_they_belong() -> None:
    assert FRAME.share(np.array([0.0, 25.0, 50.0])).tolist() == [0.0, 0.5, 1.0]
    assert FRAME.across(25.0) == 500
    assert FRAME.up(np.array([0.0, 5.0, 10.0])).tolist() == [100.0, 50.0, 0.0]
    logarithmic = Frame(100, (0.0, 99.0), (0.0, 1.0), is_log=True)
    assert np.allclose(logarithmic.share(np.array([0.0, 9.0, 99.0])), [0.0, 0.5, 1.0])


def labels_at(ticks: list[tuple[float, str]]) -> tuple[list[str], list[str]]:
    """The words that are always there, and those that need room."""
    drawn = ET.fromstring(element("svg", *FRAME.x_axis(ticks, "x")))
    texts = drawn.findall("text")[:-1]  # the last is the name
    return (
        [str(one.text) for one in texts if one.get("class") is None],
        [str(one.text) for one in texts if one.get("class") == "roomy"],
    )


def test_labels_that_would_touch_are_left_out_evenly() -> None:
    few = [(0.0, "0 h"), (25.0, "1 h"), (50.0, "2 h")]
    assert labels_at(few) == (["0 h", "1 h", "2 h"], [])
    clocks = [(place * 6.25, f"0{place}:00:00") for place in range(9)]
    assert labels_at(clocks) == (
        ["00:00:00", "04:00:00", "08:00:00"],
        ["02:00:00", "06:00:00"],
    )


@given(st.lists(st.tuples(st.floats(0, 50), WORDS), min_size=1, max_size=12, unique_by=lambda tick: tick[0]))
def test_labels_never_touch_on_a_telephone(ticks: list[tuple[float, str]]) -> None:
    ticks = [(x, words.replace("\ufffe", "").replace("\uffff", "")) for x, words in sorted(ticks)]
    always, _ = labels_at(ticks)
    drawn = ET.fromstring(element("svg", *FRAME.x_axis(ticks, "x")))
    ends = []
    for label in [one for one in drawn.findall("text")[:-1] if one.get("class") is None]:
        at, length = float(str(label.get("x")).rstrip("%")) / 100 * NARROW, LETTER * len(label.text or "")
        begin = at - (length if label.get("text-anchor") == "end" else length / 2)
        ends.append((begin, begin + length))
    assert always
    assert all(after[0] >= before[1] - 0.05 for before, after in pairwise(ends))


def axes(**changes: object) -> PlotAxes:
    return replace(PlotAxes(("time", "pods"), [(0.0, "0 h"), (2.0, "2 h")], str, str), **changes)  # type: ignore[arg-type]


TWO = {"<a>": (np.array([0.0, 1.0]), np.array([0.0, 4.0])), "b": (np.array([0.0, 2.0]), np.array([1.0, 1.0]))}


def test_lines_keep_their_policies_and_their_points() -> None:
    drawn = ET.fromstring(line_plot(TWO, axes()))
    first, second = drawn.iterfind(".//polyline")
    assert [first.findtext("title"), second.findtext("title")] == ["<a>", "b"]
    assert first.get("points") == "0.0,200.0 500.0,0.0"
    assert second.get("points") == "0.0,150.0 1000.0,150.0"
    assert {"time", "pods", "0 h", "2 h", "4.0"} <= {label.text for label in drawn.findall("text")}
    assert drawn.get("aria-label") == "pods by time: <a>, b"


def test_lines_are_of_one_weight_and_are_told_apart_without_colour() -> None:
    first, second = ET.fromstring(line_plot(TWO, axes())).iterfind(".//polyline")
    assert first.get("class") == second.get("class") == "line"
    assert "stroke-dasharray:none" in str(first.get("style"))
    assert f"stroke-dasharray:{dashes(1)}" in str(second.get("style"))
    assert len({dashes(number) for number in range(NUM_COLOURS)}) == NUM_COLOURS


def test_a_policy_keeps_its_colour_where_others_have_no_line() -> None:
    (line,) = ET.fromstring(line_plot({"b": TWO["b"]}, axes(), numbers={"<a>": 0, "b": 1})).iterfind(".//polyline")
    assert f"stroke:{colour(1)};" in str(line.get("style"))
    assert colour(1) in key(1)


def test_under_the_pointer_is_every_value() -> None:
    readings = [
        Reading(0.0, 1.0, "0 to 1", {"<a>": 2.0, "b": None}),
        Reading(1.0, 2.0, "1 to 2", {"<a>": 4.0, "b": 1.0}),
    ]
    columns = ET.fromstring(line_plot(TWO, axes(), readings=readings)).findall("rect")
    assert [(one.get("x"), one.get("width")) for one in columns] == [("0%", "50%"), ("50%", "50%")]
    assert columns[0].findtext("title") == "0 to 1\n<a>: 2.0\nb: –"


def test_a_mark_stands_where_it_is_and_says_what_it_is() -> None:
    (mark,) = ET.fromstring(line_plot(TWO, axes(), marks=[(0.5, "they part")])).findall("g")
    assert mark.findtext("title") == "they part"
    assert [one.get("x") or one.get("x1") for one in mark if one.tag != "title"] == ["25%", "25%"]


def test_a_share_that_was_reached_stays_so() -> None:
    lines = {"a": (np.array([0.0, 9.0]), np.array([0.5, 1.0])), "b": (np.array([0.0, 99.0]), np.array([0.5, 1.0]))}
    plot = line_plot(lines, axes(x_ticks=[(0.0, "0")], is_log=True, y_min=0.5))
    first = ET.fromstring(plot).find(".//polyline")
    assert first is not None
    assert str(first.get("points")).split() == ["0.0,200.0", "500.0,0.0", "1000.0,0.0"]


def test_bars_are_as_long_as_their_values_and_nothing_is_a_bar_of_no_length() -> None:
    drawn = ET.fromstring(bar_plot([(0, "a: 0", 0.0, None), (1, "b: 2", 2.0, None), (2, "c: 2", 3.0, 1.0)]))
    assert [bar.get("width") for bar in drawn.findall("rect")] == ["0", "74", "111"]
    edge, spread, zero = drawn.findall("line")
    assert (spread.get("x1"), spread.get("x2")) == ("76", "150")
    assert (edge.get("x1"), edge.get("x2")) == ("76", "150")
    assert (zero.get("class"), zero.get("x1")) == ("axis", "1")


def test_pictures_have_the_colours_of_pages() -> None:
    style = (resources.files("fairway.pages") / "templates" / "colours.css").read_text()
    colours = dict(re.findall(r"--([cq]\d): (#\w+)", style))
    assert {f"c{number}": policy_colour(number) for number in range(NUM_COLOURS)} == {
        name: colour for name, colour in colours.items() if name.startswith("c")
    }
    assert {f"q{number}": cause_colour(number) for number in range(7)} == {
        name: colour for name, colour in colours.items() if name.startswith("q")
    }
