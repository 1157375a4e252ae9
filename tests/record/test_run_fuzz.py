"""Some run files changed at random: the same ones every time, and fresh ones."""

import secrets
from pathlib import Path

import pytest

from tests.record.run_fuzz import fuzz

FRESH = secrets.randbelow(2**31)


def test_a_run_changed_at_random_is_read_or_refused(tmp_path: Path) -> None:
    counts = fuzz(2, seed=1, folder=tmp_path)
    assert counts["refused"] > 0
    assert counts["read"] > 0


@pytest.mark.slow
def test_nor_do_fresh_changes_break_anything(tmp_path: Path) -> None:
    print(f"seed {FRESH}")  # noqa: T201 - shown if it fails; python -m tests.record.run_fuzz --seed repeats it
    assert sum(fuzz(6, seed=FRESH, folder=tmp_path).values()) == 120
