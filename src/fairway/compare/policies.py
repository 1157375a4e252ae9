"""Runs gathered into policies, each a column of a comparison.

In: simulations that were just run, or recorded runs. Out: `PolicyRuns`, in the order given. Called by `compare`,
`sim` and the library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairway.compare.metrics import PolicyRuns
from fairway.compare.simulations import Finished
from fairway.model import UserError
from fairway.record import Run

__all__ = ["policies_of", "read_policies"]


def policies_of(finished: Sequence[Finished]) -> list[PolicyRuns]:
    """Runs by policy, in the order in which policies come."""
    names = dict.fromkeys(one.policy for one in finished)
    return [
        PolicyRuns(
            name,
            {one.seed: one.metrics.flat() for one in finished if one.policy == name},
            {one.seed: one.path for one in finished if one.policy == name},
        )
        for name in names
    ]


def read_policies(paths: Sequence[str], opened: Callable[[Run], None] = lambda run: None) -> list[PolicyRuns]:
    """Runs with the same policy and different seeds are one column; otherwise each is one, named after its file.

    `opened` is called with each run, when it is measured.
    """
    runs = []
    for path in paths:
        with Run.open(path) as run:
            scenario = run.scenario.get("metadata", {}).get("name", "")
            policy = ", ".join(run.meta.get("policies", []))
            runs.append((path, scenario, policy, run.seed, run.metrics().flat()))
            opened(run)
    keys = {(policy, seed) for _, _, policy, seed, _ in runs}
    same = len({scenario for _, scenario, *_ in runs}) == 1 and len(keys) == len(runs)
    by_policy = same and len({policy for policy, _ in keys}) > 1 and all(policy for policy, _ in keys)
    stems = [Path(path).stem for path in paths]
    columns: dict[str, tuple[dict[int, Any], dict[int, str]]] = {}
    for path, _, policy, seed, flat in runs:
        stem = Path(path).stem
        name = policy if by_policy else (stem if stems.count(stem) == 1 else path)
        metrics, files = columns.setdefault(name, ({}, {}))
        if seed in metrics:
            raise UserError(f"{path} is given twice", "leave one of them out")
        metrics[seed], files[seed] = flat, path
    return [PolicyRuns(name, *column) for name, column in columns.items()]
