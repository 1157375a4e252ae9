"""`LiveScheduler`: the scheduler in a real cluster, from the first list to a clean end.

In: a connection, a configuration, and what belongs to a process (metrics, an election, a recorder). Out: scheduled
pods. The story is `run`: watch everything, wait until all of it is there, become the leader, decide in slices of a few
milliseconds between which events come in and requests go out, and on the way out finish what was begun. `process`
is the caller. All of it is one asyncio loop; elections and served requests have threads of their own, with theirs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from fairway.cluster import Cluster, Event
from fairway.config import Configuration
from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.extender import Extender
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Connection
from fairway.live.api.problems import LiveProblem
from fairway.live.batch.batch_service import BatchService
from fairway.live.batch.desk_hands import BatchParts
from fairway.live.cache_check import CacheCheck
from fairway.live.election import Election
from fairway.live.ledger.ledger import Ledger
from fairway.live.listener import Listener
from fairway.live.metrics.attempt_times import AttemptTimes
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.renewal import begin_anew
from fairway.live.shadow import ShadowWorld
from fairway.live.watches.cluster_watch import ClusterWatch
from fairway.live.watches.optional_kinds import optional_kinds
from fairway.live.watches.watched_kinds import WATCHED, WatchedKind
from fairway.live.world.live_world import LiveWorld, WorldSettings
from fairway.model import Pod
from fairway.queue import Place, QueuedPod, profile_name
from fairway.record import Scored, best_nodes
from fairway.scheduler import Scheduler

__all__ = ["LiveScheduler", "ServiceSettings"]

logger = logging.getLogger(__name__)


class ServiceSettings(NamedTuple):
    """How the service goes about it."""

    patience_seconds: float = 60.0  # with an API server that does not answer, or a list that does not come, at first
    slice_seconds: float = 0.004  # of deciding, until events and answers get their turn
    max_backlog: int = 256  # bindings under way; more decisions would only be staler
    compare_seconds: float = 300.0  # between comparisons of the cache with a fresh list; 0: only upon SIGUSR2
    farewell_seconds: float = 10.0  # for finishing what is under way
    watched: tuple[WatchedKind, ...] = WATCHED
    world: WorldSettings = WorldSettings()
    has_queues: bool = False  # of jobs, where the cluster has them
    ledger: Callable[[], Ledger] | None = None  # for the lines of their books
    scores: int = 0  # of so many of the best nodes listeners are told; each decision is looked at twice then


class LiveScheduler:
    """One scheduler process."""

    def __init__(  # noqa: PLR0913 - parts of a process are given by name; it runs without most of them
        self,
        connection: Connection,
        configuration: Configuration,
        clock: Clock,
        *,
        metrics: SchedulerMetrics | None = None,
        election: Election | None = None,
        extenders: Sequence[Extender] = (),
        settings: ServiceSettings | None = None,
        shadow: ShadowWorld | None = None,
    ) -> None:
        """`shadow`: the world to decide in, instead of the real one."""
        self._connection = connection
        self._clock = clock
        self._settings = settings or ServiceSettings()
        self.metrics = metrics or SchedulerMetrics()
        self.election = election
        self.listeners: list[Listener] = []
        self.watch = ClusterWatch(
            connection,
            clock,
            self._deliver,
            self._settings.watched,
            self._settings.patience_seconds,
            optional_kinds(configuration),
        )
        connection.on_request = self.metrics.request
        connection.on_wait = self.metrics.rate_limited
        self._news = asyncio.Event()
        self.world = shadow or self._real_world(connection, extenders)
        self._times = AttemptTimes(self.metrics)
        self._best: list[Scored] = []  # of the decision that is being made
        self._configuration, self._extenders = configuration, extenders
        self.batch = self._batch(connection, configuration) if self._settings.has_queues else None
        self.scheduler = self._new_scheduler()
        self.check = CacheCheck(
            connection, self.watch, self.scheduler, clock, self.metrics, self._deliver, self._settings.compare_seconds
        )
        self.on_synced: Callable[[], None] | None = None
        self._leads = False

    def _real_world(self, connection: Connection, extenders: Sequence[Extender]) -> LiveWorld:
        pods = self.watch.reflectors[Pod]
        world = LiveWorld(connection, pods, self._clock, self.metrics, self.is_leading, self._settings.world)
        world.extenders = extenders
        world.on_progress = self._news.set
        world.jobs.on_missing = self.watch.look_again
        return world

    def _batch(self, connection: Connection, configuration: Configuration) -> BatchService:
        parts = BatchParts.of(self.world, self.is_leading, self.world.now, self._settings.ledger, self.metrics)
        service = BatchService(connection, configuration, self._clock, self._deliver, parts)
        service.on_news = self._news.set
        self.watch.reflectors[Pod].line_observers.append(service.manifests.keep)
        return service

    def _new_scheduler(self) -> Scheduler:
        """With what there is of queues now."""
        desk = None if self.batch is None or self.batch.live is None else self.batch.live.desk
        scheduler = Scheduler(
            self._configuration if self.batch is None else self.batch.configuration(),
            self.world,
            look=self._look if self._settings.scores else None,
            attendant=desk,
            watch_queue=self._queue_moved,
            timer=self._times,
            extenders=self._extenders,
        )
        self.world.attach(scheduler)
        if self.batch is not None:
            self.batch.attend(scheduler)
        return scheduler

    @property
    def cluster(self) -> Cluster:
        """What is known."""
        return self.scheduler.cluster

    @property
    def is_synced(self) -> bool:
        """Is everything known that there is?"""
        return self.watch.is_synced

    # -- the story ---------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> bool:
        """Schedule until `stop` is set. True: a clean end; False: leadership was lost. Raises `LiveProblem`."""
        await self.watch.reach_server(stop)
        others = [self.world.run(), self._measure(), self.check.run()]
        if self.batch is not None:
            others.append(self.batch.run())
        return await self.watch.run_with(self._live(stop), *others)

    async def _live(self, stop: asyncio.Event) -> bool:
        await self.watch.sync(stop)
        if self.on_synced is not None:
            self.on_synced()
        num_nodes, num_pods = len(self.cluster.nodes.row_of), len(self.cluster.pods)
        logger.info("in sync: %d nodes, %d pods, %d waiting", num_nodes, num_pods, len(self.scheduler.queue))
        is_clean = stop.is_set() or await self._lead(stop)
        if is_clean:
            await self.world.finish(self._settings.farewell_seconds)
            if self.batch is not None:
                await self.batch.finish(self._settings.farewell_seconds)
            if self.election is not None:
                await self.election.release()
        return is_clean

    async def _lead(self, stop: asyncio.Event) -> bool:
        """Decide while we lead; says whether leadership was kept."""
        if self.election is None:
            self._leads = True
            await self._decide(stop)
            return True
        over = asyncio.Event()
        election = asyncio.ensure_future(self.election.run(stop, self._started))

        def ended(_: object) -> None:
            over.set()
            self._news.set()

        election.add_done_callback(ended)
        try:
            await self._until(over, lambda: self._leads)
            await self._decide(over)
            return await election
        finally:
            election.cancel()

    def _started(self) -> None:
        self._leads = True
        self._news.set()

    def is_leading(self) -> bool:
        """Do we decide?"""
        return self._leads and (self.election is None or self.election.is_leading())

    # -- deciding ----------------------------------------------------------------------------------------------------

    async def _decide(self, stop: asyncio.Event) -> None:
        """Decide in slices; between them, everything else has its turn."""
        settings = self._settings
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: self._news.set())
        try:
            while not stop.is_set():
                self._news.clear()
                if self.world.backlog < settings.max_backlog and self.is_leading():
                    if self.batch is not None and not await self._are_queues_known(self.batch):
                        continue
                    until_pass = None if self.batch is None else self.batch.look()
                    if self._decide_some() or until_pass == 0.0:
                        await asyncio.sleep(0)
                        continue
                    wakeup = self.scheduler.next_wakeup()
                    seconds = None if wakeup is None else max(wakeup - self.world.now(), 0.001)
                    if until_pass is not None:
                        seconds = until_pass if seconds is None else min(seconds, until_pass)
                else:
                    seconds = 1.0
                await self._wait_for_news(seconds)
        finally:
            stopping.cancel()

    async def _are_queues_known(self, batch: BatchService) -> bool:
        """Is it known whether there are queues? If they have come or gone, everything begins anew."""
        if batch.is_known and not batch.wants_change:
            return True
        seconds = 0.05  # until it is known; and what was decided before is to be seen first
        if batch.is_known and not self.world.num_assumed:
            try:
                await begin_anew(self, batch, self._clock, lambda: not self.is_leading())
            except LiveProblem as problem:
                logger.warning("queues can not be read: %s; trying again", problem.why)
                seconds = 1.0
        await self._wait_for_news(seconds)
        return False

    def renew(self) -> Scheduler:
        """Make another scheduler, which decides from now on."""
        self.scheduler = self._new_scheduler()
        self.check.attend(self.scheduler)
        return self.scheduler

    def _decide_some(self) -> bool:
        """Try pods for a few milliseconds; says whether there is more to try."""
        monotonic, scheduler = self._clock.monotonic, self.scheduler
        begun = monotonic()
        end = begun + (self._settings.slice_seconds if self.batch is None or self.batch.may_decide else 0.0)
        while begun < end:
            decision = scheduler.step()
            if decision is None:
                return False
            now = monotonic()
            if isinstance(decision, Decision):
                self._tell_decision(decision, now - begun)
            else:
                self._tell_group(decision, now - begun)
            begun = now
            if self.world.backlog >= self._settings.max_backlog:
                break
        return True

    def _tell_decision(self, decision: Decision, seconds: float) -> None:
        self._count(decision, seconds)
        best, self._best = self._best, []
        for listener in self.listeners:
            listener.decided(decision, seconds, best)

    def _tell_group(self, decision: GroupDecision, seconds: float) -> None:
        self._best = []  # members were looked at one by one, and not all of them
        profile, outcome = profile_name(decision.members[0].pod), decision.outcome.value
        self.metrics.group_attempt(
            profile, "unschedulable" if outcome == "preempting" else outcome, seconds, decision.num_backtracks
        )
        members = [member for one in (decision, *decision.companions) for member in one.members]
        for member in members:
            self._count(member, seconds / len(members))
        for listener in self.listeners:
            listener.group_decided(decision, seconds)

    def _count(self, decision: Decision, seconds: float) -> None:
        metrics, preemption = self.metrics, decision.preemption
        metrics.attempt(profile_name(decision.pod), decision.outcome.value, seconds)
        metrics.algorithm(seconds)
        self._times.attempt_ended(profile_name(decision.pod), decision)
        if preemption is not None and decision.outcome is not Outcome.SCHEDULED:
            metrics.preemption_tried()
            if preemption.chosen is not None:
                metrics.preempted(len(preemption.chosen.victims))

    def _look(self, profile: Profile, decision: Decision) -> None:
        """What every plugin says about every node the scheduler itself need not know."""
        if decision.outcome is Outcome.SCHEDULED:
            self._best = best_nodes(profile.inspect(decision.pod), self._settings.scores)

    async def _wait_for_news(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def _until(self, over: asyncio.Event, holds: Callable[[], bool]) -> None:
        while not over.is_set() and not holds():
            self._news.clear()
            await self._wait_for_news(None)

    # -- events ------------------------------------------------------------------------------------------------------

    def _deliver(self, events: Sequence[Event]) -> None:
        """Called by the reflectors, between decisions."""
        monotonic, scheduler, world, metrics = self._clock.monotonic, self.scheduler, self.world, self.metrics
        before = monotonic()
        for event in events:
            for listener in self.listeners:  # before anything comes of it
                listener.saw(event)
            if self.batch is not None:
                self.batch.observe(event)
            scheduler.observe(event)
            world.saw(event)
            now = monotonic()
            metrics.event_taken_in(event, now - before)
            before = now
        self._news.set()

    def _queue_moved(
        self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float
    ) -> None:
        self.world.queue_moved(queued, before, place, event, now)
        if before is place:  # the same gate, in other words: for people alone
            return
        self.metrics.queue_moved(queued, before, place, event, now)
        for listener in self.listeners:
            listener.queue_moved(queued, before, place, event, now)

    async def _measure(self) -> None:
        """Bring the gauges up to date, once a second."""
        while True:
            await self._clock.sleep(1.0)
            self.metrics.cache(len(self.cluster.nodes.row_of), len(self.cluster.pods), self.world.num_assumed)
            if self.batch is not None:
                self.batch.measure()
            if self.scheduler.jobs is not None:
                self.metrics.jobs(*self.scheduler.jobs.counts())
