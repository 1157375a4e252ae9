"""Gangs that are ready and wait in a pool until any pod gets a node, as in mode `pfnet`: noted while a simulation runs.

In: the plugins of that mode of one scheduler, looked at whenever it has done something. Out: for the recorder, when a
gang enters the pool and when it leaves it, let in or not. Called by `SimScheduler`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from fairway.model.group import GroupKey
from fairway.plugins.pfnet_gang import PfnetGang
from fairway.record import Recorder
from fairway.record.vocabulary import PoolNote

__all__ = ["PoolWatch", "Watch", "watches_of"]


class Watch(Protocol):
    """Looks at a scheduler from outside."""

    def look(self) -> None:
        """The scheduler has finished what it was at."""


class PoolWatch:
    """Looks after the pools of one scheduler."""

    def __init__(self, plugins: Collection[PfnetGang], tell: Callable[[str, str, PoolNote, str], None]) -> None:
        """`tell` takes an event: kind, name, reason and words."""
        self._plugins = plugins
        self._tell = tell
        self._pooled: frozenset[GroupKey] = frozenset()

    def look(self) -> None:
        """The scheduler has finished what it was at."""
        pooled = frozenset(key for plugin in self._plugins for key in plugin.pool)
        if pooled == self._pooled:
            return
        for key in sorted(pooled - self._pooled, key=str):
            self._tell("Job", str(key), PoolNote.BEGUN, "all members are ready, and nobody gets a node")
        for key in sorted(self._pooled - pooled, key=str):
            self._tell("Job", str(key), PoolNote.OVER, "it was let in, or is not ready any more")
        self._pooled = pooled


def watches_of(
    deadlocks: Watch | None, plugins: Collection[PfnetGang], recorder: Recorder, now: Callable[[], float]
) -> list[Watch]:
    """The watch for deadlocks, if there is one; and one over the pools of these plugins, if a recorder listens."""
    watches: list[Watch] = [] if deadlocks is None else [deadlocks]
    if plugins and recorder.is_recording:
        watches.append(PoolWatch(plugins, lambda *event: recorder.event(now(), *event)))
    return watches
