"""Exclusive nodes on a real cluster, where other schedulers know nothing of them.

In: the scheduler's view of the cluster, and word of what changes in it. Out: taints that agree with the pods on the
nodes, if a profile wants its nodes guarded so; and an event `ExclusivityBroken` for everybody who is on a node that
somebody else has to itself. It looks at how things are, not at how they came about: at the start, every 30 seconds, and
whenever something happens on such a node. So a restart, a lost write or a stale taint is put right by the next look.
Nothing is killed. That the taint is there before the first pod is bound, the plugin sees to (`pre_bind`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairway.cluster import Cluster, Event
from fairway.cluster.tallies.tenants import Tenants, intruders
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.watches.object_store import version_number
from fairway.live.world.events import EventWriter
from fairway.live.world.writing import WriteError, send
from fairway.model import Node, Pod
from fairway.model.tenant import tenant_of
from fairway.plugins.exclusive_guard import has_taint, taint_repairs
from fairway.plugins.exclusive_node import ExclusiveNode
from fairway.scheduler import Scheduler

__all__ = ["NodeGuard", "guard_of"]

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
RETRY_SECONDS = 1.0  # after a write that was refused, and until we lead


class NodeGuard:
    """Looks after the nodes of exclusive pods."""

    def __init__(
        self,
        api: ApiServer,
        cluster: Cluster,
        clock: Clock,
        events: EventWriter,
        may_write: Callable[[], bool],
        is_tainting: bool,
    ) -> None:
        """`is_tainting`: are nodes guarded by a taint, or people only told?"""
        self._api = api
        self._cluster = cluster
        self._clock = clock
        self._events = events
        self._may_write = may_write
        self._is_tainting = is_tainting
        self._tenants = cluster.tally(Tenants)
        self._news = asyncio.Event()
        self._written: dict[str, int] = {}  # by node: the version that our last patch led to
        self._told: set[str] = set()  # uids of pods that are where they should not be

    def saw(self, event: Event) -> None:
        """Something happened, and the cluster knows: is it of interest on an exclusive node?"""
        item = event.object
        if isinstance(item, Pod):
            name, is_ours = item.spec.node_name, self._cluster.wishes.is_exclusive(item)
        elif isinstance(item, Node):
            name, is_ours = item.metadata.name, has_taint(item)
        else:
            return
        if not is_ours and self._tenants.num_exclusive:
            row = self._cluster.nodes.row_of.get(name)
            is_ours = row is not None and self._tenants.is_exclusive(row)
        if is_ours:
            self._news.set()

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._remind())
            group.create_task(self._work())

    async def _remind(self) -> None:
        while True:
            await self._clock.sleep(SWEEP_SECONDS)
            self._news.set()

    async def _work(self) -> None:
        while True:
            is_done = self._may_write() and await self._sweep()
            if not is_done:
                await self._clock.sleep(RETRY_SECONDS)
                continue
            await self._news.wait()
            self._news.clear()

    async def _sweep(self) -> bool:
        """Make everything agree; False if that has to be tried again soon."""
        self._tell_intruders()
        if not self._is_tainting:
            return True
        is_done = True
        for patch in list(taint_repairs(self._cluster)):
            if version_number(patch.version) < self._written.get(patch.name, 0):
                continue  # the watch has not shown yet what we wrote; when it does, we look again
            if not self._may_write():
                return False
            try:
                self._written[patch.name] = await send(self._api, patch)
            except WriteError as error:
                logger.info("%s: %s", patch.title, error)
                is_done = False
        self._written = {name: number for name, number in self._written.items() if name in self._cluster.nodes.row_of}
        return is_done

    def _tell_intruders(self) -> None:
        """Say of each pod once that it is where somebody else is exclusive, or exclusive where somebody else is."""
        there: set[str] = set()
        for row in self._tenants.exclusive_rows():
            for late, early in intruders(self._cluster.pods, row):
                uid = late.pod.metadata.uid
                there.add(uid)
                if uid not in self._told:
                    owner, other = (early, late) if tenant_of(early.pod).scope else (late, early)
                    self._events.exclusivity_broken(owner.pod, other.pod, self._cluster.nodes.names[row])
        self._told = there


def guard_of(
    scheduler: Scheduler, api: ApiServer, clock: Clock, events: EventWriter, may_write: Callable[[], bool]
) -> NodeGuard | None:
    """The guard that the scheduler's profiles want; None if none of them knows exclusive nodes."""
    plugins = [plugin for profile in scheduler.profiles.values() for plugin in profile.plugins]
    exclusive = [plugin for plugin in plugins if isinstance(plugin, ExclusiveNode)]
    if not exclusive:
        return None
    is_tainting = any(plugin.args.guard == "taint" for plugin in exclusive)
    return NodeGuard(api, scheduler.cluster, clock, events, may_write, is_tainting)
