"""Pages show what they are given and obey none of it."""

import xml.etree.ElementTree as ET
from importlib import resources

import jinja2
import pytest
from markupsafe import Markup

from fairway.compare.report import OptimumSection, TableRow
from fairway.pages import render
from fairway.plots.plot_card import PlotCard
from tests.pages.page_check import parse

EVIL = '<script>alert("&")</script>'
SAFE = "&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;"


def comparison(**values: object) -> str:
    page: dict[str, object] = {
        "title": "t",
        "facts": [("Scenario", "s")],
        "policies": [("a", ""), ("b", "")],
        "has_spread": False,
        "failures": [],
        "partings": [],
        "is_kept": True,
        "look": "",
        "cards": None,
        "mark": "",
        "plots": [],
        "steps": [],
        "most_steps": 2,
        "rows": [],
        "same_rows": [],
        "optimum": None,
    }
    return render("comparison.html", **page | values)


def plot(title: str = "p", meaning: str = "m", note: str = "n") -> PlotCard:
    return PlotCard(title, meaning, Markup(""), note, ["x", "a"], [["0", "1"]])


def row(title: str = "t", meaning: str = "m") -> TableRow:
    return TableRow(title, meaning, [], Markup(""))


@pytest.mark.parametrize(
    "values",
    [
        {"title": EVIL},
        {"facts": [(EVIL, "")]},
        {"facts": [("", EVIL)]},
        {"policies": [(EVIL, "")]},
        {"failures": [EVIL]},
        {"partings": [{"sentence": EVIL, "commands": []}]},
        {"partings": [{"sentence": "", "commands": [EVIL]}]},
        {"look": EVIL},
        {"plots": [plot(title=EVIL)]},
        {"plots": [plot(meaning=EVIL)]},
        {"plots": [plot(note=EVIL)]},
        {"plots": [PlotCard("", "", Markup(""), "", [EVIL], [])]},
        {"plots": [PlotCard("", "", Markup(""), "", [], [[EVIL]])]},
        {"rows": [row(title=EVIL)]},
        {"same_rows": [row(meaning=EVIL)]},
        {"steps": [(EVIL, "", "", "")]},
        {"optimum": OptimumSection([(EVIL, "", "", "", "")], [])},
        {"optimum": OptimumSection([("", EVIL, "", "", "")], [])},
        {"optimum": OptimumSection([], [EVIL])},
    ],
    ids=str,
)
def test_words_are_escaped_wherever_they_stand(values: dict[str, object]) -> None:
    page = comparison(**values)
    assert "<script" not in page
    assert SAFE in page


def test_markup_stands_as_it_is() -> None:
    assert "<svg/>" in comparison(plots=[PlotCard("p", "", Markup("<svg/>"), "", [], [])])


def test_what_macros_are_given_is_escaped_once() -> None:
    card = plot(title="a & b")
    (heading,) = parse(comparison(plots=[card])).all("h3")
    assert heading.text == "a & b"


def test_of_many_steps_the_first_are_shown_and_the_others_counted() -> None:
    page = comparison(steps=[(f"policy{number}", "", "", "") for number in range(5)])
    assert [f"policy{number}" in page for number in range(5)] == [True, True, False, False, False]
    assert "3 more." in page


def test_a_page_says_who_made_it_near_its_beginning() -> None:
    assert '<meta name="generator" content="Fairway">' in comparison()[:200]


def test_what_a_template_needs_and_does_not_get_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="rest"):
        render("answer.html", first="a")


def test_a_notebook_gets_the_text_with_its_first_line_in_bold() -> None:
    shown = ET.fromstring(render("answer.html", first="why <pod>", rest="because\n  of & so on"))
    assert "".join(shown.itertext()) == "why <pod>\nbecause\n  of & so on"
    assert shown.findtext("b") == "why <pod>"


def test_templates_are_part_of_the_package() -> None:
    names = {file.name for file in (resources.files("fairway.pages") / "templates").iterdir()}
    assert names >= {
        "page.html",
        "comparison.html",
        "experiment.html",
        "answer.html",
        "parts.html",
        "colours.css",
        "dark.css",
        "report.css",
        "shared.css",
    }
