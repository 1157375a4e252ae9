"""What a comparison is about, for the head of its page: scenario, seeds, pods, nodes, the day of the runs.

In: the policies, whose runs are opened. Out: pairs of a name and words. Called by `report`; `experiments.report` tells
its facts in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fairway import __version__
from fairway.compare.metrics import PolicyRuns
from fairway.record import Run
from fairway.words import count_text

__all__ = ["Facts", "comparison_facts", "day_fact", "range_text", "seeds_text"]

MOST_SEEDS: Final = 8  # that are listed one by one

Facts = list[tuple[str, str]]


def comparison_facts(policies: Sequence[PolicyRuns]) -> Facts:
    """Of all runs; a number that differs between them is told as a range."""
    names: dict[str, None] = {}
    pods, nodes = set(), set()
    for policy in policies:
        for path in policy.paths.values():
            with Run.open(path) as run:
                names.setdefault(str(run.scenario.get("metadata", {}).get("name", "")) or "unnamed")
                (row,) = run.sql(
                    "SELECT (SELECT count(*) FROM pods) AS pods, (SELECT count(DISTINCT node_id) FROM nodes) AS nodes"
                ).rows()
                pods.add(int(row["pods"]))
                nodes.add(int(row["nodes"]))
    seeds = dict.fromkeys(seed for policy in policies for seed in policy.seeds)
    facts = [
        ("Scenario", ", ".join(names)),
        ("Policies", ", ".join(policy.name for policy in policies)),
        ("Seeds", seeds_text(list(seeds))),
        ("Pods", range_text(pods)),
        ("Nodes", range_text(nodes)),
    ]
    paths = [Path(path) for policy in policies for path in policy.paths.values()]
    return [*facts, day_fact(paths), ("Fairway", __version__)]


def seeds_text(seeds: Sequence[int]) -> str:
    """Each seed, or how many there are and from which to which."""
    if len(seeds) <= MOST_SEEDS:
        return ", ".join(map(str, seeds))
    return f"{len(seeds)} from {min(seeds)} to {max(seeds)}"


def range_text(numbers: Iterable[int]) -> str:
    """One number, or the lowest and the highest."""
    ordered = sorted(numbers)
    if not ordered:
        return "none"
    low, high = count_text(ordered[0]), count_text(ordered[-1])
    return low if low == high else f"{low} to {high}"


def day_fact(paths: Iterable[Path]) -> tuple[str, str]:
    """When the latest of these files was written: a page that is made anew of old runs says how old they are."""
    latest = max((path.stat().st_mtime for path in paths), default=0.0)
    return "Runs of", datetime.fromtimestamp(latest, tz=UTC).date().isoformat()
