"""What limits the jobs of a queue besides its nodes: its quota, the most it may have, and what each user may have.

In: the spec of a queue, a user, what a job asks for. Out: allowances of the plan (`allowances_of`), a job's share of
each, and words: why a job can never run in its queue (`over_maximum`), or waits for others of it to end
(`exceeded_standing`). What an allowance does not name is not limited. Called by `quotas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from fairway.batch.quotas.borrowing import Amounts
from fairway.batch.reasons import JobStanding, JobState, Reason, Refused
from fairway.model.batch import QueueSpec
from fairway.model.quantity import Quantity
from fairway.plan import Share
from fairway.words import amount_texts

__all__ = ["JOBS", "QueueAllowance", "allowances_of", "amounts_of", "exceeded_standing", "over_maximum", "sum_of"]

JOBS: Final = "jobs"
"""The column in which every job is one."""

AllowanceKind = Literal["quota", "max", "perUser"]


class QueueAllowance(NamedTuple):
    """What a queue, or a user in it, may use."""

    kind: AllowanceKind
    queue: str
    user: str  # "": all of them together
    columns: tuple[str, ...]  # resources, or `JOBS`
    most: tuple[int, ...]  # of each

    @property
    def name(self) -> str:
        """In the plan."""
        return f"{self.kind} of queue {self.queue}" + (f" for {self.user}" if self.user else "")

    def covers(self, queue: str, user: str) -> bool:
        """Does it limit that user's jobs in that queue?"""
        return self.queue == queue and self.user in ("", user)

    def needs(self, amounts: Amounts) -> list[int]:
        """What a job with these requests takes of it, by column."""
        return [1 if column == JOBS else amounts.get(column, 0) for column in self.columns]

    def share(self, amounts: Amounts) -> Share:
        """The same, as the plan has it."""
        return Share(self.name, np.array(self.needs(amounts), np.int64), may_be_lent=self.kind == "quota")


def allowances_of(name: str, spec: QueueSpec, user: str) -> tuple[QueueAllowance, ...]:
    """All that limit a user's jobs in this queue."""
    limits = spec.per_user
    found = []
    for kind, holder, amounts, jobs in (
        ("perUser", user, limits.resources, limits.running),
        ("max", "", spec.max, None),
        ("quota", "", spec.quota, None),
    ):
        most = amounts_of(amounts) | ({} if jobs is None else {JOBS: jobs})
        if most:
            found.append(QueueAllowance(kind, name, holder, tuple(most), tuple(most.values())))  # type: ignore[arg-type]
    return tuple(found)


def amounts_of(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """In the integers that are counted with."""
    return {name: amount.milli if name == "cpu" else amount.value for name, amount in quantities.items()}


def sum_of(all_amounts: Iterable[Amounts]) -> dict[str, int]:
    """Together."""
    total: dict[str, int] = {}
    for amounts in all_amounts:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def over_maximum(allowance: QueueAllowance, amounts: Amounts) -> JobStanding | None:
    """Why a job can never run in its queue: it alone is more than the queue or a user may ever have; None: it may."""
    if allowance.kind == "quota":
        return None  # a queue may borrow
    for column, most, asked in zip(allowance.columns, allowance.most, allowance.needs(amounts), strict=True):
        if asked > most:
            asks, has = amount_texts(column, asked, most)
            detail = {"quota": allowance.kind, "resource": column, "needs": asked, "of": most}
            words = f"asks for {asks} of {column}, {allowance.name} is {has}"
            return JobStanding(JobState.REFUSED, Refused.OVER_MAXIMUM, detail, words)
    return None


def exceeded_standing(allowance: QueueAllowance, used: Sequence[int], amounts: Amounts) -> JobStanding | None:
    """Why a job waits for others of its queue or its user to end; None: there is room for it in this allowance."""
    columns = zip(allowance.columns, allowance.most, used, allowance.needs(amounts), strict=True)
    for column, most, uses, asked in columns:
        if asked and uses + asked > most:
            use, has, asks = amount_texts(column, uses, most, asked)
            detail = {"which": allowance.kind, "resource": column, "used": uses, "of": most}
            words = f"{allowance.name}: {use} of {has} {column} used, {asks} more needed"
            return JobStanding(JobState.QUEUED, Reason.QUOTA_EXCEEDED, detail, words)
    return None
