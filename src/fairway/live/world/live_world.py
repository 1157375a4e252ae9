"""The real cluster as the scheduler's world: decisions go out as requests, many at a time.

In: what `fairway.scheduler.Scheduler` wants done (`bind`, `evict`, `report`), and what became of it. Out: bindings,
deletions, conditions and events, sent by the parts that this class holds together; to the scheduler, `binding_failed`.
Nothing here waits: requests are handed to workers, which `run` keeps going. `service` makes one.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairway.cluster import Event, Verb
from fairway.cluster.held_pods import HeldPod, Settled
from fairway.cycle import Decision, Outcome
from fairway.cycle.extender import Extender
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.extenders.http_extender import bind_through
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.watches.watch import Reflector
from fairway.live.world.assumed import AssumedPods
from fairway.live.world.binding import Binder, BindingSettings
from fairway.live.world.conditions import StatusWriter, WantedStatus
from fairway.live.world.events import EventWriter
from fairway.live.world.eviction import Evictor
from fairway.live.world.node_guard import NodeGuard, guard_of
from fairway.live.world.pod_reader import PodReader
from fairway.live.world.pre_bind import PodPreparations
from fairway.live.world.writing import Writer
from fairway.model import Pod, PodGroup, to_builtins
from fairway.model.pod_group import with_group_condition
from fairway.model.writes import patch_of
from fairway.plugin import Notice, Write
from fairway.plugins.volume_binding import VolumeBinding
from fairway.queue import Place, QueuedPod
from fairway.record.vocabulary import HoldNote
from fairway.scheduler import Scheduler
from fairway.words import plugin_text

__all__ = ["LiveWorld", "WorldSettings"]

logger = logging.getLogger(__name__)

QUIET_GATES = frozenset({"SchedulingGates", "DefaultPreemption"})
"""Plugins whose refusal to let a pod into the queue is no news: the pod's status says already what it waits for."""

A_MOMENT = 2.0


class WorldSettings(NamedTuple):
    """How the world is dealt with."""

    binding: BindingSettings = BindingSettings()
    confirm_seconds: float = 15.0  # how long a bound pod may stay unseen by the watch


