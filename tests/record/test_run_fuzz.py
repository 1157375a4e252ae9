"""Some run files changed at random."""

from pathlib import Path

from tests.record.run_fuzz import fuzz


def test_a_run_changed_at_random_is_read_or_refused(tmp_path: Path) -> None:
    counts = fuzz(2, seed=1, folder=tmp_path)
    assert counts["refused"] > 0
    assert counts["read"] > 0
