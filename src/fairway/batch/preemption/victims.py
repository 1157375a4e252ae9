"""Who has to go so that a job of a higher tier fits: as few as it takes, and nobody who is protected.

In: jobs that run (`RunningJob`: tier, run time, the rules of their queue), the tier of the job that waits, and a
function that says whether it fits without some of them. Out: the keys of those that end, the same for the same state;
none, if nothing helps. Lower tiers go first, in a tier whoever loses least run time; whoever turns out not to be needed
is left, those first that would lose most. Called by `claims`; who is protected, by `upkeep.attempts`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from fairway.batch.job import BatchJob
from fairway.batch.quotas.borrowing import needed
from fairway.model.batch import PreemptionRules

__all__ = ["RunningJob", "can_wait_again", "is_protected", "may_be_ended", "victims"]

FitsWithout = Callable[[Collection[str]], bool]


class RunningJob(NamedTuple):
    """A job that runs, and what may be done to it."""

    key: str
    tier: int
    ran: float  # seconds that would be lost
    rules: PreemptionRules
    can_wait_again: bool = True  # somebody makes its pods anew, and it does not mind

    @property
    def is_old_enough(self) -> bool:
        """Has it run for as long as it is left alone?"""
        return self.ran >= self.rules.min_runtime


def may_be_ended(job: RunningJob, tier: int) -> bool:
    """May a job of that tier take its place, once it is old enough?"""
    is_lower = job.rules.by == "higherTier" and job.tier < tier
    return is_lower and (job.rules.mode == "cancel" or job.can_wait_again)


def victims(tier: int, running: Iterable[RunningJob], fits_without: FitsWithout) -> tuple[str, ...]:
    """Those who end so that a job of that tier fits; none: it fits as it is, or not even all of them are enough."""
    candidates = sorted(
        (job for job in running if job.is_old_enough and may_be_ended(job, tier)),
        key=lambda job: (job.tier, job.ran, job.key),
    )
    keys = [job.key for job in candidates]
    if not keys or fits_without(()) or not fits_without(keys):
        return ()
    too_few, enough = 0, len(keys)
    while enough - too_few > 1:  # the first ones that are enough
        middle = (too_few + enough) // 2
        if fits_without(keys[:middle]):
            enough = middle
        else:
            too_few = middle
    return needed(keys[:enough], fits_without)


def is_protected(rules: PreemptionRules, started: float | None, now: float) -> bool:
    """Is a job of such a queue left alone also by groups that are in no queue? None: it has not started yet."""
    ran = 0.0 if started is None else now - started
    return rules.by == "none" or ran < rules.min_runtime


def can_wait_again(job: BatchJob) -> bool:
    """Is a job requeued, if it is ended for the sake of others? One that nobody makes anew would be lost."""
    makes_anew = job.comes_again or any(pod.metadata.controller is not None for pod in job.members.values())
    return makes_anew and job.wishes.requeues
