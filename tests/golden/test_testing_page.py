"""The page about tests names tests that are there."""

import re

from tests.golden.transcript import ROOT


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 30
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).exists() or f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert missing == []
