"""What is written down of a maintenance window or a reservation: its `status`, which outlives whoever wrote it.

In: what was seen and decided. Out: a `ClosingStatus`, which a desk writes through its world before it acts on it, and
which the next one finds. What follows from the spec and the time alone is here for readers; what does not is here so
that nobody forgets it: when it was made, the nodes it has, who was told, that it was freed or cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["ClosingKind", "ClosingStatus"]

ClosingKind = Literal["maintenance", "reservation"]


@dataclass(frozen=True, slots=True)
class ClosingStatus:
    """A window or a reservation as it is written down."""

    kind: ClosingKind
    name: str
    uid: str
    created: float  # by the world's clock
    phase: str = ""  # "": nobody has looked at it yet
    start: float | None = None  # of the occurrence that is now, or comes next; None: it is over
    end: float | None = None
    nodes: tuple[str, ...] = ()  # of a window that has not begun: those that it would have
    begun: float | None = None  # the start of the occurrence whose nodes these are, fixed; None: none has begun
    told: float | None = None  # the start of the occurrence that waiting jobs were told of
    jobs: tuple[str, ...] = ()  # that it is in the way of, and that were told
    words: str = ""  # what is in the way of a reservation
    is_freed: bool = False  # nobody used it
    is_cancelled: bool = False

    def moved(self, seconds: float) -> ClosingStatus:
        """The same by a clock that shows so much more."""
        start, end, begun, told = (
            None if time is None else time + seconds for time in (self.start, self.end, self.begun, self.told)
        )
        return replace(self, created=self.created + seconds, start=start, end=end, begun=begun, told=told)
