"""The periodic comparison of what is in memory with the API server: what differs is logged, counted and mended.

In: the watch, the scheduler, and a reason to look: time, or SIGUSR2 (`look_now`), which also writes down who waits, as
kube-scheduler's cache debugger does (backend/cache/debugger). Out: a warning and a count for each difference, and the
events that mend it, by the way on which all events come, so that waiting pods are woken. `service` runs one. First the
scheduler is compared with the watch (`belief`), then the watch with a fresh list (`fresh_list`); both in slices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from fairway.cluster import Event
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.watches.belief import FalseBelief, differences
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.fresh_list import confirm, suspects
from fairway.model import ApiObject, Node, Pod
from fairway.scheduler import Scheduler

__all__ = ["CacheCheck"]

logger = logging.getLogger(__name__)
KINDS: dict[type[ApiObject], str] = {Node: "node", Pod: "pod"}
SLICE = 250  # objects that are looked at before others have their turn
PATIENCE_SECONDS = 30.0  # with a watch that may only be late
MAX_NAMED = 100


class CacheCheck:
    """Looks now and then whether all is as it should be."""

    def __init__(
        self,
        api: ApiServer,
        watch: ClusterWatch,
        scheduler: Scheduler,
        clock: Clock,
        metrics: SchedulerMetrics,
        deliver: Callable[[Sequence[Event]], None],
        period_seconds: float,
    ) -> None:
        self._api = api
        self._watch = watch
        self._scheduler = scheduler
        self._clock = clock
        self._metrics = metrics
        self._deliver = deliver
        self._period = period_seconds
        self._wanted = asyncio.Event()

    def attend(self, scheduler: Scheduler) -> None:
        """Another scheduler decides from now on."""
        self._scheduler = scheduler

    def look_now(self) -> None:
        """Somebody wants to know: write down who waits, and compare at once."""
        queue = self._scheduler.queue
        waiting = [f"{place}: {queued.pod.key}" for place, pods in queue.pending()._asdict().items() for queued in pods]
        nodes, pods = len(self._scheduler.cluster.nodes.row_of), len(self._scheduler.cluster.pods)
        fields = {"nodes": nodes, "pods": pods, "num_waiting": len(waiting), "waiting": waiting[:MAX_NAMED]}
        logger.info("in memory", extra=fields)
        self._wanted.set()

    async def run(self) -> None:
        """Compare until cancelled; a period of 0: only when somebody wants it."""
        while True:
            waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._wanted.wait())]
            if self._period:
                waits.append(asyncio.ensure_future(self._clock.sleep(self._period)))
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            self._wanted.clear()
            if self._watch.is_synced:
                await self.compare()

    async def compare(self) -> int:
        """Look at everything once; returns how many differences there were."""
        num_found = await self._compare_belief()
        is_whole = True
        try:
            for kind, name in KINDS.items():
                num_differences = await self._compare_watch(kind, name)
                is_whole = is_whole and num_differences is not None
                num_found += num_differences or 0
        except LiveProblem as problem:
            is_whole = False
            logger.info("the cache could not be compared with a fresh list: %s", problem.why)
        if is_whole:
            self._metrics.compared()
            logger.debug("the cache was compared with the API server: %d differences", num_found)
        return num_found

    async def _compare_belief(self) -> int:
        stores = (self._watch.reflectors[Pod].store, self._watch.reflectors[Node].store)
        num_found = 0
        for number, difference in enumerate(differences(self._scheduler, *stores)):
            if difference is not None:
                num_found += 1
                self._tell(difference)
                self._deliver(difference.mending)
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        return num_found

    async def _compare_watch(self, kind: type[ApiObject], name: str) -> int | None:
        """How many differences there were; None if there was no list to compare with."""
        reflector = self._watch.reflectors[kind]
        found = await suspects(self._api, reflector)
        if not found:
            return None if found is None else 0
        await self._clock.sleep(PATIENCE_SECONDS)
        num_found = 0
        for suspect in found:
            what = await confirm(self._api, reflector, suspect)
            if what:
                num_found += 1
                self._tell(FalseBelief(f"{name}_{what}", suspect.key, "the watch has not told the truth of it", ()))
        return num_found

    def _tell(self, difference: FalseBelief) -> None:
        fields = {"difference": difference.kind, "object": difference.name}
        logger.warning("the cache differs from the API server: %s", difference.words, extra=fields)
        self._metrics.cache_differs(difference.kind)
