"""Jobs that are not settled yet, as columns: what each user has running, counted for all of them at once.

In: the intervals of each job that was released, runs, or is over and not yet in its account's book. Out: by (account,
user) what they weigh for fair share and what they are charged, up to any moment. What is settled is not here, so
nothing grows with the number of jobs that ever ran. Fed by the desk as jobs change; read by `fair_shares`,
`account_book` and `budgets` in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.batch.accounts.charges import MILLI, last_run
from fairway.batch.job import RunInterval

__all__ = ["OpenJobs", "Payer"]

Floats = NDArray[np.float64]
FEWEST_ROWS: Final = 64


class Payer(NamedTuple):
    """Whose use it is."""

    account: str
    user: str


class OpenJobs:
    """Intervals of unsettled jobs, a row each."""

    def __init__(self) -> None:
        self.payers: list[Payer] = []  # whoever was seen; they keep their numbers
        self._numbers: dict[Payer, int] = {}
        self._rows: dict[str, list[int]] = {}  # by job's uid
        self._payer_of: dict[str, int] = {}  # by job's uid
        self._free: list[int] = []
        self._size = 0
        self._start: Floats = np.zeros(FEWEST_ROWS)  # (num_rows,)
        self._end: Floats = np.zeros(FEWEST_ROWS)  # (num_rows,), infinite: still
        self._rate: Floats = np.zeros(FEWEST_ROWS)  # (num_rows,)
        self._entry: Floats = np.zeros(FEWEST_ROWS)  # (num_rows,), when the run began; infinite: it is about to
        self._payer: NDArray[np.intp] = np.zeros(FEWEST_ROWS, np.intp)  # (num_rows,)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, uid: str) -> bool:
        return uid in self._rows

    @property
    def num_rows(self) -> int:
        """How many intervals are held, free places included."""
        return self._size

    def number(self, payer: Payer) -> int:
        """The payer's place in all that is counted by payer."""
        if (number := self._numbers.get(payer)) is None:
            number = self._numbers[payer] = len(self.payers)
            self.payers.append(payer)
        return number

    def put(self, uid: str, payer: Payer, intervals: Sequence[RunInterval], released_rate: float | None = None) -> None:
        """A job as it is now; `released_rate`: it may start, and will cost so much a second."""
        self.drop(uid)
        number = self.number(payer)
        self._payer_of[uid] = number
        rows = self._rows[uid] = []
        is_open = bool(intervals) and intervals[-1].end == math.inf
        entry = intervals[last_run(intervals)].start if is_open else -math.inf
        for each in intervals:
            if not each.refund and each.end > each.start:
                began = entry if each.end == math.inf else -math.inf
                rows.append(self._write(number, each.start, each.end, each.rate, began))
        if released_rate is not None and not is_open:
            rows.append(self._write(number, math.inf, math.inf, released_rate, math.inf))

    def drop(self, uid: str) -> None:
        """The job is settled, or no longer to be counted."""
        for row in self._rows.pop(uid, ()):
            self._rate[row] = 0.0
            self._start[row] = math.inf
            self._free.append(row)
        self._payer_of.pop(uid, None)

    def _write(self, number: int, start: float, end: float, rate: float, entry: float) -> int:
        row = self._free.pop() if self._free else self._grown()
        self._start[row], self._end[row], self._rate[row], self._entry[row] = start, end, rate, entry
        self._payer[row] = number
        return row

    def _grown(self) -> int:
        if self._size == len(self._start):
            for name in ("_start", "_end", "_rate", "_entry", "_payer"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self._size += 1
        return self._size - 1

    # -- what they come to -------------------------------------------------------------------------------------------

    def usage(self, now: float, half_life: float, interval: float = 0.0) -> Floats:
        """What the jobs of each payer weigh, (num_payers,).

        A job that was released counts at once as if it had used one plan interval already; as it runs that becomes what
        it really used, and nothing is counted twice.
        """
        rows = slice(self._size)
        end = np.minimum(self._end[rows], now)
        seconds = np.maximum(end - self._start[rows], 0.0)
        age = np.maximum(now - end, 0.0)
        rate = self._rate[rows]
        if half_life == math.inf:
            weight = rate * seconds
        else:
            fading = math.log(2.0) / half_life
            weight = -np.expm1(-fading * seconds) * np.exp2(-age / half_life) * rate / fading
        weight += rate * np.clip(self._entry[rows] + interval - now, 0.0, interval)
        sums: Floats = np.bincount(self._payer[rows], weight, len(self.payers)).astype(np.float64)
        return sums

    def charges(self, until: float, since: float = -math.inf, without: Collection[str] = ()) -> NDArray[np.int64]:
        """Thousandths of a unit that are due of each payer between two times, (num_payers,); see `charge_between`.

        `without`: jobs that are not to be counted.
        """
        due = self._due(until) - (self._due(since) if since > -math.inf else 0.0)
        due[[row for uid in without for row in self._rows.get(uid, ())]] = 0.0
        # Whole numbers, so that their sums are exact, up to 2**53 thousandths.
        return np.bincount(self._payer[: self._size], due, len(self.payers)).astype(np.int64)

    def _due(self, time: float) -> Floats:
        rows = slice(self._size)
        seconds = np.maximum(np.minimum(self._end[rows], time) - self._start[rows], 0.0)
        return np.rint(seconds * self._rate[rows] * MILLI)

    def rates_by_account(self) -> dict[str, float]:
        """Units a second that what runs costs each account, without those below it."""
        found: dict[str, float] = {}
        runs = self._end[: self._size] == math.inf
        runs &= self._start[: self._size] < math.inf
        for row in np.flatnonzero(runs).tolist():
            account = self.payers[self._payer[row]].account
            found[account] = found.get(account, 0.0) + float(self._rate[row])
        return found

    def charges_by_account(
        self, until: float, since: float = -math.inf, without: Collection[str] = ()
    ) -> dict[str, dict[str, int]]:
        """The same by account and user; whoever has nothing due is left out."""
        found: dict[str, dict[str, int]] = {}
        charges = self.charges(until, since, without)
        for number in np.flatnonzero(charges).tolist():
            account, user = self.payers[number]
            found.setdefault(account, {})[user] = int(charges[number])
        return found
