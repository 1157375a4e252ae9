"""What a job costs: a function of its intervals, the same whenever and however often it is computed.

In: a job's `RunInterval`s, the account's weights, requests. Out: rates, intervals opened, closed and split, and
`ChargeLine`s: one for each interval, and a negative one beside it if that was lost to a cause of ours or of the
machines. Charges are whole thousandths of a unit, so that sums are exact in any order; line numbers depend on the
interval alone, so that a line that is written twice is the same line. Called by the desk and the books.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from fairway.batch.job import BilledJob, RunInterval
from fairway.batch.usage import billed_rate
from fairway.model.batch import AccountSpec

__all__ = [
    "MILLI",
    "ChargeLine",
    "LineKind",
    "RefundCause",
    "change_rate",
    "charge_between",
    "charge_lines",
    "close_interval",
    "job_rate",
    "open_interval",
    "refund_last_run",
    "total_charge",
    "unwatched_end",
]

MILLI: Final = 1000
"""Charges are counted in thousandths of a unit."""

Intervals = tuple[RunInterval, ...]


class LineKind(enum.StrEnum):
    """What a line does to the account."""

    RUN = "run"
    REFUND = "refund"


class RefundCause(enum.StrEnum):
    """What a run can be lost to that its user does not pay for."""

    NODE_LOST = "NodeLost"
    PREEMPTED = "Preempted"
    MAINTENANCE = "Maintenance"  # a window of mode kill
    OUR_ERROR = "OurError"


class ChargeLine(msgspec.Struct, frozen=True, gc=False):
    """One line of the books; (uid, number) is there once."""

    job: BilledJob
    number: int
    start: float
    end: float
    rate: float  # units a second
    charge: int  # thousandths of a unit; negative: given back
    kind: LineKind
    reason: str = ""
    is_uncertain: bool = False


# -- rates -----------------------------------------------------------------------------------------------------------


def job_rate(
    account: AccountSpec, requests: Iterable[Mapping[str, int]], nodes: Iterable[Mapping[str, int]] | None = None
) -> float:
    """Units a second that a job costs, by its members' requests; `nodes`: what those have that it has to itself."""
    total: dict[str, int] = {}
    for amounts in requests if nodes is None else nodes:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return billed_rate(total, account.weights, account.billing)


# -- intervals -------------------------------------------------------------------------------------------------------


def open_interval(intervals: Intervals, now: float, rate: float, nodes: tuple[str, ...] = ()) -> Intervals:
    """With one that begins now; none, if one is open already."""
    if intervals and intervals[-1].end == math.inf:
        return intervals
    # A clock that was set back must not make two intervals overlap.
    start = max(now, intervals[-1].end) if intervals else now
    return (*intervals, RunInterval(start, math.inf, rate, nodes))


def close_interval(intervals: Intervals, now: float, *, is_uncertain: bool = False) -> Intervals:
    """With the open one closed; never before it began."""
    if not intervals or intervals[-1].end < math.inf:
        return intervals
    last = intervals[-1]
    return (*intervals[:-1], replace(last, end=max(last.start, now), is_uncertain=last.is_uncertain or is_uncertain))


def change_rate(
    intervals: Intervals, now: float, rate: float, nodes: tuple[str, ...] | None = None, *, is_uncertain: bool = False
) -> Intervals:
    """With another rate, or other nodes, from now on: what was until now stays as it was."""
    if not intervals or intervals[-1].end < math.inf:
        return intervals
    last = intervals[-1]
    nodes = last.nodes if nodes is None else nodes
    if (rate, nodes) == (last.rate, last.nodes):
        return intervals
    if now <= last.start:
        return (*intervals[:-1], replace(last, rate=rate, nodes=nodes))
    return open_interval(close_interval(intervals, now, is_uncertain=is_uncertain), now, rate, nodes)


def unwatched_end(last_renewal: float, now: float, told_finish: float | None = None) -> float:
    """When something ended that ended while nobody led: when it says so, if it still tells, else when it was last seen.

    Either is uncertain: an interval that is closed then says so. What nobody saw is not charged.
    """
    return min(last_renewal if told_finish is None else told_finish, now)


def refund_last_run(intervals: Intervals, cause: RefundCause) -> Intervals:
    """With all given back that the job did since it last started; what it did before that is not lost by this."""
    first = last_run(intervals)
    return (*intervals[:first], *(replace(each, refund=each.refund or cause.value) for each in intervals[first:]))


def last_run(intervals: Sequence[RunInterval]) -> int:
    """Where the last run begins: changes of the rate split a run, and leave no gap."""
    first = max(len(intervals) - 1, 0)
    while first and intervals[first - 1].end == intervals[first].start:
        first -= 1
    return first


# -- charges ---------------------------------------------------------------------------------------------------------


def charge_between(interval: RunInterval, since: float, until: float) -> int:
    """Thousandths of a unit that are due between two times; parts of an interval add up to the whole of it."""
    return _due(interval, until) - _due(interval, since)


def _due(interval: RunInterval, time: float) -> int:
    seconds = min(interval.end, time) - interval.start
    return round(seconds * interval.rate * MILLI) if seconds > 0 else 0


def charge_lines(job: BilledJob, intervals: Sequence[RunInterval], now: float) -> Iterator[ChargeLine]:
    """The lines of a job, what runs up to now. An interval of no length has none."""
    for index, each in enumerate(intervals):
        end = min(each.end, now)
        if end <= each.start:
            continue
        charge = _due(each, now)
        run = ChargeLine(
            job, 2 * index, each.start, end, each.rate, charge, LineKind.RUN, is_uncertain=each.is_uncertain
        )
        yield run
        if each.refund:
            yield replace(run, number=2 * index + 1, charge=-charge, kind=LineKind.REFUND, reason=each.refund)


def total_charge(intervals: Iterable[RunInterval], now: float) -> int:
    """What is due for all of it by now: the sum of its lines."""
    return sum(_due(each, now) for each in intervals if not each.refund)
