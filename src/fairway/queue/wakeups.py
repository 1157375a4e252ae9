"""What brings pods back that were set aside or rest: changes of the cluster, of the pod itself, and time.

`SchedulingQueue` hands on what happened; here the hints decide which pods it may help, and `Places` moves them. Changes
are also recorded for pods in flight, which are judged by what they missed when their attempt fails. As in
kube-scheduler 1.36's backend/queue/scheduling_queue.go: `movePodsToActiveOrBackoffQueue`,
`determineSchedulingHintForInFlightPod` and the two flushes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairway.cluster.changes import pod_changes
from fairway.cluster.events import Change, ClusterEvent
from fairway.model import Pod
from fairway.queue.hints import EVERYTHING, SKIP, Hints, PluginChecks, Strategy, judge_by
from fairway.queue.in_flight import InFlight
from fairway.queue.labels import BACKOFF_COMPLETE, TIMED_OUT, label
from fairway.queue.places import ASIDE, Places
from fairway.queue.queued_group import QueuedGroup
from fairway.queue.queued_pod import QueuedPod
from fairway.queue.settings import QueueSettings
from fairway.queue.unschedulable import FlushTimes

__all__ = ["Wakeups"]


class Wakeups:
    """Wakes pods up."""

    def __init__(self, hints: Hints, places: Places, in_flight: InFlight, settings: QueueSettings, now: float) -> None:
        self._hints = hints
        self._places = places
        self._in_flight = in_flight
        self._flush_times = FlushTimes(now, settings.flush_interval_seconds)
        self._max_unschedulable = settings.max_unschedulable_seconds

    def by_change(self, change: Change, only: Callable[[Pod], bool] | None, now: float) -> None:
        """The cluster changed: wake the pods that it may help (of those that `only` lets through)."""
        event = change.event
        name = label(event)
        if event == EVERYTHING:
            for queued in list(self._places.aside):
                if only is None or only(queued.pod):
                    self._places.requeue(queued, self._hints.judge(queued, change), name, now)
            self._in_flight.record(change)
            return
        concerned = self._hints.concerned(event)
        if not concerned:
            return
        for queued in self._places.aside.refused_by(concerned):
            gate = queued.gating_plugin
            if gate and not any(gate in checks for checks in concerned.values()):
                continue  # whatever else it may change, the pod would stay gated
            if only is None or only(queued.pod):
                strategy = judge_by(concerned[queued.profile], queued, change)
                if strategy is not SKIP:
                    if type(queued) is QueuedGroup and self._places.has_slot(queued, change):
                        strategy = Strategy.IMMEDIATELY
                    self._places.requeue(queued, strategy, name, now)
        if self._places.resting:
            self._end_rests(change, only, concerned, now)
        self._in_flight.record(change)

    def _end_rests(
        self,
        change: Change,
        only: Callable[[Pod], bool] | None,
        concerned: Mapping[str, PluginChecks],
        now: float,
    ) -> None:
        """A job need not sit its backoff out if there is room for the member that it waits for."""
        for entry in list(self._places.resting.values()):
            checks = concerned.get(entry.profile)
            if checks is None or (only is not None and not only(entry.pod)):
                continue
            if judge_by(checks, entry, change) is not SKIP and self._places.has_slot(entry, change):
                self._places.activate(entry, label(change.event), now)

    def concerns(self, event: ClusterEvent) -> bool:
        """Is a pod set aside that plugins refused which want to hear of such an event?"""
        concerned = self._hints.concerned(event)
        return bool(concerned) and self._places.aside.has_refused_by(concerned)

    def by_update(self, queued: QueuedPod, old: Pod, now: float) -> None:
        """A pod that was set aside has changed: that itself may help it."""
        for event in pod_changes(old, queued.pod):
            strategy = self._hints.judge(queued, Change(event, old, queued.pod))
            if self._places.requeue(queued, strategy, label(event), now) not in ASIDE:
                return

    def by_time(self, now: float) -> None:
        """Backoffs end; pods that have waited too long for a helpful change are woken without one."""
        if self._places.backoff:
            self._places.activate_rested(BACKOFF_COMPLETE, now)
        flush = self._flush_times.due(now)
        if flush is None:
            return
        overdue = self._places.aside.untried_for(self._max_unschedulable, flush)
        if not overdue:
            return
        timeout = Change(EVERYTHING, None, None)
        for queued in overdue:
            queued.was_flushed = True
            queued.flush_timestamp = now
            self._places.aside.postpone(queued)
            self._places.requeue(queued, self._hints.judge(queued, timeout), TIMED_OUT, now)
        self._in_flight.record(timeout)

    def next_time(self) -> float | None:
        """When `by_time` will next find a pod to wake, as things stand."""
        rested = self._places.backoff.next_completion()
        oldest = self._places.aside.oldest()
        if oldest is None:
            return rested
        flush = self._flush_times.first_after(oldest.last_tried, self._max_unschedulable)
        return flush if rested is None else min(flush, rested)

    def in_flight(self, queued: QueuedPod) -> Strategy:
        """What the changes that a pod missed in flight are worth to it, now that its attempt failed."""
        return self._hints.judge_all(queued, self._in_flight.missed(queued.uid))
