"""Who answers questions about queues, as `api_routes` calls it.

In: a `LiveDesk`, and what somebody wants to know. Out: plain values. `explain` has the answers, which the command `run`
hands over; they look at the desk in the scheduler's loop, shortly, and are worked out beside it. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from fairway.live.batch.live_desk import LiveDesk

__all__ = ["LARGEST_QUESTION", "AskedQueues", "StartQuestion"]

LARGEST_QUESTION = 64 << 10
"""Bytes of a manifest, or of a size, that is asked about."""


class StartQuestion(NamedTuple):
    """When would this start?"""

    body: bytes
    queue: str | None = None  # where; None: as it says
    limit: str | None = None  # for how long; None: as it says


class AskedQueues(Protocol):
    """Answers; `UserError` for a question that makes no sense."""

    async def jobs(self, live: LiveDesk, query: Mapping[str, str]) -> dict[str, Any]:
        """The jobs that are meant: all, or one with all about it."""

    async def plan(self, live: LiveDesk) -> dict[str, Any]:
        """Who is promised what, who waits in which order, what is closed."""

    async def queues(self, live: LiveDesk) -> dict[str, Any]:
        """The queues, with their lights."""

    async def shares(self, live: LiveDesk) -> dict[str, Any]:
        """The tree of accounts and users."""

    async def when(self, live: LiveDesk, question: StartQuestion) -> dict[str, Any]:
        """When it would start."""

    async def why(self, live: LiveDesk, name: str) -> dict[str, Any] | None:
        """Why a job of a queue waits; None: no such job waits."""
