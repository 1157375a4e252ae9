"""Where two policies part: the first decision in which their runs differ, in words and as data.

In: runs of the same seed, the first policy's and each other's. Out: a `Parting` for each other policy. Called by
`compare` and `sim`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.compare.metrics import Comparison, PolicyRuns
from fairway.record import RecordError, Run, first_difference
from fairway.words import clock_text, visible

__all__ = ["Parting", "partings", "why_commands"]

TOLD: Final = ("outcome", "node", "nominated_node", "attempt", "time_seconds")


@dataclass(frozen=True, slots=True)
class Parting:
    """What a policy decided otherwise first; `problem` says why nobody knows."""

    policy: str
    seed: int | None
    pod: str | None = None  # None: all decisions are the same, or nobody knows
    time: float | None = None
    number: int | None = None  # decisions before it
    ours: dict[str, Any] | None = None  # the first policy's decision
    theirs: dict[str, Any] | None = None
    problem: str | None = None

    def sentence(self, first: str) -> str:
        """For people."""
        if self.problem is not None:
            return f"first different decision: unknown; {self.problem}"
        if self.pod is None or self.time is None:
            return f"no different decision: {self.policy} decides everything as {first} does"
        what = f"{first} {_decision_text(self.ours)}, {self.policy} {_decision_text(self.theirs)}"
        return f"first different decision: {self.pod} at {clock_text(self.time)}: {what}"

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {name: getattr(self, name) for name in self.__slots__}


def partings(comparison: Comparison) -> list[Parting]:
    """For each policy but the first, where it parts from it: in the first seed that both have."""
    return [_parting(comparison.first, other) for other in comparison.policies[1:]]


def why_commands(parting: Parting, policies: Sequence[PolicyRuns]) -> list[str]:
    """What to paste to learn why the first policy decided so, and why the other did; empty if they do not part."""
    if parting.pod is None or parting.seed is None:
        return []
    pod = shlex.quote(visible(parting.pod, one_line=True))
    both = [policies[0], next(policy for policy in policies if policy.name == parting.policy)]
    return [f"fairway why {pod} --run {shlex.quote(policy.paths[parting.seed])}" for policy in both]


def _parting(first: PolicyRuns, other: PolicyRuns) -> Parting:
    seed = next((seed for seed in first.seeds if seed in other.paths), None)
    if seed is None:
        return Parting(other.name, None, problem=f"{first.name} and {other.name} have no seed in common")
    try:
        with Run.open(first.paths[seed]) as one, Run.open(other.paths[seed]) as two:
            found = first_difference(one, two)
    except RecordError as error:
        return Parting(other.name, seed, problem=str(error))
    if found is None:
        return Parting(other.name, seed)
    row = found.first or found.second
    assert row is not None
    return Parting(
        other.name, seed, row["pod"], row["time_seconds"], found.number, _told(found.first), _told(found.second)
    )


def _told(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {"pod": row["pod"], **{name: row[name] for name in TOLD}}


def _decision_text(decision: dict[str, Any] | None) -> str:
    if decision is None:
        return "has no more decisions"
    if decision["node"]:
        return f"→ {decision['node']}"
    if decision["nominated_node"]:
        return f"makes room on {decision['nominated_node']}"
    return f"→ {decision['outcome']}"
