"""What a real browser makes of a page: Debian's chromium, without a window.

In: a page, a size of the window, light or dark. Out: what a script of ours measures in it: whether the page scrolls
sideways, how large its letters are, what sticks out of its card, the contrast of words and lines as they come out. The
script runs in the page and writes what it found beside it, which chromium prints then; `tests.browser` calls it, too.
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

__all__ = ["MEASURE", "SIZES", "Scheme", "find_chromium", "measure"]

SIZES: Final = {"desk": (1440, 900), "telephone": (390, 844)}
Scheme = Literal["light", "dark"]
SECONDS: Final = 120  # a slow machine is no reason to fail

MEASURE: Final = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
SCRIPT: Final = """<script>const note = parent.document.createElement("pre");
note.id = "measured";
note.textContent = JSON.stringify((%s)());
parent.document.body.append(note);</script></body>"""
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
    copy.write_text(WINDOW % (*size, escape(page.replace("</body>", SCRIPT % MEASURE))), encoding="utf-8")
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
