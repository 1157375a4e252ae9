"""What the desk said last to whoever wanted something of a job that may be refused: another limit, or to wait again.

In: nothing. Out: `OrderAnswer`, which is kept in the job's ledger and so is in its record, where commands and people
find it. Written by the duty of orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["OrderAnswer"]


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """What whoever wanted something of the job that may be refused was told last."""

    about: Literal["timeLimit", "requeueBefore"]
    asked: float  # seconds; of `requeueBefore` a time
    is_granted: bool
    time: float
    words: str = ""
    by_owner: bool = False
    limit: float = math.inf  # of a limit: what it was until then
    longest: float = math.inf  # of one that is refused: what would have been granted
    stopped_by: str = ""  # which kind of hindrance, as `extension` has them
    stopper: str = ""  # its name, if it has one
    stopped_at: float = math.inf  # when it would be in the way
    delayed: tuple[str, ...] = ()  # jobs that gave way
