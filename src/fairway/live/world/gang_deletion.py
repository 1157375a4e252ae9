"""Gangs that are deleted together, as mode `pfnet` does where it was allowed to (`deleteTogether: true`).

In: pod events, after the scheduler has heard of them. Out: deletions of a gang's members, as soon as one of them is
being deleted, each of that very pod; what the API server refuses is logged and left. Called by `LiveWorld`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from fairway.cluster import Event, Verb
from fairway.live.api.api_server import ApiServer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.world.worker_pool import WorkerPool
from fairway.model import Pod
from fairway.plugins.pfnet_gang import PfnetGang
from fairway.queue import profile_name
from fairway.scheduler import Scheduler

__all__ = ["GangDeletion", "deletion_of"]

logger = logging.getLogger(__name__)

NUM_WORKERS = 4
DONE = (200, 202, 404, 409)  # the last two: it is gone, or another of its name is there


class GangDeletion:
    """Deletes members of gangs because another one goes."""

    def __init__(self, api: ApiServer, plugins: dict[str, PfnetGang], may_write: Callable[[], bool]) -> None:
        self._api = api
        self._plugins = plugins
        self._may_write = may_write
        self._under_way: set[str] = set()  # uids
        self._pool: WorkerPool[tuple[Pod, Pod]] = WorkerPool(NUM_WORKERS, self._delete)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    def saw(self, event: Event) -> None:
        """Something happened, and the cluster knows: does a gang go?"""
        item = event.object
        if not isinstance(item, Pod):
            return
        if event.verb is Verb.DELETED:
            self._under_way.discard(item.metadata.uid)
            return
        plugin = self._plugins.get(profile_name(item)) if item.is_terminating and self._may_write() else None
        for other in [] if plugin is None else plugin.deleted_with(item):
            if other.metadata.uid not in self._under_way:
                self._under_way.add(other.metadata.uid)
                self._pool.submit((other, item))

    async def _delete(self, wanted: tuple[Pod, Pod]) -> None:
        pod, first = wanted
        if not self._may_write():
            self._under_way.discard(pod.metadata.uid)
            return
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": pod.metadata.uid}}
        path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
        try:
            answer = await self._api.request("DELETE", path, body=msgspec.json.encode(options))
            why = "" if answer.status in DONE else f"{answer.status} {status_message(answer.body)}"
        except LiveProblem as problem:
            why = problem.why
        if why:
            self._under_way.discard(pod.metadata.uid)  # the next event of a member asks again
            logger.warning("pod %s could not be deleted with %s of its gang: %s", pod.key, first.key, why)
        else:
            logger.info("pod %s is deleted with %s of its gang", pod.key, first.key)


def deletion_of(scheduler: Scheduler, api: ApiServer, may_write: Callable[[], bool]) -> GangDeletion | None:
    """What the scheduler's profiles want and may; None if none of them does."""
    plugins = {
        name: plugin
        for name, profile in scheduler.profiles.items()
        if profile.gangs is not None and profile.gangs.delete_together
        for plugin in profile.plugins
        if isinstance(plugin, PfnetGang)
    }
    return GangDeletion(api, plugins, may_write) if plugins else None
