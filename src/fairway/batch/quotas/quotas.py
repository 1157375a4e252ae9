"""Quotas at the desk: what queues and their users use of what they may, who may borrow, and who has to wait for it.

In: the jobs of the book, the specs of their queues. Out: a job's shares of the plan's allowances (`shares`), what those
who are there take of them (`look`), the queues that may borrow now (`lend`), and words for whoever can never run or has
to wait because of all that. Where no queue limits anything, nothing is done. Called by the desk in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.quotas.borrowing import Amounts, QueueUse, may_borrow
from fairway.batch.quotas.queue_allowances import (
    QueueAllowance,
    allowances_of,
    amounts_of,
    exceeded_standing,
    over_maximum,
    sum_of,
)
from fairway.batch.reasons import JobStanding, JobState, Reason
from fairway.model import Pod
from fairway.model.batch import QueueSpec
from fairway.model.requests import pod_requests
from fairway.plan import Share

__all__ = ["JobUse", "Quotas", "use_key"]


class JobUse(NamedTuple):
    """What a job that is there takes."""

    queue: str
    user: str
    uids: tuple[str, ...]  # of its members with a node
    end: float
    amounts: Amounts


class Quotas:
    """What everybody may use, and uses."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._queues: Mapping[str, QueueSpec] = {}
        self._allowances: dict[tuple[str, str], tuple[QueueAllowance, ...]] = {}  # by queue and user
        self.limits_anybody = False
        self.uses: dict[str, JobUse] = {}  # of jobs in queues that limit something, by key
        self._needs: dict[str, Amounts] = {}  # of those that wait, or were released and have no nodes yet, by key
        self._holders: list[JobUse] = []  # all who are there or were released
        self._totals: dict[str, list[int]] = {}  # what they use of each allowance, as far as that was asked

    # -- a pass ------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """A pass begins: those who are there take what they take."""
        queues = self._desk.settings.queues
        if queues is not self._queues:
            self._queues = queues
            self._allowances.clear()
            self.limits_anybody = any(map(_limits, queues.values()))
        if not self.limits_anybody and not self.uses:
            return
        uses = {job.key: use for job in self._desk.book if (use := self._use(job)) is not None}
        calendar = self._desk.machine.calendar
        for key in self.uses.keys() | uses.keys():
            before, now = self.uses.get(key), uses.get(key)
            if before != now:
                calendar.has_changed |= before is None or now is None or before.end != now.end
                calendar.allowances.give(use_key(key))
                if now is not None:
                    calendar.allowances.take(use_key(key), self.shares_of(now), calendar.now, now.end)
        self.uses = uses
        self._needs = {key: needs for key, needs in self._needs.items() if key in self._desk.book.jobs}

    def count(self) -> None:
        """Jobs were released: count anew what is used."""
        if not self.limits_anybody:
            return
        self._totals.clear()
        self._holders = [*self.uses.values()]
        for job in self._desk.book:
            if job.is_released and job.key not in self.uses and job.key in self._needs:
                self._holders.append(JobUse(job.queue, job.wishes.user, (), math.inf, self._needs[job.key]))

    def _use(self, job: BatchJob) -> JobUse | None:
        """What a job takes that has members on nodes; None: it has none, or nothing limits it."""
        machine = self._desk.machine
        occupants = {uid: found for uid in job.members if (found := machine.occupant(uid)) is not None}
        if not occupants or not self._of(job.queue, job.wishes.user):
            return None
        uids, end = tuple(occupants), max(each.end for each in occupants.values())
        known = self.uses.get(job.key)
        if known is not None and known.uids == uids:
            amounts = known.amounts
        else:
            amounts = sum_of(pod_requests(job.members[uid]) for uid in uids)
        return JobUse(job.queue, job.wishes.user, uids, end, amounts)

    def shares_of(self, use: JobUse) -> list[Share]:
        """What a job that is there takes of allowances."""
        return [each.share(use.amounts) for each in self._of(use.queue, use.user)]

    def needs(self, job: BatchJob) -> Amounts:
        """What a waiting job asks for, as far as its queue limits anything."""
        return self._needs.get(job.key, {})

    def shares(self, job: BatchJob, pods: Sequence[Pod]) -> tuple[Share, ...]:
        """What a job takes of allowances if these are its members."""
        if not (allowances := self._of(job.queue, job.wishes.user)):
            return ()
        self._needs[job.key] = amounts = sum_of(map(pod_requests, pods))
        return tuple(each.share(amounts) for each in allowances)

    def _of(self, queue: str, user: str) -> tuple[QueueAllowance, ...]:
        if not self.limits_anybody or queue not in self._queues:
            return ()
        known = self._allowances.get((queue, user))
        if known is None:
            self._allowances[queue, user] = known = allowances_of(queue, self._queues[queue], user)
            for each in known:
                self._desk.machine.calendar.allowances.allow(each.name, each.most)
        return known

    # -- borrowing ---------------------------------------------------------------------------------------------------

    def lend(self, waiting: Iterable[BatchJob]) -> bool:
        """Say who may borrow now, given who waits; may anybody who might not?"""
        if not self.limits_anybody or not self._desk.settings.has_quotas:
            return False
        self.count()
        claims: dict[str, list[Amounts]] = {}
        for job in waiting:
            if self._queues[job.queue].quota and self.exceeded(job, but="quota") is None:
                claims.setdefault(job.queue, []).append(self._needs[job.key])
        uses = self.queue_uses(claims)
        calendar = self._desk.machine.calendar
        before = calendar.borrowers
        calendar.borrowers = frozenset(
            name
            for name, use in uses.items()
            if use.quota and may_borrow(name, (each for each in uses.values() if self._share_nodes(name, each.name)))
        )
        calendar.has_changed |= before != calendar.borrowers
        return not calendar.borrowers <= before

    def queue_uses(self, claims: Mapping[str, Sequence[Amounts]]) -> dict[str, QueueUse]:
        """Every queue as it is now."""
        used: dict[str, list[Amounts]] = {}
        for use in self._holders:
            used.setdefault(use.queue, []).append(use.amounts)
        return {
            name: QueueUse(name, amounts_of(spec.quota), sum_of(used.get(name, ())), claims.get(name, ()))
            for name, spec in self._queues.items()
        }

    def _share_nodes(self, one: str, other: str) -> bool:
        """Is there a node that both queues may use?"""
        choices = self._queues[one].nodes, self._queues[other].nodes
        if not (choices[0].selector and choices[1].selector):
            return True
        nodes = self._desk.cluster.nodes
        return any(
            node is not None and all(choice.matches(node.metadata.labels) for choice in choices)
            for node in nodes.objects[: nodes.num_rows]
        )

    # -- words -------------------------------------------------------------------------------------------------------

    def refusal(self, job: BatchJob) -> JobStanding | None:
        """Why a job, whose shares are known, can never run in its queue; None: it can."""
        for allowance in self._of(job.queue, job.wishes.user):
            if (standing := over_maximum(allowance, self._needs[job.key])) is not None:
                return standing
        return None

    def crowded(self, waiting: Iterable[BatchJob]) -> dict[str, JobStanding]:
        """Those who are more than their user may have waiting in the queue; the latest ones."""
        if not self._desk.settings.limits_waiting:
            return {}
        counts: dict[tuple[str, str], int] = {}
        found = {}
        for job in sorted(waiting, key=lambda job: (job.ledger.submitted, job.number)):
            most = self._queues[job.queue].per_user.waiting
            if most is None:
                continue
            owner = (job.queue, job.wishes.user)
            counts[owner] = counts.get(owner, 0) + 1
            if counts[owner] > most:
                detail = {"which": "perUser", "resource": "waiting", "used": most, "of": most}
                words = f"perUser of queue {job.queue} for {job.wishes.user}: {most} of {most} jobs wait already"
                found[job.key] = JobStanding(JobState.QUEUED, Reason.QUOTA_EXCEEDED, detail, words)
        return found

    def exceeded(self, job: BatchJob, but: str = "") -> JobStanding | None:
        """Why a job waits for others of its queue or user to end, `but` for one kind of limit; None: it does not."""
        if (needs := self._needs.get(job.key)) is None:
            return None
        for allowance in self._of(job.queue, job.wishes.user):
            if allowance.kind == but:
                continue
            if allowance.kind == "quota" and job.queue in self._desk.machine.calendar.borrowers:
                continue
            used = self._used(allowance)
            if (standing := exceeded_standing(allowance, used, needs)) is not None:
                return standing
        return None

    def _used(self, allowance: QueueAllowance) -> list[int]:
        known = self._totals.get(allowance.name)
        if known is None:
            holders = [
                allowance.needs(each.amounts) for each in self._holders if allowance.covers(each.queue, each.user)
            ]
            self._totals[allowance.name] = known = [sum(column) for column in zip(*holders, strict=True)]
        return known or [0] * len(allowance.columns)


def _limits(queue: QueueSpec) -> bool:
    limits = queue.per_user
    return bool(
        queue.quota or queue.max or limits.resources or limits.running is not None or limits.waiting is not None
    )


def use_key(job: str) -> str:
    """Under which what a job uses stands in the plan."""
    return f"use of {job}"
