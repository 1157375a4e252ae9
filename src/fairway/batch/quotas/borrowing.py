"""Quotas: when a queue may use more than its own, and whom that is taken back from.

In: what each queue has, uses and waits for. Out: may a queue borrow now (`may_borrow`); the jobs that give back what a
lender needs (`taken_back`). What a quota does not name is not limited. One level: nobody lends what was borrowed.
Called by `quotas` before a pass, and by `preemption` when the first job of a queue below its quota has no slot now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Amounts", "BorrowedJob", "QueueUse", "is_within", "may_borrow", "needed", "taken_back"]

Amounts = Mapping[str, int]
"""By resource; milli-CPU, bytes, counts."""


@dataclass(frozen=True, slots=True)
class QueueUse:
    """A queue as it is now."""

    name: str
    quota: Amounts  # empty: it has none, neither borrows nor lends
    used: Amounts
    claims: Sequence[Amounts] = ()  # what each of its jobs needs that waits for room alone, and could start there


class BorrowedJob(NamedTuple):
    """A job that runs in a queue that may use more than its quota."""

    key: str
    queue: str
    amounts: Amounts
    ran: float  # seconds that would be lost
    min_runtime: float = 0.0  # it is left alone for so long
    may_be_taken: bool = True  # its queue's preemption: borrowed, and not by: none


def is_within(quota: Amounts, used: Amounts, more: Amounts) -> bool:
    """Would the queue stay within its quota with so much more?"""
    return all(used.get(name, 0) + more.get(name, 0) <= most for name, most in quota.items() if more.get(name, 0))


def may_borrow(queue: str, queues: Iterable[QueueUse]) -> bool:
    """May the queue use more than its quota now? Not while another has a job that could start within its own."""
    return not any(
        is_within(other.quota, other.used, claim)
        for other in queues
        if other.name != queue and other.quota
        for claim in other.claims
    )


def taken_back(
    lender: QueueUse,
    need: Amounts,
    queues: Mapping[str, QueueUse],
    jobs: Iterable[BorrowedJob],
    fits_without: Callable[[Collection[str]], bool],
) -> tuple[str, ...]:
    """The jobs that end so that a lender's job fits, by key; none: it is not within its quota, or nothing helps.

    Least run time lost first. A queue gives back as long as it uses more than its quota of something that is needed;
    then jobs that turned out not to be needed are left, those first that would lose most.
    """
    if not lender.quota or not is_within(lender.quota, lender.used, need):
        return ()
    used = {name: dict(queue.used) for name, queue in queues.items()}
    chosen: list[BorrowedJob] = []
    for job in sorted(jobs, key=lambda job: (job.ran, job.key)):
        if fits_without([each.key for each in chosen]):
            break
        if job.queue == lender.name or not job.may_be_taken or job.ran < job.min_runtime:
            continue
        quota, uses = queues[job.queue].quota, used[job.queue]
        if any(
            uses.get(name, 0) > most and need.get(name, 0) and job.amounts.get(name, 0) for name, most in quota.items()
        ):
            chosen.append(job)
            for name, amount in job.amounts.items():
                uses[name] = uses.get(name, 0) - amount
    return needed([each.key for each in chosen], fits_without)


def needed(keys: Sequence[str], fits_without: Callable[[Collection[str]], bool]) -> tuple[str, ...]:
    """Those of the jobs that have to end so that another fits; none, if not even all of them are enough.

    The last ones are spared first.
    """
    chosen = list(keys)
    if not chosen or not fits_without(chosen):
        return ()
    for key in reversed(keys):
        rest = [each for each in chosen if each != key]
        if fits_without(rest):
            chosen = rest
    return tuple(chosen)
