"""Runs for pictures of many nodes, and what a heat map of them looks like, worked out beside the scripts.

In: a folder. Out: 600 nodes with pods that hold this and that of them for an hour; a run without nodes. `Plot` is where
a heat map's cells are on a page, and which colour is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from playwright.sync_api import Page

from fairway.testing import node, pod
from tests.record.runs import lives

__all__ = ["END", "NUM_NODES", "Plot", "bare_run", "crowd_run", "plot_of", "ramp"]

NUM_NODES: Final = 600
END: Final = 3600.0
LEFT, RIGHT, TOP, BOTTOM = 128, 12, 6, 24
"""Beside the cells, in a wide window."""
PIXELS: Final = """canvas => { const { width, height, left, top } = canvas.getBoundingClientRect();
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    return { width, height, left, top, wide: canvas.width, data: Array.from(new Uint32Array(data.buffer)) }; }"""


def crowd_run(folder: Path) -> str:
    """Nodes of two zones, three of which are cordoned; each pod half an hour, no two alike."""
    nodes = [
        node(f"n-{number}", cpu=8, zone="ab"[number % 2], unschedulable=number in {3, 5, 401})
        for number in range(NUM_NODES)
    ]
    rows = [
        (pod(f"p-{number}", cpu=1 + number % 5, namespace=f"team-{number % 3}"), f"n-{number * 7 % NUM_NODES}",
         float(number), float(number), min(number + 900.0 + number % 97, END - 1))
        for number in range(1500)
    ]  # fmt: skip
    path = folder / "crowd.duckdb"
    lives(path, nodes, *rows, end=END).close()
    return str(path)


def bare_run(folder: Path) -> str:
    """No node at all."""
    path = folder / "bare.duckdb"
    lives(path, [], end=10.0).close()
    return str(path)


class Plot(NamedTuple):
    """A heat map on a page."""

    left: float  # of the canvas, in the window
    top: float
    width: float  # of the cells
    height: float
    wide: int  # pixels of a line
    pixels: list[int]  # alpha, blue, green, red

    def colour(self, x: float, y: float) -> tuple[int, int, int]:
        """Red, green, blue at a place of the cells."""
        word = self.pixels[int(TOP + y) * self.wide + int(LEFT + x)]
        return word & 255, word >> 8 & 255, word >> 16 & 255

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A place of the cells, in shares of their width and height, in the window."""
        return self.left + LEFT + x * self.width, self.top + TOP + y * self.height


def plot_of(page: Page) -> Plot:
    """The first of a page."""
    found: dict[str, Any] = page.locator("main canvas").first.evaluate(PIXELS)
    width, height = found["width"] - LEFT - RIGHT, found["height"] - TOP - BOTTOM
    return Plot(found["left"], found["top"], width, height, found["wide"], found["data"])


def ramp(page: Page) -> list[tuple[float, ...]]:
    """The colours of codes 1 to 255, of the style sheets' own."""
    text = "() => [0, 1, 2, 3, 4, 5].map(n => getComputedStyle(document.documentElement).getPropertyValue(`--h${n}`))"
    stops = [[int(stop.strip()[at : at + 2], 16) for at in (1, 3, 5)] for stop in page.evaluate(text)]
    colours = []
    for code in range(1, 256):
        low, part = divmod((code - 1) / 254 * 5, 1)
        one, other = stops[int(low)], stops[min(int(low) + 1, 5)]
        colours.append(tuple(a + (b - a) * part for a, b in zip(one, other, strict=True)))
    return colours
