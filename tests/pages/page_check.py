"""What every report must have, whatever it shows, read from its HTML without a browser.

In: a page. Out: sentences about what is wrong with it; none if people who use a keyboard, a telephone or a screen
reader can read it. What only a browser knows (widths, colours as they come out) is in `browser_check`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Final

__all__ = ["Element", "parse", "problems"]

VOID: Final = {"meta", "br", "hr", "img", "input", "link"}
HEADINGS: Final = ("h1", "h2", "h3", "h4")


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """It and everything in it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, *tags: str) -> list[Element]:
        """Everything in it with one of these tags, in order."""
        return [one for one in self.walk() if one.tag in tags]

    def of_class(self, name: str) -> list[Element]:
        """Everything in it with this class."""
        return [one for one in self.walk() if name in (one.attributes.get("class") or "").split()]

    @property
    def text(self) -> str:
        """All words in it."""
        return " ".join(" ".join(part for one in self.walk() for part in one.texts).split())


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.errors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1].tag != tag:
            self.errors.append(f"</{tag}> where <{self.open[-1].tag}> is open")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].texts.append(data)


def parse(page: str) -> Element:
    """The page as a tree; an error if its tags do not match."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    assert not tree.errors, tree.errors
    assert len(tree.open) == 1, f"<{tree.open[-1].tag}> is never closed"
    return tree.open[0]


def problems(page: str) -> list[str]:
    """What is wrong with it."""
    root = parse(page)
    return [*_outline(root), *_tables(root), *_drawings(root), *_reach(root), *_styles(page), *_loads(page)]


def _outline(root: Element) -> Iterator[str]:
    if len(root.all("main")) != 1:
        yield "it has not one main"
    if not root.all("html")[0].attributes.get("lang"):
        yield "it does not say its language"
    levels = [HEADINGS.index(heading.tag) for heading in root.all(*HEADINGS)]
    if levels.count(0) != 1 or levels[0] != 0:
        yield "it has not one h1, first"
    if any(after > before + 1 for before, after in pairwise(levels)):
        yield f"a level of headings is left out: {levels}"
    yield from (f"an empty {heading.tag}" for heading in root.all(*HEADINGS) if not heading.text)


def _tables(root: Element) -> Iterator[str]:
    for table in root.all("table"):
        caption = " ".join(one.text for one in table.all("caption"))
        if not caption:
            yield "a table without a caption"
        heads = [head for one in table.all("thead") for head in one.all("th")]
        if not heads or any(head.attributes.get("scope") != "col" or not head.text for head in heads):
            yield f"table {caption}: its columns are not named"
        for row in (row for body in table.all("tbody") for row in body.all("tr")):
            first, *others = row.children
            if first.tag != "th" or first.attributes.get("scope") != "row":
                yield f"table {caption}: a row without a head"
            if len(others) + 1 != len(heads):
                yield f"table {caption}: a row of {len(others) + 1} cells under {len(heads)} heads"
    for box in root.of_class("wide"):
        if box.attributes.get("role") != "region" or box.attributes.get("tabindex") != "0":
            yield "what scrolls can not be reached by keyboard"
    if len(root.of_class("wide")) != len(root.all("table")):
        yield "a table that does not scroll by itself"


def _drawings(root: Element) -> Iterator[str]:
    for drawing in root.all("svg"):
        roles = drawing.attributes.get("role"), drawing.attributes.get("aria-hidden")
        nested = "viewbox" in drawing.attributes or drawing.attributes.get("overflow") == "visible"
        if not nested and roles[1] != "true" and (roles[0] != "img" or not drawing.attributes.get("aria-label")):
            yield "a drawing without a name"
        if "viewbox" in drawing.attributes and drawing.all("text"):
            yield "words that shrink and stretch with their drawing"


def _reach(root: Element) -> Iterator[str]:
    named = {one.attributes["id"] for one in root.walk() if "id" in one.attributes}
    ids = [one.attributes["id"] for one in root.walk() if "id" in one.attributes]
    if len(named) != len(ids):
        yield "an id is used twice"
    for one in root.walk():
        if "title" in one.attributes:
            yield f"<{one.tag}> tells something in a title only"
        if (by := one.attributes.get("aria-labelledby")) is not None and by not in named:
            yield f"<{one.tag}> is labelled by {by}, which is not there"
    yield from ("details without a summary" for one in root.all("details") if one.children[0].tag != "summary")


def _styles(page: str) -> Iterator[str]:
    for size, unit in re.findall(r"font(?:-size)?:[^;}]*?([\d.]+)(px|rem|em)\b", page):
        pixels = float(size) * (1 if unit == "px" else 15)
        if pixels < 11:
            yield f"letters of {size}{unit}"


def _loads(page: str) -> Iterator[str]:
    if re.search(r"<script|url\(|https?://|(?:src|href)\s*=", page):
        yield "it runs or loads something"
