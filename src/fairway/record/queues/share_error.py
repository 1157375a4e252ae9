"""How far accounts were from what they are entitled to, while they had jobs that waited.

In: a `Run`, its settings, and the jobs that count. Out: the mean of |used share − entitled share| over these accounts
and over time. Used is what an account's jobs cost a second at an instant, as a share of what all jobs cost then;
entitled is its shares among its siblings', from the root down. Called by `queue_metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from fairway.batch.accounts import AccountTree
from fairway.batch.accounts.charges import LineKind
from fairway.batch.settings import BatchSettings
from fairway.record.run import Run

__all__ = ["entitled_shares", "share_error"]


def entitled_shares(settings: BatchSettings) -> dict[str, float]:
    """By account."""
    tree = AccountTree(settings.accounts)
    found: dict[str, float] = {}

    def walk(name: str, share: float) -> None:
        children = tree.children(name)
        shares = {child: _number(tree.spec(child).shares) for child in children}
        whole = sum(shares.values())
        for child in children:
            found[child] = share * shares[child] / whole if whole else 0.0
            walk(child, found[child])

    walk("", 1.0)
    return found


def _number(shares: object) -> float:
    return float(shares) if isinstance(shares, int | float) else 0.0  # those of its parent are not its own


def share_error(run: Run, settings: BatchSettings | None, jobs: Collection[int]) -> float | None:
    """None: there are no accounts, or nobody who has one waited."""
    entitled = {} if settings is None else entitled_shares(settings)
    if settings is None or not entitled:
        return None
    tree = AccountTree(settings.accounts)
    changes = _changes(run, jobs)
    rates, waiting = dict.fromkeys(entitled, 0.0), dict.fromkeys(entitled, 0)
    total, before, weight, error = 0.0, 0.0, 0.0, 0.0
    for time, account, rate, waits in changes:
        seconds = min(time, run.end_seconds) - before
        concerned = [name for name, count in waiting.items() if count > 0]
        if seconds > 0 and concerned and total > 1e-9:
            mean = math.fsum(abs(rates[name] / total - entitled[name]) for name in concerned) / len(concerned)
            error, weight = error + seconds * mean, weight + seconds
        before = max(before, time)
        total += rate
        for name in tree.path(account) if account in entitled else ():
            rates[name] += rate
            waiting[name] += waits
    return error / weight if weight else None


def _changes(run: Run, jobs: Collection[int]) -> list[tuple[float, str, float, int]]:
    """When whose rate or number of waiting jobs changes, and by how much; at the end of the run nothing does."""
    changes: list[tuple[float, str, float, int]] = [(run.end_seconds, "", 0.0, 0)]
    for row in run.charges.where("kind <> ?", LineKind.REFUND.value):
        changes += [
            (row["from_seconds"], row["account"], row["rate"], 0),
            (row["to_seconds"], row["account"], -row["rate"], 0),
        ]
    waits: dict[int, bool] = {}
    rows = run.sql(
        "SELECT s.job_id, s.time_seconds AS time, s.state, j.account FROM job_states s JOIN jobs j USING (job_id)"
        " WHERE j.queue IS NOT NULL ORDER BY s.rowid"
    )
    for row in rows:
        number, is_waiting = row["job_id"], row["state"] == "Queued"
        if number in jobs and is_waiting != waits.get(number, False):
            waits[number] = is_waiting
            changes.append((row["time"], row["account"] or "", 0.0, 1 if is_waiting else -1))
    return sorted(changes, key=lambda change: change[0])
