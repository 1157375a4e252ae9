"""What a ledger is to those who keep books in one, whatever it is kept in.

In: lines of jobs that are over, and what accounts had settled before there was a ledger. Out: the same, kept; and sums.
A line that is there already is left as it is, so that whatever was cut off is done again. Known without the database's
library, which `database` needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from fairway.batch.accounts import ChargeLine
from fairway.live.api.problems import LiveProblem

__all__ = ["Ledger", "LedgerProblem", "Opening"]


class LedgerProblem(LiveProblem):
    """The ledger can not be used as it was given, or does not do what it is asked."""

    def __init__(self, what: str, why: str, fix: str, exit_code: int = LiveProblem.exit_code) -> None:
        super().__init__(what, why, fix)
        self.exit_code = exit_code


class Opening(NamedTuple):
    """What an account had settled when the ledger first heard of it: the lines of that are in no ledger."""

    account: str
    uid: str  # of the account's object: one that was made anew is another
    charge: int  # thousandths of a unit


class Ledger(Protocol):
    """Where lines are kept. Each call raises `LedgerProblem` if it is not known whether it was done."""

    @property
    def title(self) -> str:
        """Which one, for people."""

    async def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        """Add what is not there yet."""

    async def settled(self, account: str, without: Collection[str]) -> int:
        """The sum of an account's lines and openings, in thousandths of a unit, without the lines of these jobs."""

    def close(self) -> None:
        """Ask nothing more."""
