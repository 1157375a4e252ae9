"""Would a job fit now if some others went? Tried on a copy of the calendar.

In: the calendar, the job as the plan sees it, what each of the others holds. Out: `fits_without`, which may be asked
about any set of them in any order: from one question to the next only the difference is taken away or put back. Called
by `claims`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fairway.batch.job import BatchJob
from fairway.batch.machine import Machine, Occupant, occupant_key
from fairway.batch.quotas.quotas import Quotas, use_key
from fairway.plan import Share, WaitingJob

__all__ = ["JobHolding", "RoomTrial", "holding_of"]


class JobHolding(NamedTuple):
    """What a job has."""

    occupants: Mapping[str, Occupant]  # by uid of its members
    shares: tuple[Share, ...]  # of allowances
    end: float


def holding_of(job: BatchJob, machine: Machine, quotas: Quotas) -> JobHolding:
    """What a job has now."""
    occupants = {uid: found for uid in job.members if (found := machine.occupant(uid)) is not None}
    use = quotas.uses.get(job.key)
    shares = () if use is None else tuple(quotas.shares_of(use))
    return JobHolding(occupants, shares, max((each.end for each in occupants.values()), default=machine.calendar.now))


class RoomTrial:
    """One job that wants to start now, and others that may have to go."""

    def __init__(
        self, machine: Machine, job: WaitingJob, holdings: Mapping[str, JobHolding], gone: Iterable[str]
    ) -> None:
        """`gone`: keys of the calendar that are left out from the beginning."""
        self._calendar = machine.calendar.without([job.key, *gone])
        self._calendar.borrowers = frozenset()  # nobody ends so that another one borrows
        self._job = job
        self._holdings = holdings
        self._absent: set[str] = set()

    def fits_without(self, keys: Collection[str]) -> bool:
        """Does it fit once these have gone?"""
        wanted = set(keys)
        for key in self._absent - wanted:
            self._put_back(key)
        for key in wanted - self._absent:
            for uid in self._holdings[key].occupants:
                self._calendar.remove(occupant_key(uid))
            self._calendar.remove(use_key(key))
        self._absent = wanted
        return self._calendar.search_now(self._job) is not None

    def _put_back(self, key: str) -> None:
        calendar, holding = self._calendar, self._holdings[key]
        for uid, (row, amounts, end) in holding.occupants.items():
            calendar.occupy(occupant_key(uid), np.array([row], np.intp), amounts, end)
        calendar.allowances.take(use_key(key), holding.shares, calendar.now, holding.end)