class LiveWorld:
    """A `fairway.scheduler.World`."""

    def __init__(
        self,
        api: ApiServer,
        pods: Reflector,
        clock: Clock,
        metrics: SchedulerMetrics,
        is_leading: Callable[[], bool],
        settings: WorldSettings | None = None,
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._is_leading = is_leading
        self._settings = settings or WorldSettings()
        self._anchor = clock.now() - clock.monotonic()
        self._scheduler: Scheduler | None = None
        self._leaving: QueuedPod | None = None  # who left the queue last
        self._under_way: dict[str, QueuedPod | None] = {}  # by uid: bindings, and whom to measure
        self.extenders: Sequence[Extender] = ()
        self.on_progress: Callable[[], None] | None = None
        self.on_note: Callable[[Pod, str, str], None] | None = None  # told what becomes of pods that are held
        self.on_bound: list[Callable[[Pod, str], None]] = []
        self._preparing: set[asyncio.Task[None]] = set()
        self.reader = PodReader(api, pods, clock)
        self.binder = Binder(api, self.reader, clock, self, self._settings.binding)
        self.assumed = AssumedPods(self.reader, clock, self.binding_failed, self._settings.confirm_seconds)
        self.statuses = StatusWriter(api, clock, newest=self.reader.known, may_write=self.may_write)
        self.events = EventWriter(api, clock, may_write=self.may_write, is_busy=lambda: self.binder.backlog > 0)
        self.evictor = Evictor(api, clock, self, self.events)
        self.evictor.on_done = metrics.preemption_carried_out
        self.preparations = PodPreparations(api, self)
        self.writer = Writer(api, self.may_write)
        self._api = api
        self.guard: NodeGuard | None = None

    def attach(self, scheduler: Scheduler) -> None:
        """The scheduler that this is the world of."""
        self._scheduler = scheduler
        self.guard = guard_of(scheduler, self._api, self._clock, self.events, self.may_write)

    async def run(self) -> None:
        """Keep the workers going until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in (self.binder, self.assumed, self.statuses, self.events, self.writer):
                group.create_task(part.run())
            if self.guard is not None:
                group.create_task(self.guard.run())

    async def finish(self, seconds: float) -> None:
        """Let bindings come to an end, for so long, then words to people, for a moment: a successor is waiting."""
        for task in self._preparing:
            task.cancel()
        for part, patience in ((self.binder, seconds), (self.statuses, A_MOMENT), (self.events, A_MOMENT)):
            deadline = self._clock.monotonic() + patience
            while part.backlog and self._clock.monotonic() < deadline:
                await self._clock.sleep(0.02)
        await self.evictor.close()

    # -- the scheduler's world -----------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the epoch, by a clock that never goes back."""
        return self._anchor + self._clock.monotonic()

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Ask the API server, after what has to come before."""
        self._metrics.under_way("binding", 1)
        self._under_way[pod.metadata.uid], self._leaving = self._leaving, None
        if not before:
            self.binder.submit(pod, node)
            return
        task = asyncio.get_running_loop().create_task(self._prepare(pod, node, before))
        self._preparing.add(task)
        task.add_done_callback(self._preparing.discard)

    async def _prepare(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        self.statuses.write(pod, WantedStatus(nominated=node))
        failure = await self.preparations.carry_out(pod, before)
        if failure is None:
            self.binder.submit(pod, node)
            return
        if failure.plugin == VolumeBinding.name:
            self._metrics.volume_error("bind")
        self.binding_failed(pod, failure.why)

    def hold(self, held: HeldPod) -> None:
        """Others may know already where the pod is to go."""
        self.statuses.write(held.pod, WantedStatus(nominated=held.node))
        self._note(held, HoldNote.HELD, f"on {held.node} by {', '.join(map(plugin_text, held.plugins))}")

    def settled(self, settled: Settled) -> None:
        """A wait has ended; if in vain, it is reported next."""
        held = settled.held
        code = "Success" if settled.is_allowed else "Error" if settled.is_preempted else "Unschedulable"
        self._metrics.permit_waited(code, self.now() - held.since)
        note = HoldNote.ALLOWED if settled.is_allowed else HoldNote.NOT_ALLOWED
        self._note(held, note, settled.reason or f"to go to {held.node}")

    def _note(self, held: HeldPod, note: HoldNote, words: str) -> None:
        if self.on_note is not None:
            self.on_note(held.pod, note, words)

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """Delete a victim, saying why."""
        node = self._scheduler_here().cluster.nominations.node_of(preemptor.metadata.uid) or victim.spec.node_name
        self.evictor.evict(victim, preemptor, node)

    def write(self, writes: Sequence[Write], pod: Pod) -> None:
        """Send it."""
        self.writer.submit(writes, pod)

    def report(self, decision: Decision) -> None:
        """Tell people why a pod has to wait."""
        pod, preemption = decision.pod, decision.preemption
        if not self.may_write():
            return
        message = decision.message
        self.events.failed(pod, message)
        if preemption is not None:
            for other in preemption.cleared:
                self.statuses.write(other, WantedStatus(nominated=""))
        if pod.is_terminating:
            return
        is_error = decision.outcome is Outcome.ERROR
        reason = "SchedulerError" if is_error else "Unschedulable"
        self.statuses.write(pod, WantedStatus(reason, message, decision.nomination))

    def report_group(self, decision: GroupDecision) -> None:
        """Say in the group's object, if it is one of Kubernetes' own, whether its pods got their nodes."""
        group = self._scheduler_here().cluster.groups.object_of(decision.job)
        if not isinstance(group, PodGroup) or not self.may_write():
            return
        now = dt.datetime.fromtimestamp(int(self.now()), dt.UTC)
        told = with_group_condition(group, *decision.condition, now)
        if told is not None:
            changes = {"status": {"conditions": to_builtins(told.status.conditions)}}
            self.writer.submit((patch_of(group, changes, "status"),), decision.members[0].pod)

    def tell(self, pod: Pod, notice: Notice) -> None:
        """Tell people what a plugin has to say."""
        if self.may_write():
            self.events.told(pod, notice.reason, notice.note, is_warning=notice.is_warning)
        if self.on_note is not None:
            self.on_note(pod, notice.reason, notice.note)

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A `fairway.queue.Observer`. A plugin that keeps a pod out is named."""
        if place is None:
            self._leaving = queued
        elif place is Place.GATED and queued.refusal is not None and queued.gating_plugin not in QUIET_GATES:
            words = ", ".join(queued.refusal.reasons)
            self.events.failed(queued.pod, words)
            self.statuses.write(queued.pod, WantedStatus("Unschedulable", words))

    # -- what became of it -------------------------------------------------------------------------------------------

    def may_write(self) -> bool:
        """Are we the leader?"""
        return self._is_leading()

    def has_node(self, name: str) -> bool:
        """Does the node exist?"""
        return name in self._scheduler_here().cluster.nodes.row_of

    def newest(self, pod: Pod) -> Pod | None:
        """The pod as the watch has it."""
        return self.reader.known(pod)

    def waits_for(self, preemptor: Pod, node: str) -> bool:
        """Is the room still wanted?"""
        return self._scheduler_here().cluster.nominations.node_of(preemptor.metadata.uid) == node

    def making_room(self, preemptor: Pod, last: Pod | None) -> None:
        """The pod need not be tried again until its victims know."""
        preemptions, uid = self._scheduler_here().cluster.preemptions, preemptor.metadata.uid
        if last is None:
            preemptions.begin(uid)
        else:
            preemptions.wait_for_last(uid, last.metadata.uid)

    def made_room(self, preemptor: Pod, tries_again: bool) -> None:
        """They know, or can not be told."""
        scheduler = self._scheduler_here()
        scheduler.cluster.preemptions.end(preemptor.metadata.uid)
        if tries_again:
            scheduler.queue.activate((preemptor,))
            if self.on_progress is not None:
                self.on_progress()

    async def bind_by_extender(self, pod: Pod, node: str) -> bool:
        """Let an extender bind the pod, if that is its business; it may take its time."""
        if not any(extender.binds and extender.is_interested(pod) for extender in self.extenders):
            return False
        return await asyncio.to_thread(bind_through, self.extenders, pod, node)

    def bound(self, pod: Pod, node: str) -> None:
        """The API server has bound the pod."""
        queued = self._settle(pod)
        if queued is not None:
            since = queued.initial_attempt_timestamp
            seconds = None if since is None else self.now() - since
            self._metrics.pod_scheduled(queued.attempts, seconds, queued.was_flushed)
        self.assumed.expect(pod)
        self.events.scheduled(pod, node)
        for tell in self.on_bound:
            tell(pod, node)

    def binding_failed(self, pod: Pod, why: str) -> None:
        """The pod has no node: back into the queue, as it is now."""
        self._settle(pod)
        scheduler, newest = self._scheduler_here(), self.reader.known(pod)
        scheduler.binding_failed(pod, why)
        if newest is not None and newest is not pod and not newest.spec.node_name:
            scheduler.observe(Event(Verb.MODIFIED, newest))  # what was not of interest while it was being bound

    def left_alone(self, pod: Pod) -> None:
        """There is nothing more to do about the pod; the scheduler has heard why."""
        self._settle(pod)

    def saw(self, event: Event) -> None:
        """Something happened, and the scheduler knows."""
        item = event.object
        if isinstance(item, Pod) and (item.spec.node_name or event.verb is Verb.DELETED):
            self.assumed.confirm(item.metadata.uid)
            if item.is_terminating or event.verb is Verb.DELETED:
                self.evictor.confirm(item.metadata.uid)
        self.preparations.saw(event)
        if self.guard is not None:
            self.guard.saw(event)

    @property
    def backlog(self) -> int:
        """Bindings that are not settled."""
        return len(self._under_way)

    @property
    def num_assumed(self) -> int:
        """Pods that count on a node where the watch has not shown them yet."""
        return len(self._under_way) + len(self.assumed)

    def _settle(self, pod: Pod) -> QueuedPod | None:
        """A binding has come to its end, one way or another."""
        if pod.metadata.uid not in self._under_way:
            return None
        self._metrics.under_way("binding", -1)
        if self.on_progress is not None:
            self.on_progress()
        return self._under_way.pop(pod.metadata.uid)

    def _scheduler_here(self) -> Scheduler:
        if self._scheduler is None:
            raise RuntimeError("attach a scheduler first")
        return self._scheduler
