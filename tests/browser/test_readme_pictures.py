"""The README shows pictures that are there, are small, and say in words what they show."""

from __future__ import annotations

import re

from PIL import Image

from tests.browser.readme_pictures import FOLDER, MOST_BYTES, ROOT, SIZE

SHOWN = re.compile(r"!\[([^\]]*)\]\((docs/pictures/[^)]+)\)")


def test_pictures_of_the_readme_are_small_and_told_in_words() -> None:
    shown = dict(SHOWN.findall((ROOT / "README.md").read_text()))
    assert {ROOT / path for path in shown.values()} == set(FOLDER.iterdir())
    assert all(len(words.split()) >= 10 for words in shown)
    for path in FOLDER.iterdir():
        assert path.stat().st_size <= MOST_BYTES
        with Image.open(path) as picture:
            assert picture.size == SIZE
