"""The judges of pages see what is wrong, and the colours of pages are told from their grounds."""

import re
from importlib import resources
from pathlib import Path

import pytest

from tests.pages.browser_check import SIZES, measure
from tests.pages.page_check import problems

HEAD = '<!doctype html><html lang="en"><head><title>t</title></head><body>'
GOOD = f"{HEAD}<main><h1>t</h1></main></body></html>"


def page(body: str) -> str:
    return GOOD.replace("</main>", f"{body}</main>")


def test_nothing_is_wrong_with_a_good_page() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<h3>x</h3>", "a level of headings is left out: [0, 2]"),
        ("<h1>x</h1>", "it has not one h1, first"),
        ("<h2></h2>", "an empty h2"),
        ("<table><tbody></tbody></table>", "a table without a caption"),
        ("<table></table>", "a table that does not scroll by itself"),
        ('<div class="wide"></div>', "what scrolls can not be reached by keyboard"),
        ("<svg></svg>", "a drawing without a name"),
        ('<svg viewBox="0 0 1 1"><text>x</text></svg>', "words that shrink and stretch with their drawing"),
        ('<p title="x">y</p>', "<p> tells something in a title only"),
        ('<p id="x"></p><p id="x"></p>', "an id is used twice"),
        ('<p aria-labelledby="x"></p>', "<p> is labelled by x, which is not there"),
        ("<style>p { font-size: 10px }</style>", "letters of 10px"),
        ("<style>p { font: .7rem/1 serif }</style>", "letters of .7rem"),
        ('<img src="x">', "it runs or loads something"),
    ],
)
def test_what_is_wrong_is_said(body: str, problem: str) -> None:
    assert problem in problems(page(body))


def test_a_browser_sees_what_is_too_small_too_faint_and_too_wide(tmp_path: Path) -> None:
    bad = page(
        '<style>body { background: #fff }</style><p style="font-size:9px">small</p><p style="color:#aaa">faint</p>'
        '<div style="width:900px">wide</div><svg width="100%" viewBox="0 0 800 9"><text>drawn</text></svg>'
        '<svg class="plot"><line class="grid" style="stroke:#eee"/></svg>'
    )
    seen = measure(bad, tmp_path, SIZES["telephone"], "light")
    assert (seen["width"], seen["scroll"] > 390) == (390, True)
    assert [words.partition(":")[0] for words in seen["small"]] == ["small", "drawn"]
    assert [words.partition(":")[0] for words in seen["faint"]] == ["faint"]
    assert seen["out"] == ["wide"]
    assert seen["thin"] == ["grid: 1.16"]


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    shares = [int(digits[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_is_told_from_its_ground(scheme: str) -> None:
    light, dark = (
        (resources.files("fairway.pages") / "templates" / name).read_text() for name in ("colours.css", "dark.css")
    )
    colours = dict(re.findall(r"--(\w+): (#\w+)", light))
    if scheme == "dark":
        in_the_dark = dict(re.findall(r"--(\w+): (#\w+)", dark))
        assert in_the_dark.keys() == colours.keys()  # none is left as it is in the light
        colours = in_the_dark
    assert contrast("#000", "#fff") == pytest.approx(21)
    for ground in ("paper", "card"):
        for name, colour in colours.items():
            if name.startswith("h"):
                continue  # shades of a share: the least is nearly its ground
            least = {"ink": 4.5, "soft": 4.5, "good": 4.5, "bad": 4.5, "paper": 0, "card": 0, "edge": 0}.get(name, 3)
            assert contrast(colour, colours[ground]) >= least, f"{name} on {ground}"
