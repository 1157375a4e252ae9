"""Everything that is watched, together: from an API server that answers to a cluster that is known, and kept so.

In: a connection. Out: `deliver` gets all objects at once, sorted by kind with pods last, when the last list is
complete, and from then on events as they happen. Used by `service`, by recordings, and by commands that look at a
cluster once (`read_objects`). Credentials that are not good enough are an error at once; a server that does not answer
is waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from fairway.cluster import Event
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Connection
from fairway.live.api.problems import Forbidden, Unauthorized, Unreachable
from fairway.live.watches.group_watch import GroupWatch, group_watches
from fairway.live.watches.optional_kinds import OptionalKind
from fairway.live.watches.watch import Reflector
from fairway.live.watches.watched_kinds import WATCHED, WatchedKind
from fairway.model import ApiObject, Pod

__all__ = ["ClusterWatch", "read_objects"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
PATIENCE_SECONDS = 60.0


class ClusterWatch:
    """One reflector for each kind; kinds that a cluster may lack (`optional`) come and go by themselves."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        deliver: Callable[[Sequence[Event]], None],
        watched: Sequence[WatchedKind] = WATCHED,
        patience_seconds: float = PATIENCE_SECONDS,
        optional: Sequence[OptionalKind] = (),
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._deliver = deliver
        self._patience = patience_seconds
        kinds = [*(one.kind for one in optional), *(one.kind for one in watched)]
        self._order = {kind: place for place, kind in enumerate(kinds)}
        self._early: list[Event] | None = []  # what came before everything was there
        self.reflectors = {kind.kind: Reflector(connection, kind, self._hear, clock) for kind in watched}
        self._groups = group_watches(connection, optional, self._hear, clock)

    @property
    def is_synced(self) -> bool:
        """Was everything listed, and handed on?"""
        return self._early is None

    def pods(self) -> list[Pod]:
        """All pods that the watch has told of."""
        return [pod for pod in self.reflectors[Pod].store if isinstance(pod, Pod)]

    def objects(self) -> list[ApiObject]:
        """Everything, as it is now."""
        optional = [thing for group in self._groups for thing in group.objects()]
        return [*optional, *(thing for reflector in self.reflectors.values() for thing in reflector.store)]

    async def run_with(self, story: Coroutine[Any, Any, T], *others: Coroutine[Any, Any, None]) -> T:
        """Watch while the story lasts; `others` run as long, and a failure of any of them is a failure of all."""
        watches: list[Reflector | GroupWatch] = [*self.reflectors.values(), *self._groups]
        parts = (*(watch.run() for watch in watches), *others)
        tasks = [asyncio.ensure_future(part) for part in parts]
        told = asyncio.ensure_future(story)
        try:
            done, _ = await asyncio.wait([told, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if told not in done:  # a part that should run for ever has failed
                done.pop().result()
            return await told
        finally:
            for task in (told, *tasks):
                task.cancel()
            await asyncio.gather(told, *tasks, return_exceptions=True)

    async def reach_server(self, stop: asyncio.Event) -> None:
        """Wait for an API server that answers; raises `Unreachable` when it does not for too long."""
        deadline = self._clock.monotonic() + self._patience
        delay = 0.2
        while not stop.is_set():
            try:
                await self._connection.check()
            except Unreachable as problem:
                if problem.is_lasting or self._clock.monotonic() + delay > deadline:
                    raise
                logger.warning("%s: %s; trying again", problem.what, problem.why)
            else:
                return
            await self._clock.sleep(delay)
            delay = min(delay * 2, 5.0)

    async def sync(self, stop: asyncio.Event) -> None:
        """Wait until every kind has been listed once, and hand everything on."""
        deadline = self._clock.monotonic() + self._patience
        missing: list[Reflector | GroupWatch] = [*self.reflectors.values(), *self._groups]
        while missing and not stop.is_set():
            for watch in missing:
                problem = watch.problem
                if isinstance(problem, Forbidden | Unauthorized):
                    raise problem
                if self._clock.monotonic() > deadline:
                    raise problem or Unreachable(self._connection.url, f"no list of {watch.path}")
            await self._clock.sleep(0.02)
            missing = [watch for watch in missing if not watch.is_settled]
        early, self._early = self._early or [], None
        self._deliver(sorted(early, key=lambda event: self._order[type(event.object)]))

    def look_again(self) -> None:
        """Somebody speaks of objects that are not known: a kind may be served by now."""
        for group in self._groups:
            group.look_again()

    def _hear(self, events: list[Event]) -> None:
        if self._early is None:
            self._deliver(events)
        else:
            self._early += events


async def read_objects(
    connection: Connection,
    clock: Clock,
    watched: Sequence[WatchedKind] = WATCHED,
    patience_seconds: float = 15.0,
    optional: Sequence[OptionalKind] = (),
) -> list[ApiObject]:
    """Everything the scheduler would know about a cluster, read once."""
    stop = asyncio.Event()
    watch = ClusterWatch(connection, clock, lambda events: None, watched, patience_seconds, optional)
    await watch.reach_server(stop)
    await watch.run_with(watch.sync(stop))
    return watch.objects()
