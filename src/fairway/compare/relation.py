"""Have runs anything to do with each other? Numbers of two clusters side by side say nothing about policies.

In: runs. Out: a sentence for each that differs from the first in more than its policy and its seed: another cluster or
workload, or, of runs that were recorded live, other pods. Called by `compare`, which warns before it shows anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.record import Run

__all__ = ["RunOrigin", "origin_of", "unrelated"]

PARTS: Final = {"cluster": "cluster", "workload": "workload", "faults": "faults", "randomFaults": "random faults"}
DOUBT: Final = "what is shown need not be the policy's doing"
ENOUGH: Final = 0.5  # of the pods, in runs that were recorded from a live cluster


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """What a run came from."""

    path: str
    scenario: str  # its name
    parts: dict[str, str] | None  # of the scenario, as text; None: it does not say
    pods: frozenset[str]  # names, where there is no scenario to go by


def origin_of(run: Run) -> RunOrigin:
    """Read what is compared."""
    spec: Any = run.scenario.get("spec") or {}
    name = run.scenario.get("metadata", {}).get("name", "")
    if "cluster" in spec:
        parts = {title: json.dumps(spec.get(key), sort_keys=True) for key, title in PARTS.items()}
        return RunOrigin(str(run.path), name, parts, frozenset())
    if run.is_anonymous:
        return RunOrigin(str(run.path), name, None, frozenset())
    pods = frozenset(str(row["pod"]) for row in run.sql("SELECT pod FROM pods").rows())
    return RunOrigin(str(run.path), name, None, pods)


def unrelated(origins: Sequence[RunOrigin]) -> list[str]:
    """What to warn of."""
    first, *others = origins
    return [sentence for other in others if (sentence := _sentence(first, other))]


def _sentence(first: RunOrigin, other: RunOrigin) -> str:
    both = f"{first.path} and {other.path}"
    if first.parts is not None and other.parts is not None:
        differing = [title for title, text in first.parts.items() if other.parts[title] != text]
        if not differing:
            return ""
        names = "" if first.scenario == other.scenario else f" ({first.scenario}, {other.scenario})"
        words = " and ".join(differing[:2]) if len(differing) < 3 else ", ".join(differing)
        return f"{both} are runs of different scenarios{names}, which differ in {words}; {DOUBT}"
    if (first.parts is None) != (other.parts is None):
        return f"{both} have nothing to do with each other: one was simulated, one was recorded"
    known = min(len(first.pods), len(other.pods))
    common = len(first.pods & other.pods)
    if known and common < ENOUGH * known:
        return f"{both} have {common} of {known} pods in common; {DOUBT}"
    return ""
