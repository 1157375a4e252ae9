"""Drawings are well-formed, whatever the words in them, and things are where their numbers say."""

import re
import xml.etree.ElementTree as ET
from importlib import resources

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairway.plots.axes import cause_colour, policy_colour
from fairway.plots.line_plots import bar_plot, line_plot
from fairway.plots.svg import NUM_COLOURS, Frame, element, text

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))
FRAME = Frame(200, 100, (20, 10, 5, 15), (0.0, 50.0), (0.0, 10.0))


@given(words=WORDS, value=WORDS)
def test_words_come_back_as_they_were(words: str, value: str) -> None:
    words, value = (part.replace("\ufffe", "").replace("\uffff", "") for part in (words, value))  # no XML has these
    drawn = ET.fromstring(element("title", words, class_=value))
    assert drawn.text == (words or None)
    assert drawn.get("class") == value


def test_numbers_are_short() -> None:
    assert text(1 / 3, 2.0, "a", "end") == '<text x="0.33" y="2" text-anchor="end">a</text>'


def test_a_frame_puts_values_where_they_belong() -> None:
    assert FRAME.across(np.array([0.0, 25.0, 50.0])).tolist() == [20.0, 105.0, 190.0]
    assert FRAME.up(np.array([0.0, 5.0, 10.0])).tolist() == [85.0, 45.0, 5.0]
    logarithmic = Frame(100, 100, (0, 0, 0, 0), (0.0, 99.0), (0.0, 1.0), is_log=True)
    assert np.allclose(logarithmic.across(np.array([0.0, 9.0, 99.0])), [0.0, 50.0, 100.0])


def test_lines_keep_their_policies_and_their_points() -> None:
    lines = {"<a>": (np.array([0.0, 1.0]), np.array([0.0, 4.0])), "b": (np.array([0.0, 2.0]), np.array([1.0, 1.0]))}
    drawn = ET.fromstring(line_plot(lines, [(0.0, "0 h"), (2.0, "2 h")], str, ("time", "pods")))
    first, second = drawn.findall("polyline")
    assert [first.findtext("title"), second.findtext("title")] == ["<a>", "b"]
    assert [first.get("class"), second.get("class")] == ["line first", "line"]
    assert first.get("points") == "58.0,210.0 340.0,12.0"
    assert second.get("points") == "58.0,160.5 622.0,160.5"
    assert {"time", "pods", "0 h", "2 h", "4.0"} <= {label.text for label in drawn.findall("text")}


def test_bars_are_as_long_as_their_values() -> None:
    drawn = ET.fromstring(bar_plot([("a", 1.0, None), ("b", 2.0, 0.5)]))
    assert [bar.get("width") for bar in drawn.findall("rect")] == ["60", "120"]
    (spread,) = drawn.findall("line")
    assert (spread.get("x1"), spread.get("x2")) == ("90", "150")


def test_pictures_have_the_colours_of_pages() -> None:
    style = (resources.files("fairway.pages") / "templates" / "colours.css").read_text().partition("@media")[0]
    colours = dict(re.findall(r"--([cq]\d): (#\w+)", style))
    assert {f"c{number}": policy_colour(number) for number in range(NUM_COLOURS)} == {
        name: colour for name, colour in colours.items() if name.startswith("c")
    }
    assert {f"q{number}": cause_colour(number) for number in range(7)} == {
        name: colour for name, colour in colours.items() if name.startswith("q")
    }
