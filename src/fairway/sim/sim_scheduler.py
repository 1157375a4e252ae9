"""A scheduler in the simulated world: the real one, with its own speed and its own, possibly late, view.

In: API server events, `view_delay` seconds late. Out: bindings, evictions and reports, to the API server and the
recorder. Each attempt takes `decision_latency` seconds of virtual time, so a slow scheduler falls behind; while
paused it does nothing at all. This is `fairway.scheduler.World` for a `fairway.scheduler.Scheduler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter, thread_time  # noqa: TID251 - the scheduler's own time, recorded; it decides nothing

import msgspec

from fairway.batch.settings import BatchSettings
from fairway.cluster import Event
from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.config import Configuration
from fairway.cycle import Decision, Outcome, PluginTimes, Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.pre_bind import PreBind
from fairway.model import Pod
from fairway.model.device_need import binding_annotations
from fairway.model.disruption import PREEMPTED
from fairway.model.group import WITH_OBJECT, GroupKey, Spelling
from fairway.model.meta import EPOCH
from fairway.model.pod_group import POD_GROUP_SCHEDULED, with_group_condition
from fairway.plugin import Notice, Write
from fairway.queue import Place, QueuedPod
from fairway.record import Recorder, RecordOptions, Scored, best_nodes
from fairway.record.vocabulary import HoldEnd, HoldNote, HoldWhy
from fairway.scheduler import Scheduler
from fairway.sim.api_server import ApiError, ApiServer
from fairway.sim.batch_world import SimDesk, planned
from fairway.sim.blocked_jobs import blocked_watch_of
from fairway.sim.deadlocks import watch_of
from fairway.sim.deleted_gangs import DeletedGangs, pfnet_plugins
from fairway.sim.gang_pools import watches_of
from fairway.sim.pre_bind import PodPreparations
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.taint_sweep import TaintSweep, wants_guard
from fairway.sim.writing import carry_out
from fairway.words import plugin_text, time_text
from fairway.world import GroupBinding


class SimScheduler:
    """One scheduler of the simulation."""

    def __init__(
        self,
        name: str,
        configuration: Configuration,
        api: ApiServer,
        settings: SchedulerSettings,
        recorder: Recorder,
        options: RecordOptions,
        batch: BatchSettings | None = None,
    ) -> None:
        """`batch`: the queues that its pods wait in; None: it has none."""
        self.name = name
        self._api = api
        self.now = api.timeline.now
        self._settings = settings
        self._recorder = recorder
        self._awake_at: float | None = None  # when it will look at its queue next
        self._busy_until = 0.0
        self._paused_until = 0.0
        self.num_attempts = 0
        self.num_conflicts = 0
        self.num_errors = 0
        self.first_error = ""  # what went wrong first: a plugin that raised, say
        self._num_scores = options.scores
        self._best: list[Scored] = []
        self._is_timed = recorder.is_recording
        # Looking at a CPU clock is a system call, and may cost as much as the rest: only for who asks where time goes.
        self._clock = thread_time if options.plugin_times else perf_counter
        self._away = 0.0  # seconds of this attempt that the world took, not the scheduler
        self._asked_at: float | None = None  # on the clock: when this attempt had come to a binding
        self._times = PluginTimes() if options.plugin_times else None
        self._times_between = PluginTimes()
        self.queues = None if batch is None else SimDesk(name, batch, api, recorder, self._wake)
        self.scheduler = Scheduler(
            configuration if batch is None else planned(configuration, batch),
            self,
            attendant=None if self.queues is None else self.queues.desk,
            look=self._look if options.scores else None,
            watch_queue=self._queue_moved if options.queue else None,
            timer=self._times,
            start=EPOCH.timestamp(),
        )
        if self.queues is not None:
            self.queues.desk.attend(self.scheduler)
        self._preparations = PodPreparations(api, self._bind, self._refused)
        self._sweep = TaintSweep(api, self.scheduler) if wants_guard(self.scheduler) else None
        plugins = pfnet_plugins(self.scheduler)
        self._deletion = DeletedGangs(api, recorder, plugins) if plugins else None
        self._deadlocks = watch_of(name, self.scheduler, configuration, recorder, self.now)
        self._watches = watches_of(self._deadlocks, plugins.values(), recorder, self.now)
        looks = options.gangs and recorder.is_recording
        self._blocked = blocked_watch_of(self.scheduler, configuration, recorder, api.timeline) if looks else None
        api.watch(self._observe, settings.view_delay)

    # -- its day ---------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if self.queues is not None:
            self.queues.observe(event)
        self.scheduler.observe(event)
        if self.queues is not None:
            self.queues.look()
        if self._preparations.waiting:
            self._preparations.observe(event)
        if self._sweep is not None:
            self._sweep.observe(event)
        if self._deletion is not None:
            self._deletion.observe(event)
        for watch in self._watches:
            watch.look()
        if self._blocked is not None:
            self._blocked.go_on()
        self._wake()

    @property
    def view_delay(self) -> float:
        """How late it hears of anything, in seconds."""
        return self._settings.view_delay

    def pause(self, seconds: float) -> None:
        """It stops for so long; what happens meanwhile it still hears of, and works off afterwards."""
        self._paused_until = max(self._paused_until, self.now() + seconds)

    def _wake(self, is_idle: bool = True) -> None:
        """See to it that the queue is looked at when there is something to do; `is_idle`: perhaps in vain."""
        now = self._api.timeline.now()
        if self._awake_at is not None and self._awake_at <= now:
            return
        wakeup = self.scheduler.next_wakeup()
        if wakeup is None:
            return
        time = max(wakeup, self._busy_until, self._paused_until, now)
        if self._awake_at is not None and self._awake_at <= time:
            return
        self._awake_at = time
        self._api.timeline.at(time, lambda: self._work(time), is_idle=is_idle)

    def _work(self, time: float) -> None:
        if self._awake_at != time:
            return  # called off by an earlier awakening
        self._awake_at = None
        if self._paused_until <= self.now():
            self._best = []
            self._away = 0.0
            self._asked_at = None
            if self._times is not None:
                self._times_between.add(self._times.take())
            begun = self._clock() if self._is_timed else 0.0
            decision = self.scheduler.step()
            if decision is not None:
                self.num_attempts += 1
                if self._blocked is not None:
                    self._blocked.go_on()
                now = self._api.timeline.now()
                self._busy_until = now + self._settings.decision_latency
                if self._is_timed:
                    ended = self._clock() if self._asked_at is None else self._asked_at
                    self._record(now, decision, ended - begun - self._away)
                if self._times is not None:
                    self._recorder.plugin_times(self.now(), self.name, self._times.take())
            for watch in self._watches:
                watch.look()
            if self.queues is not None:
                self.queues.look()
        self._wake()

    def _record(self, now: float, decision: Decision | GroupDecision, taken: float) -> None:
        """Tell the recorder of the attempt."""
        if isinstance(decision, GroupDecision):
            self._recorder.group_decided(now, self.name, decision, taken)
        else:
            self._recorder.decided(now, self.name, decision.attempt, decision, taken, self._best)

    def _look(self, profile: Profile, decision: Decision) -> None:
        """For the recording: the scheduler itself need not know what every plugin says about every node."""
        if decision.outcome is Outcome.SCHEDULED:
            begun = self._clock()
            if self._times is not None:
                self._times.is_counting = False
            self._best = best_nodes(profile.inspect(decision.pod), self._num_scores)
            if self._times is not None:
                self._times.is_counting = True
            self._away += self._clock() - begun

    def close(self) -> None:
        """The run is over: tell the recorder what it has not been told."""
        if self.queues is not None:
            self.queues.desk.close()
        if self._times is not None:
            self._times_between.add(self._times.take())
            self._recorder.plugin_times(self.now(), self.name, self._times_between.take(), is_of_attempt=False)

    # -- the world, as the scheduler sees it -------------------------------------------------------------------------

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Ask the API server, after what has to come before; if it refuses, the scheduler hears of it."""
        delay = self._settings.decision_latency + self._settings.bind_latency
        if delay > 0:
            self._api.timeline.after(delay, lambda: self._begin_to_bind(pod, node, before))
        else:
            if self._is_timed:
                self._asked_at = self._clock()  # the rest is the world's time
            self._begin_to_bind(pod, node, before)

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        """Ask for each of them, all at the same time."""
        for binding in bindings:
            self.bind(*binding)

    def recall(self, pods: Sequence[Pod]) -> Sequence[str]:
        """All were asked for at the same time."""
        return ()

    def remove(self, pod: Pod, why: str) -> None:
        """Delete a pod that is to be made again."""
        current = self._api.pod(pod.metadata.uid)
        if current is not None:
            self._recorder.event(self.now(), "Pod", current.key, "GangBroken", why)
            self._api.delete(current)

    def _begin_to_bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        if before:
            self._preparations.begin(pod, node, before)
        else:
            self._bind(pod, node)

    def _bind(self, pod: Pod, node: str) -> None:
        try:
            self._api.bind(pod.metadata.uid, node, binding_annotations(pod))
        except ApiError as refusal:
            self._refused(pod, str(refusal))

    def _refused(self, pod: Pod, why: str) -> None:
        self.num_conflicts += 1
        self._recorder.event(self.now(), "Pod", pod.key, "BindingFailed", why)
        self._recorder.released(self.now(), pod.metadata.uid, HoldEnd.REJECTED)
        self.scheduler.binding_failed(pod, why)
        self._wake()

    def hold(self, held: HeldPod) -> None:
        """For the recording: who holds the pod, and until when."""
        plugins, until = ", ".join(map(plugin_text, held.plugins)), time_text(held.deadline)
        words = f"on {held.node} by {plugins}, until {until}"
        self._recorder.event(self.now(), "Pod", held.pod.key, HoldNote.HELD, words)
        self._recorder.held(self.now(), held.uid, held.node, HoldWhy.PERMIT)
        if self._deadlocks is not None:
            self._deadlocks.holds_changed()

    def settled(self, settled: Settled) -> None:
        """For the recording: how the wait ended."""
        held = settled.held
        if self._deadlocks is not None:
            self._deadlocks.holds_changed()
        note = HoldNote.ALLOWED if settled.is_allowed else HoldNote.NOT_ALLOWED
        self._recorder.event(self.now(), "Pod", held.pod.key, note, settled.reason or f"to go to {held.node}")
        if settled.is_allowed:
            self._recorder.held(self.now(), held.uid, held.node, HoldWhy.BINDING)
        else:
            ended = HoldEnd.TIMEOUT if held.deadline <= self.now() else HoldEnd.REJECTED
            self._recorder.released(self.now(), held.uid, ended)

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """Delete a victim, saying why."""
        current = self._api.pod(victim.metadata.uid)
        if current is None:
            return
        message = f"Preempted by pod {preemptor.metadata.uid} on node {current.spec.node_name}"
        self._recorder.event(self.now(), "Pod", current.key, "Preempted", message)
        self._api.delete(current, PREEMPTED)

    def write(self, writes: Sequence[Write], pod: Pod) -> None:
        """Write it, up to the first that is refused."""
        for write in writes:
            try:
                carry_out(self._api, write)
            except ApiError as refusal:
                self._recorder.event(self.now(), "Pod", pod.key, "WriteFailed", f"{write.title}: {refusal}")
                return

    def report(self, decision: Decision) -> None:
        """The recorder gets the words with the decision; the API server only what others may act on."""
        preemption = decision.preemption
        if decision.error:
            self.num_errors += 1
            self.first_error = self.first_error or f"{decision.pod.key}: {decision.error}"
        if isinstance(decision.promise, str):  # a member of a group
            self._nominate(decision.pod, decision.promise)
        elif preemption is not None and (preemption.nominated_node or preemption.clear_nomination):
            self._nominate(decision.pod, preemption.nominated_node)

    def _nominate(self, pod: Pod, node: str) -> None:
        current = self._api.pod(pod.metadata.uid)
        if current is None or current.spec.node_name or current.status.nominated_node_name == node:
            return
        status = msgspec.structs.replace(current.status, nominated_node_name=node)
        self._api.update(msgspec.structs.replace(current, status=status))

    def report_group(self, decision: GroupDecision) -> None:
        """Say in the group's object, if it is one of Kubernetes' own, whether its pods got their nodes."""
        job = decision.job
        group = self._api.find("PodGroup", job.namespace, job.name) if job.spelling is Spelling.KUBE else None
        if group is not None:
            told = with_group_condition(group, POD_GROUP_SCHEDULED, *decision.condition, self._api.calendar())
            if told is not None:
                self._api.update(told)

    def report_job(self, decision: GroupDecision) -> None:
        """The group's object says what came of it, and members whether a node is promised to them."""
        self.report_group(decision)
        if decision.outcome is GroupOutcome.ERROR:
            self.num_errors += 1
            self.first_error = self.first_error or decision.message
        for member in decision.members:
            if isinstance(member.promise, str):
                self._nominate(member.pod, member.promise)

    def job_started(self, job: GroupKey, num_members: int, seconds: float) -> None:
        """Nobody measures it here."""

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        """For the recording."""
        kind, name = ("PodGroup", str(job)) if job.spelling in WITH_OBJECT else ("Pod", member.key)
        self._recorder.event(self.now(), kind, name, notice.reason, notice.note)

    def tell(self, pod: Pod, notice: Notice) -> None:
        """For the recording."""
        self._recorder.event(self.now(), "Pod", pod.key, notice.reason, notice.note)

    def _queue_moved(
        self, queued: QueuedPod, origin: Place | None, place: Place | None, event: str, time: float
    ) -> None:
        if origin is not place:
            self._recorder.queue_moved(time, self.name, queued.uid, origin, place, event)
