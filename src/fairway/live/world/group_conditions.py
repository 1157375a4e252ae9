"""Conditions of Kubernetes' own PodGroups: written until they are there, or there is nothing more to say.

In: what the condition of a group shall say, from `JobReports`; only the latest counts. Out: patches of
`podgroups/status`, each of the version that was seen last. One that comes too early for the watch, or crosses somebody
else's change, is refused by the API server and made anew: a group that has started is not tried again, so nothing else
would ever say so.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from typing import NamedTuple

from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.world.worker_pool import WorkerPool
from fairway.live.world.writing import WriteError, send
from fairway.model import PodGroup, to_builtins
from fairway.model.group import GroupKey
from fairway.model.pod_group import with_group_condition
from fairway.model.writes import patch_of

__all__ = ["GroupConditions", "WantedCondition"]

logger = logging.getLogger(__name__)
NUM_WORKERS = 4
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
NUM_TRIES = 10


class WantedCondition(NamedTuple):
    """What shall be said, and since when it is so."""

    type: str
    status: str
    reason: str
    message: str
    time: dt.datetime


class GroupConditions:
    """Writes them."""

    def __init__(self, api: ApiServer, clock: Clock, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._clock = clock
        self._may_write = may_write
        self.newest: Callable[[GroupKey], object | None] = lambda _: None
        self._wanted: dict[GroupKey, dict[str, WantedCondition]] = {}  # by group and type of condition
        self._pool: WorkerPool[GroupKey] = WorkerPool(NUM_WORKERS, self._write)

    @property
    def backlog(self) -> int:
        """Groups that wait for theirs."""
        return self._pool.backlog

    def write(self, key: GroupKey, wanted: WantedCondition) -> None:
        """Let the group's object say so, if it is one that can and does not yet."""
        known = self._wanted.get(key)
        if known is not None:
            known[wanted.type] = wanted
        elif self._changed(key, {wanted.type: wanted}) is not None:
            self._wanted[key] = {wanted.type: wanted}
            self._pool.submit(key)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    def _changed(self, key: GroupKey, wanted: dict[str, WantedCondition]) -> tuple[PodGroup, PodGroup] | None:
        """The group as it is and as it should be; None if there is nothing to write."""
        group = self.newest(key)
        if not isinstance(group, PodGroup):
            return None
        told = group
        for each in wanted.values():
            told = with_group_condition(told, *each) or told
        return None if told is group else (group, told)

    async def _write(self, key: GroupKey) -> None:
        delay, why = FIRST_DELAY, ""
        try:
            for _ in range(NUM_TRIES):
                wanted = dict(self._wanted[key])
                change = self._changed(key, wanted)
                if change is None or not self._may_write():
                    return
                group, told = change
                document = {"status": {"conditions": to_builtins(told.status.conditions)}}
                try:
                    await send(self._api, patch_of(group, document, "status"))
                except WriteError as error:
                    why = str(error)
                else:
                    if wanted == self._wanted[key]:
                        return
                await self._clock.sleep(delay)  # the watch may be behind
                delay = min(delay * 2, LONGEST_DELAY)
            logger.warning("PodGroup %s does not say how it is scheduled: %s", key, why)
        finally:
            del self._wanted[key]
