"""Pictures of pages, stored small: each page loading, full, with nothing to show, and where the server fails.

In: a page and one of its states. Out: one picture of four windows: desk and telephone, in the light and in the dark, a
third of their size. Compared by the mean colours of small squares, so that it does not matter how letters are smoothed,
but does where they are. `make page-pictures` makes them anew; those of some pages with PAGES="overview pods".
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.browser.every_page import PAGES, EveryPage
from tests.browser.looking import DESK, TELEPHONE, Look, Scheme, until
from tests.browser.page_runs import page_server
from tests.pages.browser_check import find_chromium
from tests.web.served import Served

__all__ = ["FOLDER", "FONTS", "font_widths", "is_like", "picture_of", "states", "told_apart"]

FOLDER: Final = Path(__file__).parent / "pictures"
FONTS: Final = FOLDER / "fonts.txt"
"""How wide a sentence is in the two fonts of pages, where the pictures were made: with others, all is elsewhere."""
STATES: Final = ("full", "loading", "empty", "error")
SHRUNK: Final = 3
SQUARE: Final = 5  # pixels of a shrunk picture
NOTICED: Final = 22  # of 255: how far the mean colour of a square may be off
MOST_OFF: Final = 0.004  # of the squares
NUM_COLOURS: Final = 96
WIDTHS: Final = """() => ["system-ui", "ui-monospace, monospace"].map((family) => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `14px ${family}`;
    return context.measureText("Which node fits? 0123456789").width.toFixed(2);
}).join(" ")"""
WAITING: Final = """() => document.querySelector("main h1") && document.querySelector("main .skeleton")
    && !document.querySelector(".part[aria-busy=true] .body:empty, .long-table:not(:has(.skeleton))")"""
BUSY: Final = {"code": "too_busy", "message": "64 questions are being answered", "hint": "try again in a moment"}


def states(case: EveryPage) -> list[str]:
    """Those that there are pictures of."""
    return [state for state in STATES if state != "empty" or case.empty]


def picture_of(look: Look, case: EveryPage, state: str) -> Image.Image:
    """The four windows beside each other."""
    shots = list(_shots(look, case, state))
    whole = Image.new("RGB", (sum(shot.width for shot in shots), max(shot.height for shot in shots)))
    left = 0
    for shot in shots:
        whole.paste(shot, (left, 0))
        left += shot.width
    return whole


def _shots(look: Look, case: EveryPage, state: str) -> Iterator[Image.Image]:
    held: list[Route] = []
    page = _opened(look, case, state, DESK, held)
    yield from _both(look, page, DESK)
    if state == "full":
        page = _opened(look, case, state, TELEPHONE, held)
    else:  # little is drawn: it is enough to make the window small
        page.set_viewport_size({"width": TELEPHONE[0], "height": TELEPHONE[1]})
        if state != "loading":
            look.settle(page)
    yield from _both(look, page, TELEPHONE)
    for route in held:
        route.abort()


def _opened(look: Look, case: EveryPage, state: str, size: tuple[int, int], held: list[Route]) -> Page:
    """A page in that state; the questions that nobody answers go into the list."""

    def answer(route: Route) -> None:
        if state == "loading":
            held.append(route)
        else:
            route.fulfill(status=503, json={"error": BUSY})

    page = look.blank(size, is_still=True)
    if state in {"loading", "error"}:
        page.route(lambda url: "/api/v1/" in url and not url.endswith("/runs"), answer)
    look.go(page, case.within(case.empty if state == "empty" else case.run))
    if state == "loading":
        until(page, lambda: page.evaluate(WAITING), "something stands where answers will be")
    else:
        look.settle(page)
    return page


def _both(look: Look, page: Page, size: tuple[int, int]) -> Iterator[Image.Image]:
    """In the light and in the dark."""
    schemes: tuple[Scheme, Scheme] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        look.drawn(page)
        shot = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
        yield shot.resize((size[0] // SHRUNK, size[1] // SHRUNK), Image.Resampling.BOX)


def told_apart(one: Image.Image, other: Image.Image) -> float:
    """The share of squares whose mean colours are noticeably different; all of them if the sizes are."""
    if one.size != other.size:
        return 1.0
    squares = (one.width // SQUARE, one.height // SQUARE)
    means = [
        np.asarray(picture.convert("RGB").resize(squares, Image.Resampling.BOX), np.int16) for picture in (one, other)
    ]
    return float((np.abs(means[0] - means[1]).max(axis=2) > NOTICED).mean())


def is_like(now: Image.Image, stored: Path, folder: Path) -> bool:
    """Whether nothing has changed; else the folder gets what is there now, what was stored, and the difference."""
    before = Image.open(stored).convert("RGB")
    if told_apart(now, before) <= MOST_OFF:
        return True
    folder.mkdir(parents=True, exist_ok=True)
    now.save(folder / f"{stored.stem}-now.png")
    before.save(folder / f"{stored.stem}-stored.png")
    ImageChops.difference(now, before.resize(now.size)).save(folder / f"{stored.stem}-difference.png")
    return False


def font_widths(page: Page) -> str:
    """Of this machine."""
    return str(page.evaluate(WIDTHS))


def _make(browser: Browser, server: Served, cases: Sequence[EveryPage]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for case in cases:
        for state in states(case):
            look = Look(browser, f"http://127.0.0.1:{server.port}", server.token)
            look.expected.add("Failed to load resource")
            path = FOLDER / f"{case.name}-{state}.png"
            picture = picture_of(look, case, state)
            if not path.exists() or told_apart(picture, Image.open(path)) > 0:
                picture.quantize(NUM_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
                    path, optimize=True
                )
            FONTS.write_text(font_widths(look.blank()) + "\n")
            look.close()


if __name__ == "__main__":
    chosen = [case for case in PAGES if case.name in sys.argv[1:] or len(sys.argv) == 1]
    with tempfile.TemporaryDirectory(prefix="fairway-pictures-") as made, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        with page_server(Path(made)) as served:
            _make(chromium, served, chosen)
        chromium.close()
