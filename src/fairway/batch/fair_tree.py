"""Fair Tree: users ranked by their accounts' standing first, and their own within the account.

In: a tree of accounts and users, each with shares and usage. Out: for each of them its level (what it is entitled to
over what it used, among its siblings), and for each user a factor from above 0 to 1. Accounts and users are walked by
falling level, depth first, and users are given ranks n, n − 1, …; whoever is in a better account is before everybody
in a worse one. The rules for ties and for shares that are the parent's are those of Slurm's Fair Tree, on whose trees
it is tested. Called when priorities are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["ShareNode", "ShareStanding", "fair_tree"]


@dataclass(frozen=True, slots=True)
class ShareNode:
    """An account, or a user within one."""

    key: str
    shares: int | None  # None: the parent's; such a user ranks as unused, such an account's children are its parent's
    usage: float  # of an account: with all below it
    children: tuple[ShareNode, ...] = ()
    is_user: bool = False


class ShareStanding(NamedTuple):
    """Where somebody stands."""

    level: float | None  # infinite: unused; None: its shares are its parent's
    factor: float | None = None  # of users
    rank: int | None = None  # of users, n is the best


class _Ranked(NamedTuple):
    level: float
    node: ShareNode


def fair_tree(root: ShareNode) -> dict[str, ShareStanding]:
    """The standing of everybody below the root, by key."""
    return _Walk(root).standings


class _Walk:
    def __init__(self, root: ShareNode) -> None:
        self.standings: dict[str, ShareStanding] = {}
        self._num_users = _count_users(root)
        self._next = self._rank = self._num_users
        self._walk(self._children(root), is_tied=False)

    def _walk(self, siblings: Sequence[_Ranked], is_tied: bool) -> None:
        """Rank siblings and all below them. `is_tied`: the first of them shares the rank of who was ranked last."""
        # Users stand before accounts of the same level; else as they were given.
        order = sorted(siblings, key=lambda ranked: (-ranked.level, not ranked.node.is_user))
        index, before = 0, None
        while index < len(order):
            level, node = order[index]
            ties = level == before or (index == 0 and is_tied)
            index += 1
            if node.is_user:
                self._rank_user(node, ties)
            else:
                below = self._children(node)
                while index < len(order) and order[index].level == level:  # accounts that tie are as one
                    below += self._children(order[index].node)
                    index += 1
                self._walk(below, ties)
            before = level

    def _rank_user(self, node: ShareNode, ties: bool) -> None:
        if not ties:
            self._rank = self._next
        self._next -= 1
        factor = self._rank / self._num_users
        self.standings[node.key] = self.standings[node.key]._replace(factor=factor, rank=self._rank)

    def _children(self, account: ShareNode) -> list[_Ranked]:
        """Who is ranked below an account, each with its level among the others."""
        siblings = list(_own_children(account))
        shares = sum(node.shares for node in siblings if node.shares is not None)
        usage = sum(node.usage for node in siblings)
        ranked = [_Ranked(_level(node, shares, usage), node) for node in siblings]
        for level, node in ranked:
            self.standings[node.key] = ShareStanding(None if node.shares is None else level)
        return ranked


def _own_children(account: ShareNode) -> Iterator[ShareNode]:
    """The children; those of an account without shares of its own are its parent's."""
    for node in account.children:
        if node.shares is None and not node.is_user:
            yield from _own_children(node)
        else:
            yield node


def _level(node: ShareNode, shares: int, usage: float) -> float:
    if node.shares is None:
        return math.inf
    if node.shares == 0:
        return 0.0  # entitled to nothing: last, even if it used nothing
    # Two quotients, as Slurm has them: what is equal only in exact arithmetic is no tie there.
    return (node.shares / shares) / (node.usage / usage) if node.usage > 0 else math.inf


def _count_users(node: ShareNode) -> int:
    return sum(1 if child.is_user else _count_users(child) for child in node.children)
