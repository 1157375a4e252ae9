"""Pages as people open them: with the URL that was printed, in a window of some size, in the light or in the dark.

In: a browser, a server. Out: a playwright page that is settled: nothing is loading. What the console says, what the
script did not catch and every request that leaves the server end the test. The content policy refuses functions given
as strings, so conditions are asked again and again by `evaluate`, which it lets pass.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Dialog, Page, Request

__all__ = ["DESK", "TELEPHONE", "Look", "Scheme", "table_of", "texts", "until", "url"]

Scheme = Literal["light", "dark"]

DESK: Final = (1440, 900)
TELEPHONE: Final = (390, 844)
TRIES: Final = 3000  # a slow machine is no reason to fail
PACE: Final = 20.0  # milliseconds
API: Final = "/fairway/api/"
ENDLESS: Final = "/stream"  # the one answer that does not end
WATCH: Final = Path(__file__).parent / "watch.js"
DRAWN: Final = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
SETTLED: Final = """() => document.readyState === 'complete' && !!document.querySelector('main h1')
    && !document.querySelector('[aria-busy="true"], main > .skeleton')
    && [...document.querySelectorAll('main canvas:not([aria-label])')].every((one) => !one.clientHeight)"""


def until(page: Page, holds: Callable[[], Any], what: str) -> Any:
    """What it says once it is true; the test fails if it never is."""
    for _ in range(TRIES):
        if found := holds():
            return found
        page.wait_for_timeout(PACE)
    raise AssertionError(f"never: {what}")


ROWS: Final = """(name) => [...document.querySelectorAll('main table')].filter((one) => one.ariaLabel === name)
    .flatMap((one) => [...one.querySelectorAll('tbody tr:not(.gap)')])
    .map((row) => [...row.children].map((cell) => cell.innerText.trim()))"""


def table_of(page: Page, name: str) -> list[list[str]]:
    """Cells of the rows of a long table that are in sight."""
    rows: list[list[str]] = page.evaluate(ROWS, name)
    return rows


def texts(page: Page, selector: str) -> list[str]:
    """What is shown in each of these elements."""
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def url(page: Page) -> str:
    """Where the page is now; playwright's own `url` is as of the last event it saw."""
    return str(page.evaluate("() => location.href"))


class Look:
    """Looks at pages of one server."""

    def __init__(self, browser: Browser, origin: str, token: str) -> None:
        self._browser = browser
        self._origin = origin
        self._token = token
        self._under_way: dict[Page, set[Request]] = {}  # of every page that was opened
        self._complaints: list[str] = []
        self.expected: set[str] = set()
        """Parts of complaints that the test brings about itself."""

    def at(
        self,
        path: str,
        *,
        size: tuple[int, int] = DESK,
        scheme: Scheme = "light",
        token: str = "",
        is_watched: bool = False,
    ) -> Page:
        """A page below `/fairway/ui/`, settled; watched, it tells what it draws and waits for (see watch.js)."""
        page = self.blank(size, scheme, is_still=is_watched)
        if is_watched:
            page.add_init_script(path=WATCH)
        self.go(page, path, token)
        if not token:
            self.settle(page)
        return page

    def blank(self, size: tuple[int, int] = DESK, scheme: Scheme = "light", *, is_still: bool = False) -> Page:
        """A window in which nothing was opened yet; still: for those who want nothing to move."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            has_touch=size == TELEPHONE,
            reduced_motion="reduce" if is_still else "no-preference",
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("console", lambda said: self._complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self._complaints.append(f"thrown: {error}"))
        self._under_way[page] = set()
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self._began(page, request))
        page.on("requestfinished", lambda request: self._ended(page, request))
        page.on("requestfailed", lambda request: self._ended(page, request))
        return page

    def go(self, page: Page, path: str, token: str = "") -> None:
        """Open a path as somebody does who was given its URL."""
        page.goto(f"{self._origin}/fairway/ui/{path}#token={token or self._token}")

    def settle(self, page: Page) -> None:
        """Wait until nothing is loading, and what came is drawn."""
        until(page, lambda: self._is_settled(page), f"{page.url} has settled")
        self.drawn(page)

    def _is_settled(self, page: Page) -> bool:
        broken = [said for said in self._complaints if said.startswith("thrown:")]
        assert not broken, broken  # it may never settle
        return page.evaluate(SETTLED) and not self._under_way[page]

    def drawn(self, page: Page) -> None:
        """Wait until what is to be drawn is on the screen."""
        page.evaluate(DRAWN)

    def close(self) -> None:
        """Close all pages; the test fails if one complained."""
        for page in self._under_way:
            page.context.close()
        left = [said for said in self._complaints if not any(part in said for part in self.expected)]
        assert not left, left

    def _refuse(self, dialog: Dialog) -> None:
        self._complaints.append(f"a script asks: {dialog.message}")
        dialog.dismiss()

    def _began(self, page: Page, request: Request) -> None:
        self._check_origin(request.url)
        path = urlsplit(request.url).path
        if API in path and not path.endswith(ENDLESS):
            self._under_way[page].add(request)

    def _ended(self, page: Page, request: Request) -> None:
        self._under_way[page].discard(request)

    def _check_origin(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"blob", "data"} and f"{parts.scheme}://{parts.netloc}" != self._origin:
            self._complaints.append(f"a request left: {url}")
