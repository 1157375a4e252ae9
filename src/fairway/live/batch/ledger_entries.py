"""Lines on their way into a ledger: step (3) of settling, which nothing else waits for.

In: the lines of records that are final (`want`), and word that their account is charged (`charged`); what an account
had settled before (`open`), and what it should have in the ledger now (`check`). Out: word of each job whose lines are
there (`on_entered`), so that its record may say that it is settled; what differs (`on_differs`), and once a minute,
while the ledger does not do what it is asked, why (`on_behind`). It is asked again until it does. What waits here is on
the API server, too, where whoever comes later finds it: nothing is lost by forgetting it. One for each desk that keeps
a ledger, made by `batch_service`; `record_store` is the caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from fairway.batch.accounts import MILLI, BooksDiffer, ChargeLine
from fairway.live.api.clock import Clock
from fairway.live.ledger.ledger import Ledger, LedgerProblem, Opening

__all__ = ["LedgerEntries"]

logger = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 500  # jobs in one transaction
RETRY_SECONDS: Final = (0.2, 1.0, 2.0, 5.0, 10.0)
TOLD_EVERY: Final = 60.0


class _Check(NamedTuple):
    settled: int  # what the account's lines should come to, in thousandths of a unit
    without: Collection[str]  # uids: lines of these may be there or not


class LedgerEntries:
    """What the ledger is still to be told."""

    def __init__(self, ledger: Ledger, clock: Clock, may_write: Callable[[], bool]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._may_write = may_write
        self._uncharged: dict[str, Sequence[ChargeLine]] = {}  # by uid of the job
        self._ready: dict[str, Sequence[ChargeLine]] = {}  # the same, charged
        self._entered: set[str] = set()
        self._openings: dict[str, Opening] = {}  # by account
        self._checks: dict[str, _Check] = {}  # by account
        self._news = asyncio.Event()
        self._problem: LedgerProblem | None = None
        self._told_at = float("-inf")
        self.on_entered: Callable[[str], None] = lambda uid: None
        self.on_differs: Callable[[BooksDiffer], None] = lambda differs: logger.error(differs.words)
        self.on_behind: Callable[[Collection[str], str], None] = lambda accounts, words: None

    # -- what is wanted ------------------------------------------------------------------------------------------------

    def waits(self, uid: str) -> bool:
        """Has the ledger still to be told of the job?"""
        return uid in self._ready or uid in self._uncharged

    def want(self, lines: Iterable[ChargeLine], *, is_charged: bool) -> None:
        """These have to be there; `is_charged`: the account on the server has their charge."""
        by_job: dict[str, list[ChargeLine]] = {}
        for line in lines:
            by_job.setdefault(line.job.uid, []).append(line)
        for uid, found in by_job.items():
            if uid not in self._entered and uid not in self._ready:
                self._uncharged[uid] = found
                if is_charged:
                    self.charged((uid,))

    def charged(self, uids: Iterable[str]) -> None:
        """The account on the server has the charges of these jobs, or nobody is charged for them any more."""
        for uid in uids:
            if (lines := self._uncharged.pop(uid, None)) is not None:
                self._ready[uid] = lines
                self._news.set()

    def open(self, opening: Opening) -> None:
        """An account is there: what it has settled by now, the ledger need not have lines of."""
        self._openings[opening.account] = opening
        self._news.set()

    def check(self, account: str, settled: int, without: Collection[str]) -> None:
        """See whether the account's lines come to this."""
        self._checks[account] = _Check(settled, without)
        self._news.set()

    def forget(self, uid: str) -> None:
        """The record says that it is settled, or is gone."""
        self._entered.discard(uid)
        self._uncharged.pop(uid, None)

    # -- entering ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            tries = 0
            while True:
                if not (self._ready or self._openings or self._checks) or not self._may_write():
                    await self._rest(1.0)
                    continue
                try:
                    await self._go_on()
                except LedgerProblem as problem:
                    self._tell(problem)
                    await self._clock.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
                    tries += 1
                else:
                    tries = 0
                    self._recover()
        finally:
            self._ledger.close()

    async def _rest(self, seconds: float) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _go_on(self) -> None:
        """One round. Sums before lines: what is entered later is not in what they should come to."""
        if openings := dict(self._openings):
            await self._ledger.enter(tuple(openings.values()), ())
            self._openings = {name: each for name, each in self._openings.items() if openings.get(name) != each}
        while self._checks and not self._openings:
            account, check = next(iter(self._checks.items()))
            there = await self._ledger.settled(account, check.without)
            if self._checks.get(account) is check:
                del self._checks[account]
            if there != check.settled:
                what = "settled is not the sum of its lines in the ledger"
                self.on_differs(BooksDiffer(account, what, check.settled / MILLI, there / MILLI))
        if self._openings:
            return
        batch = dict(islice(self._ready.items(), MOST_AT_ONCE))
        if batch:
            await self._ledger.enter((), [line for lines in batch.values() for line in lines])
        for uid in batch:
            self._ready.pop(uid, None)
            self._entered.add(uid)
            self.on_entered(uid)

    def _tell(self, problem: LedgerProblem) -> None:
        """That the books are behind, and why: when it begins, and then once a minute."""
        self._problem = problem
        now = self._clock.monotonic()
        if now < self._told_at + TOLD_EVERY:
            return
        self._told_at = now
        waiting = {lines[0].job.account for lines in self._ready.values()}
        words = f"books are behind, {len(self._ready)} jobs wait for the ledger: {problem.what}"
        words += f": {problem.why}" if problem.why else ""
        logger.warning("%s; %s", words, problem.fix)
        self.on_behind(waiting, words)

    def _recover(self) -> None:
        if self._problem is not None:
            logger.info("the ledger at %s does what it is asked again", self._ledger.title)
            self._problem, self._told_at = None, float("-inf")
