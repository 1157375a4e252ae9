"""What a real browser makes of a page: Debian's chromium, without a window.

In: a page, a size of the window, light or dark. Out: what a script of ours measures in it: whether the page scrolls
sideways, how large its letters are, what sticks out of its card, the contrast of words and lines as they come out. The
script runs in the page and writes what it found beside it, which chromium prints then.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any, Final, Literal

import pytest

__all__ = ["SIZES", "Scheme", "find_chromium", "measure"]

SIZES: Final = {"desk": (1440, 900), "telephone": (390, 844)}
Scheme = Literal["light", "dark"]
SECONDS: Final = 120  # a slow machine is no reason to fail

SCRIPT: Final = r"""
<script>
"use strict";
for (const one of document.querySelectorAll("details")) one.open = true;
const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const rgba = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const ground = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = rgba(getComputedStyle(e).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const shown = element => element.getClientRects().length > 0;
const found = { width: innerWidth, scroll: document.documentElement.scrollWidth, small: [], faint: [], thin: [], out: [],
  overlaps: [], boxes: [] };
for (const element of document.querySelectorAll("main *")) {
  const words = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim();
  if (!words || !shown(element) || element.tagName === "title") continue;
  const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
  const size = parseFloat(style.fontSize) * (isDrawn ? element.getScreenCTM().a : 1);
  if (size < 11) found.small.push(`${words}: ${size}`);
  const ratio = contrast(rgba(isDrawn ? style.fill : style.color), ground(element));
  if (ratio < 4.5) found.faint.push(`${words}: ${ratio.toFixed(2)}`);
  const card = element.closest(".card"), box = element.getBoundingClientRect();
  if (!element.closest(".wide") && (box.right > innerWidth + 1 || (card && box.right > card.getBoundingClientRect().right + 1)))
    found.out.push(words);
}
for (const plot of document.querySelectorAll("svg.plot")) {
  const labels = [...plot.querySelectorAll("text")].filter(shown).map(t => [t.textContent, t.getBoundingClientRect()]);
  labels.forEach(([a, p], i) => labels.slice(i + 1).forEach(([b, q]) => {
    if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2) found.overlaps.push(`${a} | ${b}`);
  }));
}
for (const line of document.querySelectorAll(".line, .grid, .axis, .mark, .spread")) {
  const ratio = contrast(rgba(getComputedStyle(line).stroke), ground(line));
  if (ratio < 3) found.thin.push(`${line.getAttribute("class")}: ${ratio.toFixed(2)}`);
}
for (const bar of document.querySelectorAll("svg.bars rect, svg.rows rect")) {
  const ratio = contrast(rgba(getComputedStyle(bar).fill), ground(bar));
  if (ratio < 3) found.thin.push(`bar: ${ratio.toFixed(2)}`);
}
for (const box of document.querySelectorAll(".wide"))
  found.boxes.push({ scrolls: box.scrollWidth > box.clientWidth + 1, focus: box.tabIndex, right: box.getBoundingClientRect().right });
found.widths = [...new Set([...document.querySelectorAll("polyline.line")].map(l => getComputedStyle(l).strokeWidth))];
found.dark = matchMedia("(prefers-color-scheme: dark)").matches;
const note = parent.document.createElement("pre");
note.id = "measured";
note.textContent = JSON.stringify(found);
parent.document.body.append(note);
</script>
"""
WINDOW: Final = """<!doctype html><meta charset="utf-8"><style>:root { color-scheme: light dark; }</style><body>
<iframe style="border:0" width="%d" height="%d" srcdoc="%s"></iframe></body>"""
"""The page in a frame: chromium has no window narrower than 500 pixels."""


def find_chromium() -> str:
    """Where it is; without it the test is skipped, but never in CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        assert not os.environ.get("CI"), "CI looks at pages with a real browser: make browser installs it"
        pytest.skip("no chromium on this machine, so nobody looks at the pages; make browser installs it (Debian)")
    return found


def measure(page: str, folder: Path, size: tuple[int, int], scheme: Scheme) -> dict[str, Any]:
    """What the script found."""
    chromium = find_chromium()
    copy = folder / f"{size[0]}-{scheme}.html"
    copy.write_text(WINDOW % (*size, escape(page.replace("</body>", SCRIPT + "</body>"))), encoding="utf-8")
    command = [
        chromium,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1600,1000",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        "--dump-dom",
        copy.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    written = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert written, done.stderr[-2000:]
    measured: dict[str, Any] = json.loads(unescape(written[1]))
    return measured
