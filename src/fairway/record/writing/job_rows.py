"""What a run keeps of an attempt for a whole job: who kept it from starting, what that lacks, and how many would fit.

In: a `GroupDecision`, in which some cycles fill in more than others, and the job as the run knows it. Out: the row of
`job_decisions` in the order of its columns, without numbers of the run. Called by `DecisionWriter`.
"""

from __future__ import annotations

from typing import Any

from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_words import short_of
from fairway.record.writing.live_jobs import LiveJob

__all__ = ["attempt_parts", "blocking_member"]


def blocking_member(decision: GroupDecision) -> Decision | None:
    """The member that kept the job from starting: the one the cycle names, or the first that fits nowhere."""
    if decision.outcome is GroupOutcome.SCHEDULED or not decision.members:
        return None
    named = (member for member in decision.members if member.pod.metadata.uid == decision.blocking)
    refused = (member for member in decision.members if member.diagnosis is not None)
    return next(named, None) or next(refused, None) or decision.members[0]


def attempt_parts(decision: GroupDecision, job: LiveJob | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What stands before the blocking member's number, and what stands behind it."""
    is_placed = decision.outcome is GroupOutcome.SCHEDULED
    num_members = len(decision.members)
    blocking = blocking_member(decision)
    missing = None if is_placed else decision.missing or _missing(decision, job)
    num_placed = decision.num_placed if is_placed else max(_needed(job, num_members) - (missing or 0), 0)
    before = (decision.attempt, decision.outcome.value, num_members, num_placed)
    resource = "" if blocking is None else decision.resource or short_of(blocking.diagnosis)
    num_domains = decision.num_domains or len(decision.placements) or (1 if decision.domain else None)
    search = (num_domains, decision.num_backtracks, decision.is_exhausted, len(decision.victims))
    return before, (missing, resource or None, decision.level or None, decision.domain or None, *search)


def _needed(job: LiveJob | None, num_members: int) -> int:
    """How many of those tried have to fit."""
    if job is None or not job.min_count:
        return num_members
    return min(max(job.min_count - job.num_bound, 0), num_members)


def _missing(decision: GroupDecision, job: LiveJob | None) -> int | None:
    """Where the cycle does not say: those that are needed, less those that were not refused by nodes."""
    refused = sum(member.diagnosis is not None for member in decision.members)
    if not refused:
        return None
    return max(_needed(job, len(decision.members)) - (len(decision.members) - refused), 1)
