"""The real cluster as the scheduler's world: decisions go out as requests, many at a time.

In: what `fairway.scheduler.Scheduler` wants done (`bind`, `evict`, `report`), and what became of it. Out: bindings,
deletions, conditions and events, sent by the parts that this class holds together; to the scheduler, `binding_failed`.
Nothing here waits: requests are handed to workers, which `run` keeps going. `service` makes one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairway.cluster import Event, Verb
from fairway.cluster.intents.held_pods import HeldPod, Settled
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
from fairway.live.world.gang_deletion import GangDeletion, deletion_of
from fairway.live.world.job_bindings import JobBindings
from fairway.live.world.job_reports import JobReports
from fairway.live.world.keepers import Keepers
from fairway.live.world.node_guard import NodeGuard, guard_of
from fairway.live.world.pod_reader import PodReader
from fairway.live.world.pre_bind import PodPreparations
from fairway.live.world.preemptors import Preemptors
from fairway.live.world.writing import Writer
from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.plugin import Notice, Write
from fairway.plugins.volume_binding import VolumeBinding
from fairway.queue import Place, QueuedPod
from fairway.queue.queued_group import group_uid
from fairway.record.vocabulary import HoldNote
from fairway.scheduler import Scheduler
from fairway.words import plugin_text
from fairway.world import GroupBinding

__all__ = ["LiveWorld", "WorldSettings"]

logger = logging.getLogger(__name__)

QUIET_GATES = frozenset({"SchedulingGates", "DefaultPreemption", "Queues"})
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
        self.may_write = is_leading
        self._settings = settings or WorldSettings()
        self._anchor = clock.now() - clock.monotonic()
        self._scheduler: Scheduler | None = None
        self._leaving: QueuedPod | None = None  # who left the queue last
        self._under_way: dict[str, QueuedPod | None] = {}  # by uid: bindings, and whom to measure
        self.extenders: Sequence[Extender] = ()
        self.on_progress: Callable[[], None] | None = None
        self.on_note: Callable[[Pod, str, str], None] | None = None  # told what becomes of pods that are held
        self.on_held: Callable[[HeldPod], None] | None = None
        self.on_settled: Callable[[Settled], None] | None = None
        self.on_bound: list[Callable[[Pod, str], None]] = []
        self._preparing: set[asyncio.Task[None]] = set()
        self.reader = PodReader(api, pods, clock)
        self.binder = Binder(api, self.reader, clock, self, self._settings.binding)
        self.assumed = AssumedPods(self.reader, clock, self.binding_failed, self._settings.confirm_seconds)
        self.statuses = StatusWriter(api, clock, newest=self.reader.known, may_write=self.may_write)
        self.events = EventWriter(api, clock, may_write=self.may_write, is_busy=lambda: self.binder.backlog > 0)
        self.preemptors = Preemptors(self.reader, self.may_write)
        self.evictor = Evictor(api, clock, self.preemptors, self.events)
        self.evictor.on_done = metrics.preemption_carried_out
        self.preparations = PodPreparations(api, self.preemptors)
        self.writer = Writer(api, self.may_write)
        self.job_bindings = JobBindings(self, self.binder, self.statuses, self.preparations)
        self.jobs = JobReports(api, clock, self.statuses, self.events, self.may_write)
        self._api = api
        self.guard: NodeGuard | None = None
        self.deletion: GangDeletion | None = None
        self._keepers = Keepers()

    def attach(self, scheduler: Scheduler) -> None:
        """The scheduler that this is the world of."""
        self._scheduler = scheduler
        self.jobs.attach(scheduler)
        self.preemptors.attach(scheduler, self._progress)
        self.guard = guard_of(scheduler, self._api, self._clock, self.events, self.may_write)
        self.deletion = deletion_of(scheduler, self._api, self.may_write)
        self._keepers.take((self.guard, self.deletion))

    async def run(self) -> None:
        """Keep the workers going until cancelled."""
        async with asyncio.TaskGroup() as group:
            for part in (self.binder, self.assumed, self.statuses, self.events, self.writer, self.jobs, self._keepers):
                group.create_task(part.run())

    async def finish(self, seconds: float) -> None:
        """Let bindings come to an end, for so long, then words to people, for a moment: a successor is waiting."""
        for task in self._preparing:
            task.cancel()
        for part in (self.binder, self.jobs, self.statuses, self.events):
            deadline = self._clock.monotonic() + (seconds if part is self.binder else A_MOMENT)
            while part.backlog and self._clock.monotonic() < deadline:
                await self._clock.sleep(0.02)
        await self.evictor.close()

    # -- the scheduler's world -----------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the epoch, by a clock that never goes back."""
        return self._anchor + self._clock.monotonic()

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Ask the API server, after what has to come before."""
        self.begin(pod, self._leaving)
        self._leaving = None
        if before:
            self.keep(asyncio.get_running_loop().create_task(self._prepare(pod, node, before)))
        else:
            self.binder.submit(pod, node)

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        """Ask for all of them in one go."""
        self.job_bindings.bind(bindings)

    def recall(self, pods: Sequence[Pod]) -> Sequence[str]:
        """Those that no worker has taken up yet."""
        return self.job_bindings.recall(pods)

    def remove(self, pod: Pod, why: str) -> None:
        """Delete a pod that its controller makes again."""
        self.evictor.remove(pod, why)

    async def _prepare(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        self.statuses.write(pod, WantedStatus(nominated=node))
        failure = await self.preparations.carry_out(pod, before)
        if failure is None:
            self.binder.submit(pod, node)
        else:
            self.preparation_failed(pod, failure.plugin, failure.why)

    def hold(self, held: HeldPod) -> None:
        """Others may know already where the pod is to go."""
        self.statuses.write(held.pod, WantedStatus(nominated=held.node))
        if self.on_held is not None:
            self.on_held(held)
        self._note(held, HoldNote.HELD, f"on {held.node} by {', '.join(map(plugin_text, held.plugins))}")

    def settled(self, settled: Settled) -> None:
        """A wait has ended; if in vain, it is reported next."""
        held = settled.held
        code = "Success" if settled.is_allowed else "Error" if settled.is_preempted else "Unschedulable"
        self._metrics.permit_waited(code, self.now() - held.since)
        note = HoldNote.ALLOWED if settled.is_allowed else HoldNote.NOT_ALLOWED
        if self.on_settled is not None:
            self.on_settled(settled)
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
        """Say in the group's object whether its pods got their nodes."""
        self.jobs.report_group(decision, self.now())

    def report_job(self, decision: GroupDecision) -> None:
        """Say it in the group's object, in an event, and to every member that waits."""
        self.jobs.report_job(decision, group_uid(decision.job), self.now())

    def job_started(self, job: GroupKey, num_members: int, seconds: float) -> None:
        """For monitoring."""
        self._metrics.job_started(num_members, seconds)

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        """An event about the job."""
        self.jobs.tell_group(job, member, notice)
        if self.on_note is not None:
            self.on_note(member, notice.reason, notice.note)

    def tell(self, pod: Pod, notice: Notice) -> None:
        """Tell people what a plugin has to say."""
        if self.may_write():
            self.events.told(pod, notice.reason, notice.note, is_warning=notice.is_warning)
        if self.on_note is not None:
            self.on_note(pod, notice.reason, notice.note)

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A `fairway.queue.Observer`. A plugin that keeps a pod out is named."""
        if place is None and queued.group:
            self.job_bindings.leaves(queued)
        elif place is None:
            self._leaving = queued
        elif place is Place.GATED and queued.group:
            self.jobs.gated(queued)
        elif place is Place.GATED and queued.refusal is not None and queued.gating_plugin not in QUIET_GATES:
            words = ", ".join(queued.refusal.reasons)
            self.events.failed(queued.pod, words)
            self.statuses.write(queued.pod, WantedStatus("Unschedulable", words))

    # -- what became of it -------------------------------------------------------------------------------------------

    def begin(self, pod: Pod, queued: QueuedPod | None) -> None:
        """A binding begins; `queued` is for those who measure."""
        self._metrics.under_way("binding", 1)
        self._under_way[pod.metadata.uid] = queued

    def keep(self, task: asyncio.Task[None]) -> None:
        """Cancel it when all comes to an end."""
        self._preparing.add(task)
        task.add_done_callback(self._preparing.discard)

    def is_under_way(self, pod: Pod) -> bool:
        """Is the pod being bound?"""
        return pod.metadata.uid in self._under_way

    def preparation_failed(self, pod: Pod, plugin: str, why: str) -> None:
        """What has to come before the binding did not."""
        if plugin == VolumeBinding.name:
            self._metrics.volume_error("bind")
        self.binding_failed(pod, why)

    def has_node(self, name: str) -> bool:
        """Does the node exist?"""
        return name in self._scheduler_here().cluster.nodes.row_of

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
        if self.deletion is not None:
            self.deletion.saw(event)

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
        self._progress()
        return self._under_way.pop(pod.metadata.uid)

    def _progress(self) -> None:
        if self.on_progress is not None:
            self.on_progress()

    def _scheduler_here(self) -> Scheduler:
        if self._scheduler is None:
            raise RuntimeError("attach a scheduler first")
        return self._scheduler
