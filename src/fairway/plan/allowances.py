"""What a queue or a user may use at a time: rows of the plan that are no nodes.

In: allowances by name, each with amounts of what it limits; shares of them that jobs take from one time to another.
Out: when a job's shares are free for as long as it runs. So a job that is stopped by a limit has a date like one that
is stopped by a full machine. An allowance is a timeline of one row; whoever takes more than there is (a job on loan)
leaves less than nothing, and nobody fits until that is paid back. Part of a `Calendar`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fairway.plan.slots import MemberClass, first_start
from fairway.plan.timeline import FreeTimeline

__all__ = ["Allowances", "Share"]

ROW: Final = np.zeros(1, np.intp)


class Share(NamedTuple):
    """What a job takes of an allowance."""

    name: str
    amounts: NDArray[np.int64]  # (num_columns,), in the order of the allowance
    may_be_lent: bool = False  # a job that may borrow starts without it, if nobody was promised it


class _Taking(NamedTuple):
    share: Share
    start: float
    end: float


class Allowances:
    """All allowances, and who takes what of them until when."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._rows: dict[str, FreeTimeline] = {}  # what has none is not limited
        self._capacities: dict[str, tuple[int, ...]] = {}
        self._takings: dict[str, list[_Taking]] = {}

    def copy(self) -> Self:
        """Another one, for what-if."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._rows = {name: row.copy() for name, row in self._rows.items()}
        twin._takings = {key: list(takings) for key, takings in self._takings.items()}
        return twin

    def allow(self, name: str, amounts: Sequence[int]) -> None:
        """There is so much of it from now on, whatever there was before."""
        capacity = tuple(amounts)
        if self._capacities.get(name) == capacity:
            return
        self._capacities[name] = capacity
        self._rows[name] = FreeTimeline(np.array([capacity], np.int64), self._now)
        for takings in self._takings.values():
            for share, start, end in takings:
                if share.name == name:
                    self._rows[name].take(ROW, share.amounts, start, end)

    def advance(self, now: float) -> bool:
        """Time has passed; True: other amounts are free now than before."""
        self._now = max(self._now, now)
        is_other = False
        for row in self._rows.values():
            is_other |= row.forget_before(now)
        return is_other

    def holds(self, key: str) -> bool:
        """Is anything taken under this key?"""
        return key in self._takings

    def take(self, key: str, shares: Sequence[Share], start: float, end: float) -> None:
        """These are taken within [start, end)."""
        if shares:
            self._takings.setdefault(key, []).extend(_Taking(share, start, end) for share in shares)
        for share in shares:
            if (row := self._rows.get(share.name)) is not None:
                row.take(ROW, share.amounts, start, end)

    def give(self, key: str) -> bool:
        """All that is taken under this key is given back from now on; was that anything?"""
        takings = self._takings.pop(key, ())
        for share, start, end in takings:
            if (row := self._rows.get(share.name)) is not None:
                row.give(ROW, share.amounts, start, end)
        return any(taking.end > self._now for taking in takings)

    def shorten(self, ends: Mapping[str, float]) -> None:
        """What is taken under each key is given back from a time on, where that is earlier than was said."""
        for key in ends.keys() & self._takings.keys():
            end, takings = ends[key], self._takings[key]
            for index, (share, start, former) in enumerate(takings):
                if former > end:
                    if (row := self._rows.get(share.name)) is not None:
                        row.give(ROW, share.amounts, max(start, end, self._now), former)
                    takings[index] = _Taking(share, start, max(start, end))

    def first_start(self, shares: Sequence[Share], duration: float, start: float, latest: float) -> float | None:
        """The first time within [start, latest] from which on all shares are free for so long."""
        limited = [share for share in shares if share.name in self._rows]
        settled = 0  # shares in a row that have nothing against it
        while settled < len(limited):
            for share in limited:
                found = first_start(self._rows[share.name], MemberClass(share.amounts), start, duration, latest)
                if found is None:
                    return None
                settled = settled + 1 if found[0] == start else 1
                start = found[0]
        return start

    def lacks(self, share: Share, start: float, end: float) -> bool:
        """Is less than this share left of its allowance at any time within [start, end)?"""
        row = self._rows.get(share.name)
        return row is not None and not _has(row, share, max(start, self._now), max(end, self._now))

    def is_overdrawn(self, name: str, start: float, end: float) -> bool:
        """Is more taken of it than there is, at any time within [start, end)?"""
        row = self._rows.get(name)
        start, end = max(start, self._now), max(end, self._now)
        return row is not None and start < end and bool((row.least_free(ROW, start, end) < 0).any())

    def fit_now(self, shares: Sequence[Share], duration: float, borrows_from: Collection[str] | None = None) -> bool:
        """Are all shares free from now on? Whoever borrows leaves those aside that may be lent.

        Then it may not touch what is promised to those under the keys `borrows_from`, which count on it.
        """
        now = self._now
        for share in shares:
            row = self._rows.get(share.name)
            if row is None or _has(row, share, now, now + duration):
                continue
            if borrows_from is None or not share.may_be_lent:
                return False
            for key in borrows_from:
                for promised in self._takings.get(key, ()):
                    start, end = max(promised.start, now), min(promised.end, now + duration)
                    if promised.share.name == share.name and start < end and not _has(row, share, start, end):
                        return False
        return True


def _has(row: FreeTimeline, share: Share, start: float, end: float) -> bool:
    if end == start:
        end = math.nextafter(start, math.inf)
    least = row.least_free(ROW, start, end)[0]
    return bool((share.amounts <= least)[share.amounts > 0].all())
