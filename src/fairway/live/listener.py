"""Who wants to hear of everything that a live scheduler sees and decides.

Recorders, shadows and streams are such; `service` tells them, before anything comes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairway.cluster import Event
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.queue import Place, QueuedPod
from fairway.record import Scored

__all__ = ["Listener"]


class Listener(Protocol):
    """Who wants to hear of everything: a recorder, or somebody who compares."""

    def saw(self, event: Event) -> None:
        """Something happened; the scheduler hears of it next."""

    def decided(self, decision: Decision, seconds: float, best: Sequence[Scored] = ()) -> None:
        """An attempt was made, and took so long; `best` are the best nodes with their scores, if somebody looked."""

    def group_decided(self, decision: GroupDecision, seconds: float) -> None:
        """An attempt was made for a whole job; of its members nothing is told besides."""

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A waiting pod moved."""
