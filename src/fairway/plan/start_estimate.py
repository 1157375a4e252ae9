"""When a job will start: three dates and what they rest on.

In: nothing. Out: `StartEstimate`, a value that `forecast` makes, `calibration` judges, and records, tables and commands
show. An infinite date is later than the plan looks ahead. Times are those of the clock of whoever asked.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["Basis", "StartEstimate", "Way", "has_moved"]

LEAST_MOVE: Final = 60.0
MOVE_SHARE: Final = 0.1


class Way(enum.StrEnum):
    """How the likely date was found."""

    PLAYED = "played"  # the discipline played forward, with predicted run times
    PLANNED = "planned"  # slots in order, with predicted run times: too much was waiting to be played to its end
    LIMITS = "limits"  # neither found one within the horizon: the date by limits, if there is one
    NONE = "none"  # behind more jobs than are looked at


class Basis(NamedTuple):
    """What an estimate rests on."""

    way: Way
    num_starts: int  # of the queue, from which the safe date is made; below twenty it is the date by limits
    safe_held: float | None  # the share of these by whose safe date the job had started


@dataclass(frozen=True, slots=True)
class StartEstimate:
    """When a job will start, as of a time."""

    as_of: float
    likely: float
    safe: float  # not before `likely`; nearly always it will have started by then
    by_limits: float  # if nobody ends before the limit, and nobody passes
    is_promised: bool  # `by_limits` is a bound that later arrivals can not move
    basis: Basis
    ahead_jobs: int  # of the same queue
    ahead_cpu: int
    ahead_gpu: int
    nodes: tuple[int, ...] = ()  # rows of the plan, where it will be placed if nothing changes


def has_moved(before: StartEstimate, after: StartEstimate) -> bool:
    """Is a new estimate worth telling? By more than a minute and a tenth of the lead, or it is promised now."""
    if before.is_promised != after.is_promised:
        return True
    for former, latter in (
        (before.likely, after.likely),
        (before.safe, after.safe),
        (before.by_limits, after.by_limits),
    ):
        if former == latter:
            continue
        if math.inf in (former, latter):
            return True
        if abs(latter - former) > max(LEAST_MOVE, MOVE_SHARE * (former - after.as_of)):
            return True
    return False
