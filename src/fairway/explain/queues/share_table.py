"""The tree of accounts and users at a moment of a run: what each is entitled to, what it used, and its factor.

In: an open run and a time. Out: a `ShareTable`, made by the code that orders jobs (`FairShares`) from the books of the
run: usage that fades, what runs included. Called by `fairway shares`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.accounts import AccountTree, FairShares, OpenJobs, Payer
from fairway.batch.accounts.charges import LineKind
from fairway.batch.fair_tree import ShareNode, ShareStanding, fair_tree
from fairway.batch.job import RunInterval
from fairway.batch.settings import BatchSettings
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.explain.queues.run_queues import run_settings
from fairway.explain.queues.usage_table import book_lines
from fairway.record import Run
from fairway.tables import Column
from fairway.words import count_text

__all__ = ["SHARE_COLUMNS", "ShareTable", "fair_shares", "share_table"]

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
        return [self._row(node, depth, exact) for depth, node in _walk(self.root, 0)]

    def _row(self, node: ShareNode, depth: int, exact: bool) -> dict[str, Any]:
        standing = self.standings.get(node.key, ShareStanding(None))
        whole = self.root.usage
        norm = node.usage / whole if whole else 0.0
        level = standing.level
        if exact:
            return {
                "name": node.key,
                "isUser": node.is_user,
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


def share_table(run: Run, at: float) -> ShareTable:
    """Everybody at that time."""
    root = fair_shares(run, at, run_settings(run), queue_jobs(run, at)).root(at)
    return ShareTable(at, root, fair_tree(root))


def fair_shares(run: Run, at: float, settings: BatchSettings, jobs: Sequence[QueueJob]) -> FairShares:
    """What everybody used by then, and who is there: those with shares of their own, and whoever had a job."""
    running = {job.number for job in jobs if job.runs}
    opened = OpenJobs()
    shares = FairShares(AccountTree(settings.accounts), opened, settings.half_life, settings.interval)
    for job in jobs:
        if job.account in shares.tree:
            shares.join(job.account, job.user)
    given_back = {(line.job_id, line.start) for line in book_lines(run, -math.inf, at) if line.kind == LineKind.REFUND}
    intervals: dict[tuple[int, Payer], list[RunInterval]] = {}
    for line in book_lines(run, -math.inf, at):
        if line.kind != LineKind.REFUND and (line.job_id, line.start) not in given_back:
            is_open = line.end >= at and line.job_id in running
            interval = RunInterval(line.start, math.inf if is_open else line.end, line.rate)
            intervals.setdefault((line.job_id, Payer(line.account, line.user)), []).append(interval)
    for (number, payer), runs in intervals.items():
        opened.put(str(number), payer, runs)
    return shares


def _walk(node: ShareNode, depth: int) -> Iterator[tuple[int, ShareNode]]:
    for child in node.children:
        yield depth, child
        yield from _walk(child, depth + 1)
