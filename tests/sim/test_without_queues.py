"""A scenario without queues is decided as before there were any: decisions of two examples, to the last digit."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
DECISIONS = {
    "faults": "ae1dcaea4b50669a",
    "two-schedulers": "b1c9960049900ca0",
}
"""By example: a digest of its decisions, made by the last version that knew nothing of queues. Times of processors are
left out. Whoever changes what kube-scheduler's own plugins decide, or what the examples have, changes them."""
COLUMNS = (
    "time_seconds", "scheduler", "pod", "attempt", "outcome", "node", "num_nodes", "num_feasible", "score", "num_best",
    "nominated_node", "num_victims", "message",
)  # fmt: skip


@pytest.mark.parametrize(("example", "digest"), DECISIONS.items(), ids=DECISIONS)
def test_without_queues_every_decision_is_as_it_was(example: str, digest: str, tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    simulate(load_scenario(str(EXAMPLES / f"{example}.yaml")), record=path)
    with Run.open(path) as run:
        rows = [tuple(row[column] for column in COLUMNS) for row in run.decisions]
        assert not len(run.job_states)
    assert len(rows) > 100
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == digest
