"""Queues of jobs come and go: as our kinds are served or not, as we lead or not, as others write or not.

In: a connection, and the scheduler's service that asks (`wants_change`) whether it has to begin anew. Out: a `LiveDesk`
made from what the server has, accounts read before records, with every object of ours that changes told to it; passes
in slices between decisions (`look`); and what the desk writes and wants done, sent. Without our kinds there is no desk,
and nothing is done. What a process knows of jobs besides the server is worth nothing: upon any doubt it begins anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from fairway.batch.job import JobRecord
from fairway.batch.upkeep.wall_time import follow_wall
from fairway.cluster import Event, Verb
from fairway.config import Configuration
from fairway.config.planned_profiles import with_queues
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Connection
from fairway.live.api.pages import list_pages
from fairway.live.api.problems import Unreachable, status_message
from fairway.live.batch.catalogue import Catalogue, ObjectProblem, read_catalogue
from fairway.live.batch.clock_watch import ClockWatch
from fairway.live.batch.desk_hands import BatchParts, DeskHands
from fairway.live.batch.desk_meter import DeskMeter
from fairway.live.batch.desk_parts import DeskParts
from fairway.live.batch.job_actions import JobActions
from fairway.live.batch.ledger_entries import LedgerEntries
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.batch.live_passes import LivePasses
from fairway.live.batch.manifests import PodManifests
from fairway.live.batch.object_conditions import with_condition
from fairway.live.batch.objects import (
    BATCH_KINDS,
    AccountObject,
    BatchObject,
    JobRecordObject,
    QueueObject,
    ReservationObject,
    WindowObject,
    object_path,
)
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.live.batch.own_rights import may
from fairway.live.batch.record_codec import orders_of
from fairway.live.batch.record_store import key_of
from fairway.live.watches.group_watch import GroupWatch, group_watches
from fairway.live.watches.optional_kinds import GROUPED, optional_kinds
from fairway.model import ApiObject, Pod
from fairway.plugins.registry import PLANNING, TAINTED
from fairway.scheduler import Scheduler

__all__ = ["BatchService"]

logger = logging.getLogger(__name__)

OPERATED: Final = (QueueObject, AccountObject, WindowObject, ReservationObject)


class BatchService:
    """The queues of one process."""

    def __init__(
        self,
        connection: Connection,
        configuration: Configuration,
        clock: Clock,
        deliver: Callable[[Sequence[Event]], None],
        parts: BatchParts,
    ) -> None:
        """`deliver`: where events of groups and controllers go, of which some are told there already."""
        self._api = connection
        self._configuration = configuration
        self._clock = clock
        self._parts = parts
        self._profiles = {profile.scheduler_name for profile in configuration.profiles}
        self._watch = GroupWatch(connection, BATCH_KINDS, self._heard, clock)
        known = {kind.api_version for kind in optional_kinds(configuration)}
        self._others = group_watches(
            connection, [kind for kind in GROUPED if kind.api_version not in known], deliver, clock
        )
        self._are_followed = asyncio.Event()  # are groups and controllers watched?
        self.place: Callable[[], dict[str, str]] = (
            dict  # where this scheduler answers questions, for its queues' status
        )
        self.manifests = PodManifests()  # of pods that may have to be made anew
        self.live: LiveDesk | None = None
        self.had_desk = False  # was there ever one?
        self._wall = ClockWatch(clock, parts.now)
        self.passes: LivePasses | None = None
        self._outbox: Outbox | None = None
        self._hands: DeskHands | None = None
        self._parts_at_work = DeskParts()
        self._is_doubtful = False
        self._told: dict[str, str] = {}  # by uid: what is wrong with an object
        self._meter: DeskMeter | None = None
        self.on_news: Callable[[], None] = lambda: None

    # -- is there a desk? ----------------------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """Is it known whether there are queues?"""
        return self._watch.is_settled

    @property
    def is_served(self) -> bool:
        """Does the cluster have queues?"""
        return self._watch.is_served

    @property
    def wants_change(self) -> bool:
        """Has everything to begin anew, with a desk or without?"""
        return self._is_doubtful or self._watch.is_served != (self.live is not None)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.run())
            group.create_task(self._follow(group))
            group.create_task(self._tick())
            group.create_task(self._parts_at_work.watch())

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        """Groups and controllers are watched from when there are queues."""
        while not self._watch.is_served:
            await self._clock.sleep(0.05)
        for watch in self._others:
            group.create_task(watch.run())
        self._are_followed.set()

    async def _tick(self) -> None:
        """Whoever waits for news looks at us, too; and nobody sets the clock unseen."""
        served = False
        while True:
            await self._clock.sleep(0.5)
            if (words := self._wall.look()) and self._hands is not None:
                logger.warning(words)
                self._hands.tell_queues("ClockStepped", words)
            if self.live is not None and self.live.desk.wall_offset != self._wall.offset:
                self._follow_wall(self.live)
            if served != self._watch.is_served:
                served = self._watch.is_served
                self.on_news()

    def _follow_wall(self, live: LiveDesk) -> None:
        if self.passes is not None:
            self.passes.give_up()
        follow_wall(live.desk, self._wall.offset)
        self._reread(live)  # queues that were open again may not be
        self.on_news()

    def objects(self) -> list[ApiObject]:
        """Groups and controllers that nobody else watches."""
        return [thing for watch in self._others for thing in watch.objects()]

    def configuration(self) -> Configuration:
        """That of the scheduler: with queues, if there are any."""
        if self.live is None:
            return self._configuration
        has_taints = any(queue.nodes.protect == "taint" for queue in self.live.desk.settings.queues.values())
        plugins = {**PLANNING, **TAINTED} if has_taints else PLANNING
        return with_queues(self._configuration, self._profiles, plugins)

    def measure(self) -> None:
        """Bring the gauges up to date."""
        if self._parts.metrics is not None:
            self._parts.metrics.books_behind(0 if self.live is None else self.live.books.num_unsettled)
        if self._meter is not None:
            self._meter.measure()

    async def open(self) -> LiveDesk | None:
        """The desk, made from what the server has now; None: there are no queues. Raises `LiveProblem`."""
        await self.close()
        if not self._watch.is_served:
            logger.info("there are no queues of jobs any more: %s is not served", "fairway.dev")
            return None
        await self._are_followed.wait()
        while not all(watch.is_settled for watch in self._others):
            await self._clock.sleep(0.02)
        # The account before its records: see `fairway.batch.accounts.books`.
        accounts = await self._list(AccountObject)
        records = await self._list(JobRecordObject)
        operated = [thing for thing in self._watch.objects() if isinstance(thing, OPERATED)]
        catalogue = read_catalogue(operated, self._profiles)
        if self._parts.events is not None:
            self.manifests.may_create = await may(self._api, "create", "pods")
        outbox = Outbox(self._api, self._clock, self._parts.may_write, sends=self._parts.events is not None)
        hands = DeskHands(self._api, self._clock, outbox, self._parts, min(self._profiles), self.manifests)
        offset = self._wall.offset
        live = hands.live = LiveDesk(catalogue.settings, outbox, self._parts.now, hands, self.manifests, offset)
        live.place = self.place
        parts: list[Outbox | JobActions | LedgerEntries] = [outbox, hands.actions]
        if self._parts.ledger is not None:
            entries = LedgerEntries(self._parts.ledger(), self._clock, self._parts.may_write)
            entries.on_differs, entries.on_behind = live.differs, hands.tell_behind
            live.books.keep_ledger(entries)
            parts.append(entries)
        problems = live.books.load(
            [each for each in accounts if isinstance(each, AccountObject)],
            [each for each in records if isinstance(each, JobRecordObject)],
        )
        for problem in problems:
            logger.error("a record can not be read, and is left alone: %s", problem)
        for thing in operated:
            live.learn(thing)
        outbox.on_confirmed = lambda key, payload: self._confirmed(outbox, live, key, payload)
        outbox.on_conflict = self._doubt
        self.live, self._outbox, self._hands, self.had_desk = live, outbox, hands, True
        self.passes = LivePasses(live, self._clock)
        if self._parts.metrics is not None:
            self._meter = DeskMeter(live, self._parts.metrics.desk)
            live.on_written, self.passes.on_pass = self._meter.written, self._meter.passed
        self._parts_at_work.start(parts)
        self._tell_problems(catalogue)
        logger.info("queues of jobs are on: %d queues, %d records", len(catalogue.settings.queues), len(records))
        return live

    async def close(self) -> None:
        """Write nothing more."""
        self._is_doubtful = False
        await self._parts_at_work.stop()
        self.live = self._outbox = self._hands = self.passes = None
        if self._meter is not None:
            self._meter.close()
            self._meter = None

    async def finish(self, seconds: float) -> None:
        """Let what was put be written, for so long."""
        deadline = self._clock.monotonic() + seconds
        while self._outbox is not None and self._outbox.backlog and self._clock.monotonic() < deadline:
            await self._clock.sleep(0.02)
        await self.close()

    def attend(self, scheduler: Scheduler) -> None:
        """The scheduler whose pods wait in queues."""
        self.manifests.groups = scheduler.cluster.groups
        if self.live is not None and self._hands is not None:
            self.live.desk.attend(scheduler)
            self.live.desk.book.sayings.makes_pods = self.manifests.may_create
            self._hands.scheduler = scheduler

    def _doubt(self, why: str) -> None:
        logger.warning("%s: what is known of jobs is read again", why)
        self._is_doubtful = True
        self.on_news()

    async def _list(self, kind: type[BatchObject]) -> list[BatchObject]:
        """All objects of a kind, as the server itself has them."""
        found: list[BatchObject] = []
        async for page in list_pages(self._api, object_path(kind)):
            if not page.is_list:
                why = f"{object_path(kind)}: {status_message(page.answer.body)}"
                raise Unreachable(self._api.url, why)
            found += [msgspec.convert(item, kind) for item in page.items]
        return found

    # -- what happens to objects of ours -------------------------------------------------------------------------------

    def _heard(self, events: list[Event]) -> None:
        live = self.live
        if live is None:
            self.on_news()
            return
        is_operated = False
        for verb, thing in events:
            if isinstance(thing, JobRecordObject) and verb is not Verb.DELETED:
                self._heed(live, thing)
            elif verb is Verb.DELETED:
                live.unlearn(thing)
            elif not isinstance(thing, JobRecordObject):
                live.learn(thing)
            is_operated |= isinstance(thing, OPERATED)
        if is_operated:
            self._reread(live)
        self.on_news()

    def _heed(self, live: LiveDesk, thing: JobRecordObject) -> None:
        """Operators may want something else of the job."""
        job = live.job_of(key_of(thing))
        if job is not None and (orders := orders_of(thing)) != job.orders:
            live.desk.ordering.heed(job, orders)

    def _reread(self, live: LiveDesk) -> None:
        """Queues, accounts, windows or reservations are others; only their statuses, if settings are the same."""
        before = live.desk.settings
        operated = [thing for thing in self._watch.objects() if isinstance(thing, OPERATED)]
        catalogue = read_catalogue(operated, self._profiles, before)
        settings = catalogue.settings.as_of(live.now(), live.desk.epoch)
        if settings != before:
            taints = [any(queue.nodes.protect == "taint" for queue in each.queues.values())
                      for each in (before, settings)]  # fmt: skip
            if self.passes is not None:
                self.passes.give_up()
            live.change(settings)
            if taints[0] != taints[1]:
                self._doubt("queues guard their nodes otherwise")
        self._tell_problems(catalogue)

    def _tell_problems(self, catalogue: Catalogue) -> None:
        wrong = {each.object.metadata.uid: each for each in catalogue.problems}
        for uid, problem in wrong.items():
            if self._told.get(uid) != problem.words:
                self._told[uid] = problem.words
                logger.warning("%s is left out: %s", key_of(problem.object).title, problem.words)
                self._accept(problem, is_good=False)
        for uid in [uid for uid in self._told if uid not in wrong]:
            del self._told[uid]
            for thing in self._watch.objects():
                if isinstance(thing, BatchObject) and thing.metadata.uid == uid:
                    self._accept(ObjectProblem(thing, ""), is_good=True)

    def _accept(self, problem: ObjectProblem, *, is_good: bool) -> None:
        """Say in the object whether it is used."""
        thing, outbox = problem.object, self._outbox
        if outbox is None or self._hands is None or key_of(thing) not in outbox.known:
            return
        status = with_condition(outbox.known[key_of(thing)].status, is_good, problem.words, self._clock.now())
        outbox.put(key_of(thing), status)
        if not is_good:
            self._hands.tell_object(key_of(thing), "Invalid", problem.words, is_warning=True)

    def _confirmed(self, outbox: Outbox, live: LiveDesk, key: ObjectKey, payload: object) -> None:
        if live.books.confirmed(key, payload):
            outbox.let_go(key)
        elif isinstance(payload, JobRecord) and payload.ledger.is_final:
            self.on_news()  # it can be settled, and nobody else may ever wake us

    # -- deciding ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """To be told before the scheduler is."""
        if self.live is not None:
            self.live.desk.observe(event)
            if self._hands is not None and event.verb is Verb.ADDED and isinstance(event.object, Pod):
                self._hands.see(event.object)

    @property
    def may_decide(self) -> bool:
        """May anybody be placed now?"""
        return self.passes is None or self.passes.may_decide

    def look(self) -> float | None:
        """Work on a pass if it is time; says in how many seconds to look again, None: when something happens."""
        return None if self.passes is None else self.passes.look()
