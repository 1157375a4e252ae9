"""Pages look as they did: loading, full, with nothing to show, and where the server fails; on every screen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.browser.every_page import PAGES
from tests.browser.looking import Look
from tests.browser.page_pictures import FOLDER, FONTS, MOST_OFF, font_widths, is_like, picture_of, states, told_apart

STORED = sorted(path.stem for path in FOLDER.glob("*.png"))
MOST_BYTES = 2_000_000


@pytest.mark.parametrize("name", STORED)
def test_a_page_looks_as_it_did(look_at: Look, tmp_path: Path, name: str) -> None:
    if (widths := font_widths(look_at.blank())) != FONTS.read_text().strip():
        assert not os.environ.get("CI"), f"CI has other fonts than those of the pictures: {widths}"
        pytest.skip("other fonts than those of the stored pictures; make page-pictures makes them with these")
    look_at.expected.add("Failed to load resource")
    page, _, state = name.rpartition("-")
    (case,) = (case for case in PAGES if case.name == page)
    now = picture_of(look_at, case, state)
    assert is_like(now, FOLDER / f"{name}.png", tmp_path), (
        f"{name} looks different: see {tmp_path} (now, stored, difference). "
        f"If it is meant so: make page-pictures PAGES={page}"
    )


def test_pictures_are_of_pages_in_all_their_states_and_small() -> None:
    pages = {name.rpartition("-")[0] for name in STORED}
    assert {f"{case.name}-{state}" for case in PAGES for state in states(case) if case.name in pages} == set(STORED)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


def test_a_line_more_is_noticed_and_a_shade_is_not() -> None:
    stored = Image.open(FOLDER / f"{STORED[0]}.png").convert("RGB")
    shaded = stored.point(lambda value: min(value + 6, 255))
    assert told_apart(stored, shaded) <= MOST_OFF
    changed = stored.copy()
    ImageDraw.Draw(changed).rectangle((60, 60, 160, 90), fill="#c2410c")
    assert told_apart(stored, changed) > MOST_OFF
    assert told_apart(stored, stored.resize((stored.width, stored.height + 1))) == 1.0
