"""The pictures of pages that the README shows, made from the demo's run: `make pictures`.

In: the day of a thousand nodes under Kubernetes' defaults, which is simulated anew. Out: `docs/pictures/nodes.png`, how
full its nodes were over the day, and `docs/pictures/pod.png`, why the pod waited that waited longest; few colours, so
that they stay small.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate
from tests.browser.looking import Look
from tests.pages.browser_check import find_chromium
from tests.web.served import Served, served

__all__ = ["FOLDER", "MOST_BYTES", "ROOT", "SIZE"]

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures"
SIZE: Final = (1160, 820)
MOST_BYTES: Final = 150_000
COLOURS: Final = (128, 64, 32)
"""The first number of them that makes a picture small enough."""


def _paths(server: Served) -> dict[str, str]:
    """What is shown, by the name of its picture."""
    longest = server.ask("/runs/day/pods?sort=-wait&limit=1").columns
    (pod,), (created,), (bound,) = longest["pod"], longest["created_seconds"], longest["bound_seconds"]
    space, name = pod.split("/", 1)
    begin, end = created - 900, (bound or created) + 900
    return {
        "nodes": "nodes?run=day&order=label:topology.kubernetes.io/zone",
        "pod": f"pods/{quote(space)}/{quote(name)}?run=day&from={begin:.0f}&to={end:.0f}&at={bound or end:.0f}",
    }


def _saved(shot: bytes, path: Path) -> None:
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    for number in COLOURS:
        picture.quantize(number, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            return
    raise SystemExit(f"{path} has {path.stat().st_size} bytes with {COLOURS[-1]} colours")


def _make(folder: Path) -> None:
    run = folder / "day.duckdb"
    simulate(load_scenario(ROOT / "examples" / "scenarios" / "day.yaml"), record=run)
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, served([str(run)]) as server:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        for name, path in _paths(server).items():
            look = Look(browser, f"http://127.0.0.1:{server.port}", server.token)
            page = look.blank(SIZE, is_still=True)
            look.go(page, path)
            look.settle(page)
            _saved(page.screenshot(animations="disabled"), FOLDER / f"{name}.png")
            look.close()
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fairway-pictures-") as made:
        _make(Path(made))
