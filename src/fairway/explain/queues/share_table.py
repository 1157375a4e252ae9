"""The tree of accounts and users at a moment: what each is entitled to, what it used, and its factor.

In: queues at a moment. Out: a `ShareTable`, made by the code that orders jobs (`FairShares`) from the books: usage that
fades, what runs included. Called by `fairway shares`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.fair_tree import ShareNode, ShareStanding, fair_tree
from fairway.explain.queues.queue_moment import QueueMoment
from fairway.model import UserError
from fairway.tables import Column
from fairway.words import count_text

__all__ = ["SHARE_COLUMNS", "ShareTable", "read_shares", "share_table"]

SHARE_COLUMNS: Final = (
    Column("name", "ACCOUNT/USER"),
    Column("shares", "SHARES", right=True),
    Column("used", "USED", right=True),
    Column("norm", "NORM", right=True),
    Column("level", "LEVEL-FS", right=True),
    Column("factor", "FACTOR", right=True),
)


@dataclass(frozen=True, slots=True)
class ShareTable:
    """The tree and everybody's standing in it."""

    at: float
    root: ShareNode
    standings: Mapping[str, ShareStanding]

    def rows(self, *, exact: bool = False) -> list[dict[str, Any]]:
        """Accounts and users, each below its account; users before accounts."""
        return [self._row(node, parent, depth, exact) for depth, parent, node in _walk(self.root, 0)]

    def _row(self, node: ShareNode, parent: str, depth: int, exact: bool) -> dict[str, Any]:
        standing = self.standings.get(node.key, ShareStanding(None))
        whole = self.root.usage
        norm = node.usage / whole if whole else 0.0
        level = standing.level
        if exact:
            return {
                "name": node.key,
                "isUser": node.is_user,
                "parent": parent,
                "shares": "parent" if node.shares is None else node.shares,
                "used": node.usage,
                "norm": norm,
                "level": None if level is None or math.isinf(level) else level,
                "factor": standing.factor,
            }
        name = node.key.rpartition("/")[2] if node.is_user else node.key
        return {
            "name": f"{'  ' * depth}{name}",
            "shares": "parent" if node.shares is None else node.shares,
            "used": count_text(round(node.usage)),
            "norm": f"{norm:.3f}",
            "level": None if level is None else "inf" if math.isinf(level) else f"{level:.3f}",
            "factor": None if standing.factor is None else f"{standing.factor:.3f}",
        }

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        return {"atSeconds": self.at, "used": self.root.usage, "shares": self.rows(exact=True)}


def share_table(moment: QueueMoment) -> ShareTable:
    """Everybody then."""
    root = moment.shares().root(moment.at)
    return ShareTable(moment.at, root, fair_tree(root))


def read_shares(document: Mapping[str, Any]) -> ShareTable:
    """The tree again from its document; `UserError` if it is none of ours."""
    try:
        below: dict[str, list[Mapping[str, Any]]] = {}
        standings = {}
        for row in document["shares"]:
            below.setdefault(row["parent"], []).append(row)
            level = math.inf if row["level"] is None and row["factor"] is not None else row["level"]
            standings[row["name"]] = ShareStanding(level, row["factor"])
        return ShareTable(float(document["atSeconds"]), _branch("", 1, float(document["used"]), below), standings)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = f"the answer is not in the words of this version: {type(error).__name__} {error}"
        raise UserError(what, "is it `fairway run` that answers there, and of which version?") from error


def _branch(key: str, shares: int | None, usage: float, below: Mapping[str, list[Mapping[str, Any]]]) -> ShareNode:
    children = []
    for row in below.get(key, ()):
        number, used = None if row["shares"] == "parent" else int(row["shares"]), float(row["used"])
        if row["isUser"]:
            children.append(ShareNode(row["name"], number, used, is_user=True))
        else:
            children.append(_branch(row["name"], number, used, below))
    return ShareNode(key, shares, usage, tuple(children))


def _walk(node: ShareNode, depth: int) -> Iterator[tuple[int, str, ShareNode]]:
    for child in node.children:
        yield depth, node.key, child
        yield from _walk(child, depth + 1)
