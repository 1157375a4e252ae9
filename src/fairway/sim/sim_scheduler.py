"""A scheduler in the simulated world: the real one, with its own speed and its own, possibly late, view.

In: API server events, `view_delay` seconds late. Out: bindings, evictions and reports, to the API server and the
recorder. Each attempt takes `decision_latency` seconds of virtual time, so a slow scheduler falls behind; while
paused it does nothing at all. This is `fairway.scheduler.World` for a `fairway.scheduler.Scheduler`.
"""

from __future__ import annotations

from time import perf_counter  # noqa: TID251 - the scheduler's own time, recorded beside virtual time, decides nothing

import msgspec

from fairway.cluster import Event
from fairway.cycle import Configuration, Decision, Outcome, Profile
from fairway.model import Pod, PodCondition
from fairway.queue import Place, QueuedPod
from fairway.record import NullWriter, Scored, best_nodes
from fairway.scheduler import Scheduler
from fairway.sim.api_server import ApiError, ApiServer

PREEMPTED = PodCondition(
    type="DisruptionTarget",
    status="True",
    reason="PreemptionByScheduler",
    message="preempting to accommodate a higher priority pod",
)


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of virtual time."""

    decision_latency: float = 0.0  # what one attempt takes
    view_delay: float = 0.0  # how late it hears of anything
    bind_latency: float = 0.0  # from decision to the API server


class SimScheduler:
    """One scheduler of the simulation."""

    def __init__(
        self,
        name: str,
        configuration: Configuration,
        api: ApiServer,
        settings: SchedulerSettings,
        writer: NullWriter,
        records_queue: bool = True,
        num_scores: int = 0,
    ) -> None:
        """`num_scores`: of how many of the best nodes the scores are kept with each decision."""
        self.name = name
        self._api = api
        self._settings = settings
        self._writer = writer
        self._awake_at: float | None = None  # when it will look at its queue next
        self._busy_until = 0.0
        self._paused_until = 0.0
        self.num_attempts = 0
        self.num_conflicts = 0
        self._num_scores = num_scores
        self._best: list[Scored] = []
        self.scheduler = Scheduler(
            configuration,
            self,
            look=self._look if num_scores else None,
            watch_queue=self._queue_moved if records_queue else None,
        )
        api.watch(self._observe, settings.view_delay)

    # -- its day ---------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        self.scheduler.observe(event)
        self._wake()

    def pause(self, seconds: float) -> None:
        """It stops for so long; what happens meanwhile it still hears of, and works off afterwards."""
        self._paused_until = max(self._paused_until, self.now() + seconds)

    def _wake(self) -> None:
        """See to it that the queue is looked at when there is something to do."""
        wakeup = self.scheduler.next_wakeup()
        if wakeup is None:
            return
        time = max(wakeup, self._busy_until, self._paused_until, self.now())
        if self._awake_at is not None and self._awake_at <= time:
            return
        self._awake_at = time
        self._api.timeline.at(time, lambda: self._work(time), is_idle=True)

    def _work(self, time: float) -> None:
        if self._awake_at != time:
            return  # called off by an earlier awakening
        self._awake_at = None
        if self._paused_until <= self.now():
            begun = perf_counter()
            self._best = []
            decision = self.scheduler.step()
            if decision is not None:
                self.num_attempts += 1
                self._busy_until = self.now() + self._settings.decision_latency
                taken = perf_counter() - begun
                self._writer.decided(self.now(), self.name, decision.attempt, decision, taken, self._best)
        self._wake()

    def _look(self, profile: Profile, decision: Decision) -> None:
        if decision.outcome is Outcome.SCHEDULED:
            self._best = best_nodes(profile.inspect(decision.pod), self._num_scores)

    # -- the world, as the scheduler sees it -------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time."""
        return self._api.timeline.now()

    def bind(self, pod: Pod, node: str) -> None:
        """Ask the API server; if it refuses, the scheduler hears of it."""
        delay = self._settings.decision_latency + self._settings.bind_latency
        if delay > 0:
            self._api.timeline.after(delay, lambda: self._bind(pod, node))
        else:
            self._bind(pod, node)

    def _bind(self, pod: Pod, node: str) -> None:
        try:
            self._api.bind(pod.metadata.uid, node)
        except ApiError as refusal:
            self.num_conflicts += 1
            self._writer.event(self.now(), "Pod", pod.key, "BindingFailed", str(refusal))
            self.scheduler.binding_failed(pod, str(refusal))
            self._wake()

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """Delete a victim, saying why."""
        current = self._api.pod(victim.metadata.uid)
        if current is None:
            return
        message = f"Preempted by pod {preemptor.metadata.uid} on node {current.spec.node_name}"
        self._writer.event(self.now(), "Pod", current.key, "Preempted", message)
        self._api.delete(current, PREEMPTED)

    def report(self, decision: Decision) -> None:
        """The recorder gets the words with the decision; the API server only what others may act on."""
        preemption = decision.preemption
        if decision.outcome is Outcome.SCHEDULED or preemption is None:
            return
        current = self._api.pod(decision.pod.metadata.uid)
        if current is None or current.spec.node_name:
            return
        wanted = preemption.nominated_node
        if wanted != current.status.nominated_node_name and (wanted or preemption.clear_nomination):
            status = msgspec.structs.replace(current.status, nominated_node_name=wanted)
            self._api.update(msgspec.structs.replace(current, status=status))

    def _queue_moved(
        self, queued: QueuedPod, origin: Place | None, place: Place | None, event: str, time: float
    ) -> None:
        self._writer.queue_moved(time, self.name, queued.uid, origin, place, event)
