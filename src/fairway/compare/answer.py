"""Which is better, and where do they differ: the answer of a comparison, as text, as HTML, as a document.

In: policies with the metrics of their runs, or a scenario to run with several of its policies and seeds. Out: a
`CompareAnswer`: the metrics side by side, and the first decision in which each policy parts from the first one. Called
by the library's `fairway.compare`; `fairway compare` prints the same.
"""

from __future__ import annotations

import html
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway import pool
from fairway.compare.metrics import Comparison, PolicyRuns, compare_policies
from fairway.compare.partings import Parting, partings
from fairway.compare.policies import policies_of
from fairway.compare.report import report_html
from fairway.compare.simulations import SimulationJob, run_jobs
from fairway.compare.text import comparison_document, comparison_lines, shown_rows
from fairway.scenario.scenario import Scenario

__all__ = ["CompareAnswer", "compare_scenario"]


class CompareAnswer:
    """Policies side by side. Prints as `fairway compare` does."""

    def __init__(self, policies: Sequence[PolicyRuns]) -> None:
        self.comparison: Comparison = compare_policies(policies)
        self.partings: list[Parting] = partings(self.comparison)
        self._report: str = ""

    def mean(self, metric: str, policy: str) -> float | None:
        """A metric of a policy, over its seeds; None if it has none."""
        row = self.comparison.row(metric)
        value = None if row is None else row.values.get(policy)
        return None if value is None else value.mean

    def document(self) -> dict[str, Any]:
        """Everything, in plain values: what `-o json` prints."""
        parted = {"first_difference": [parting.document() for parting in self.partings]}
        return comparison_document(self.comparison) | parted

    def report(self) -> str:
        """A page with plots, as `--html` writes it; made while the runs are there."""
        return self._report or report_html(self.comparison, self.partings, [])

    def keep_report(self) -> None:
        """Make the page now, because the runs are about to go."""
        self._report = report_html(self.comparison, self.partings, [], is_kept=False)

    def lines(self, *, everything: bool = False) -> list[str]:
        """The table, with all metrics if wanted, then where policies part."""
        table = comparison_lines(self.comparison, shown_rows(self.comparison, everything=everything))
        return [*table, *(parting.sentence(self.comparison.first.name) for parting in self.partings)]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<compare {', '.join(policy.name for policy in self.comparison.policies)}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text."""
        return f'<pre style="line-height:1.3">{html.escape(str(self))}</pre>'


def compare_scenario(
    scenario: Scenario, policies: Sequence[str], num_seeds: int, num_processes: int | None, folder: Path | None
) -> CompareAnswer:
    """Run a scenario with each policy and each seed, and compare; the runs stay in the folder, if there is one."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="fairway-") as temporary:
            answer = compare_scenario(scenario, policies, num_seeds, num_processes, Path(temporary))
            answer.keep_report()
            return answer
    jobs = [
        SimulationJob(scenario, name, seed, str(folder / f"{name}-seed{seed}.duckdb"))
        for seed in range(scenario.seed, scenario.seed + num_seeds)
        for name in policies
    ]
    return CompareAnswer(policies_of(run_jobs(jobs, num_processes or pool.num_cpus())))
