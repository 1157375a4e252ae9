"""What every user is entitled to over what they used: the accounts as `fair_tree` takes them, and factors out of it.

In: the tree of accounts, usage that is settled (one fading number an account and user), and jobs that are not
(`OpenJobs`). Out: at any moment a `ShareNode` tree, and the standing of each account and user. Users are there from
the start if their account names them, else from their first job on, with one share. Called by the desk in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from fairway.batch.accounts.account_tree import ROOT, AccountTree
from fairway.batch.accounts.open_jobs import OpenJobs, Payer
from fairway.batch.fair_tree import ShareNode, ShareStanding, fair_tree
from fairway.batch.usage import DecayedUsage
from fairway.model.batch.account import Shares

__all__ = ["HALF_LIFE", "FairShares"]

HALF_LIFE: Final = 7 * 86400.0


class FairShares:
    """The standing of everybody, from what is settled and what runs."""

    def __init__(self, tree: AccountTree, jobs: OpenJobs, half_life: float = HALF_LIFE, interval: float = 30.0) -> None:
        """`interval`: the plan's, for which a released job counts at once."""
        self._jobs = jobs
        self._half_life = half_life
        self._interval = interval
        self._settled: dict[Payer, DecayedUsage] = {}
        self.tree = tree

    @property
    def tree(self) -> AccountTree:
        """The accounts; may be set when one of them changes."""
        return self._tree

    @tree.setter
    def tree(self, tree: AccountTree) -> None:
        self._tree = tree
        for name in tree.usable:
            for user in tree.specs[name].users:
                self.join(name, user)

    def join(self, account: str, user: str) -> None:
        """A user has a job of this account."""
        self._jobs.number(Payer(account, user))

    def load(self, account: str, users: Mapping[str, DecayedUsage]) -> None:
        """What is settled of an account, as its book has it."""
        for user, usage in users.items():
            self.join(account, user)
            self._settled[Payer(account, user)] = usage

    def usage(self, now: float) -> dict[Payer, float]:
        """What everybody used, by now, what runs included."""
        used = dict(
            zip(self._jobs.payers, self._jobs.usage(now, self._half_life, self._interval).tolist(), strict=True)
        )
        for payer, settled in self._settled.items():
            # A clock that was set back must not make the past heavier.
            used[payer] += settled.at(max(now, settled.as_of), self._half_life)
        return used

    def root(self, now: float) -> ShareNode:
        """The tree of shares and usage; keys are `account` and `account/user`, the root is ""."""
        users: dict[str, list[ShareNode]] = {}
        for payer, usage in sorted(self.usage(now).items()):
            if payer.account in self._tree:
                users.setdefault(payer.account, []).append(self._user_node(payer, usage))
        return self._account_node(ROOT, users)

    def _user_node(self, payer: Payer, usage: float) -> ShareNode:
        named = self._tree.spec(payer.account).users.get(payer.user)
        return ShareNode(user_key(payer), 1 if named is None else _number(named.shares), usage, is_user=True)

    def _account_node(self, name: str, users: Mapping[str, list[ShareNode]]) -> ShareNode:
        below = [self._account_node(child, users) for child in self._tree.children(name)]
        children = (*users.get(name, ()), *below)
        usage = math.fsum(child.usage for child in children)
        return ShareNode(name, _number(self._tree.spec(name).shares), usage, children)

    def standings(self, now: float) -> dict[str, ShareStanding]:
        """Where everybody stands, by key; see `root`."""
        return fair_tree(self.root(now))

    def factors(self, now: float) -> dict[Payer, float]:
        """The factor of every user's priority, 0 to 1."""
        standings = self.standings(now)
        payers = (payer for payer in self._jobs.payers if payer.account in self._tree)
        return {payer: standings[user_key(payer)].factor or 0.0 for payer in payers}


def user_key(payer: Payer) -> str:
    """A user's key; no account's name has a slash, so no two are equal."""
    return f"{payer.account}/{payer.user}"


def _number(shares: Shares) -> int | None:
    return None if shares == "parent" else shares
