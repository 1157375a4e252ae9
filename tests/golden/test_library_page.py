"""What docs/library.md shows is what happens."""

from __future__ import annotations

import contextlib
import doctest

from tests.golden.transcript import ROOT


def test_the_examples_answer_as_shown() -> None:
    page = ROOT / "docs" / "library.md"
    # The fences that end a block are no part of what is printed.
    text = page.read_text().replace("\n```\n", "\n\n")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(test.examples) > 10
    told: list[str] = []
    with contextlib.chdir(ROOT):
        result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.failed == 0, "".join(told)
