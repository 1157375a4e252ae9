"""A job of a queue up to a moment: the states it went through, and what follows from them.

In: the rows of `job_states` of one job, in order, and a time. Out: a `JobStory`: its state and reason then, since when,
how long it has run, how often it came back, and since when nothing but its turn kept it. Used by `queue_jobs`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from fairway.batch.reasons import JobState, Reason

__all__ = ["JobStory", "StateChange"]

RUNNING: Final = (JobState.RUNNING, JobState.ENDING)
"""While it is told to end it still runs, and what it uses counts."""

NOT_YET: Final = (
    Reason.MISCONFIGURED, Reason.HELD, Reason.GATED, Reason.GANG_INCOMPLETE, Reason.DEPENDENCY, Reason.BEGIN_TIME,
)  # fmt: skip
"""While it waits for one of these it does not grow older."""


class StateChange(NamedTuple):
    """From a time on, a job was in a state."""

    time: float
    state: JobState
    reason: str = ""
    detail: Mapping[str, Any] = {}
    message: str = ""
    limit: float | None = None  # seconds, infinite: none; None: the run does not say how long it might run then
    queue: str = ""  # likewise

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> StateChange:
        """From a row of `job_states`."""
        detail = row["detail"]
        return cls(
            float(row["time_seconds"]),
            JobState(row["state"]),
            row["reason"] or "",
            json.loads(detail) if detail else {},
            row["message"] or "",
            None if "limit_seconds" not in row else math.inf if row["limit_seconds"] is None else row["limit_seconds"],
            row.get("queue") or "",
        )


@dataclass(frozen=True)
class JobStory:
    """All changes up to a moment; there is at least one."""

    at: float
    changes: Sequence[StateChange]

    @property
    def now(self) -> StateChange:
        """The state it is in."""
        return self.changes[-1]

    @cached_property
    def waits_since(self) -> float:
        """Since when it has been queued without a break, whatever for; when it came, if it never was."""
        since = self.changes[-1].time
        for change in reversed(self.changes):
            if change.state is not JobState.QUEUED:
                break
            since = change.time
        return since

    @cached_property
    def runs(self) -> list[tuple[float, float]]:
        """When it ran, from and to; the last one to the moment if it runs."""
        found: list[tuple[float, float]] = []
        began: float | None = None
        for change in self.changes:
            if change.state in RUNNING:
                # One that is told to end before it ran has not run.
                if began is None and change.state is JobState.RUNNING:
                    began = change.time
            elif began is not None:
                found.append((began, change.time))
                began = None
        return found if began is None else [*found, (began, self.at)]

    @property
    def began(self) -> float | None:
        """When its last run began; None: it never ran."""
        return self.runs[-1][0] if self.runs else None

    @property
    def first_start(self) -> float | None:
        """When it first ran."""
        return self.runs[0][0] if self.runs else None

    @property
    def consumed(self) -> float:
        """For how many seconds it ran by now."""
        return sum(end - start for start, end in self.runs)

    @property
    def num_requeues(self) -> int:
        """How often it waited again after it had been let go."""
        states = [change.state for change in self.changes]
        return sum(
            after is JobState.QUEUED and before in (JobState.RUNNING, JobState.ENDING)
            for before, after in pairwise(states)
        )

    @cached_property
    def eligible_since(self) -> float | None:
        """Since when nothing but its turn kept it; None: something did."""
        since: float | None = None
        for change in self.changes:
            if change.state is not JobState.QUEUED or change.reason in NOT_YET:
                since = None
            elif since is None:
                since = change.time
        return since
