"""Defragmentation in runs: what each step came to, before and after.

In: recorded runs, by policy and seed. Out: a line for each step, for people (`step_lines`), and rows for
the page of a comparison; nothing where no scenario asked for it. Read from the events of the runs: a run that kept no
events has none. Called by `fairway sim`, `fairway compare` and its report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairway.compare.simulations import Finished
from fairway.record import Run
from fairway.words import clock_text

if TYPE_CHECKING:
    from fairway.compare.metrics import PolicyRuns

__all__ = ["StepEvent", "read_steps", "step_lines", "step_rows"]

REASONS = ("Defragmenting", "Defragmented")
MOST_LINES = 6


class StepEvent(NamedTuple):
    """The beginning or the end of a step."""

    seconds: float
    reason: str
    message: str


def read_steps(path: str) -> list[StepEvent]:
    """The events of all steps of a run, in order of time."""
    with Run.open(path) as run:
        found = run.sql(
            "SELECT time_seconds, reason, message FROM events WHERE kind = 'Scheduler' AND reason IN (?, ?)"
            " ORDER BY time_seconds, rowid",
            *REASONS,
        )
        return [StepEvent(row["time_seconds"], row["reason"], row["message"]) for row in found.rows()]


def step_lines(finished: Sequence[Finished]) -> list[str]:
    """A line for each step that is over; of many, the first."""
    lines = []
    several_seeds = len({one.seed for one in finished}) > 1
    for one in finished:
        whose = f"{one.policy}, seed {one.seed}" if several_seeds else one.policy
        over = (step for step in read_steps(one.path) if step.reason == "Defragmented")
        lines += [f"{whose}: defragmented at {clock_text(step.seconds)}: {step.message}" for step in over]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"{len(lines) - MOST_LINES} more of these; the events of a saved run have all"]
    return lines


def step_rows(policies: Iterable[PolicyRuns]) -> list[tuple[str, str, str, str]]:
    """All steps of each policy's first seed: policy, time, what, and what came of it."""
    return [
        (policy.name, clock_text(step.seconds), step.reason, step.message)
        for policy in policies
        for step in read_steps(policy.paths[policy.seeds[0]])
    ]
