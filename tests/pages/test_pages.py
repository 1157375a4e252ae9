"""Pages show what they are given and obey none of it."""

import xml.etree.ElementTree as ET
from importlib import resources

import jinja2
import pytest
from markupsafe import Markup

from fairway.pages import render

EVIL = '<script>alert("&")</script>'
SAFE = "&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;"


def comparison(**values: object) -> str:
    page: dict[str, object] = {
        "title": "t",
        "policies": [("a", "red"), ("b", "blue")],
        "seeds": "one seed",
        "failures": [],
        "partings": [],
        "cards": None,
        "plots": [],
        "steps": [],
        "most_steps": 2,
        "rows": [],
    }
    return render("comparison.html", **page | values)


@pytest.mark.parametrize(
    "values",
    [
        {"title": EVIL},
        {"policies": [(EVIL, "red")]},
        {"failures": [EVIL]},
        {"partings": [EVIL]},
        {"plots": [(EVIL, "")]},
        {"steps": [(EVIL, "", "", "")]},
    ],
    ids=lambda values: next(iter(values)),
)
def test_words_are_escaped_wherever_they_stand(values: dict[str, object]) -> None:
    page = comparison(**values)
    assert "<script" not in page
    assert SAFE in page


def test_markup_stands_as_it_is() -> None:
    assert "<svg/>" in comparison(plots=[("p", Markup("<svg/>"))])


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
    assert names >= {"page.html", "comparison.html", "experiment.html", "answer.html", "colours.css"}
