"""What a monitoring system may ask: kube-scheduler's metrics, from Fairway.

In: calls named after what happened, from the live service, the queue (`queue_moved` is a queue observer) and the
connection. Out: `render()`, the text that `/metrics` serves. Counting is two dictionary look-ups and an addition; the
text is made when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from fairway import __version__
from fairway.cluster import Event, Verb
from fairway.live.metrics.desk_metrics import DeskMetrics
from fairway.live.metrics.instruments import Instruments
from fairway.model import Pod
from fairway.queue import Place, QueuedPod

__all__ = ["CONTENT_TYPE", "SchedulerMetrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_ATTEMPTS_LABEL = 15
"""More attempts than this share one label, as in kube-scheduler's `getAttemptsLabel`."""

QUEUES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "unschedulable",
}
"""Under which name a place counts what comes in: gated pods are kept with the unschedulable ones."""

STORAGE = frozenset(("StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"))
"""Kinds whose events kube-scheduler names together with their group."""

VERBS = {Verb.ADDED: "Add", Verb.MODIFIED: "Update", Verb.DELETED: "Delete"}


class SchedulerMetrics:
    """All metrics of one scheduler process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()  # of what the process itself is asked for
        self._instruments = Instruments()
        self._of = self._instruments.of
        self.desk = DeskMetrics(self._of)
        self._pending = dict.fromkeys(("active", "backoff", "unschedulable", "gated"), 0)
        self._blamed: dict[str, tuple[str, frozenset[str]]] = {}  # by pod uid: profile and plugins
        for queue in self._pending:
            self._of("scheduler_pending_pods", queue)
        for kind in ("nodes", "pods", "assumed_pods"):
            self._of("scheduler_cache_size", kind)
        self._of("scheduler_goroutines", "binding")
        for why in ("slow reader", "too old", "other leader", "pages behind"):
            self._of("fairway_stream_lost_total", why)
        for result in ("sent", "failed", "dropped"):
            self._of("fairway_sniffer_sent_total", result)
        build = Gauge("fairway_build_info", "The version, as a label.", ("version",), registry=self.registry)
        build.labels(__version__).set(1)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    # -- attempts --------------------------------------------------------------------------------------------------

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """An attempt ended: scheduled, unschedulable or error."""
        self._of("scheduler_schedule_attempts_total", result, profile).inc()
        self._of("scheduler_scheduling_attempt_duration_seconds", result, profile).observe(seconds)

    def algorithm(self, seconds: float) -> None:
        """The decision itself took so long."""
        self._of("scheduler_scheduling_algorithm_duration_seconds").observe(seconds)

    def pod_scheduled(self, attempts: int, sli_seconds: float | None, after_flush: bool = False) -> None:
        """A pod was bound, in its how-manieth attempt, so long after it could first be tried."""
        self._of("scheduler_pod_scheduling_attempts").observe(attempts)
        if sli_seconds is not None:
            label = str(attempts) if attempts < MAX_ATTEMPTS_LABEL else f"{MAX_ATTEMPTS_LABEL}+"
            self._of("scheduler_pod_scheduling_sli_duration_seconds", label).observe(sli_seconds)
        if after_flush:
            self._of("scheduler_pod_scheduled_after_flush_total").inc()

    def extension_point(self, profile: str, point: str, status: str, seconds: float) -> None:
        """All plugins of a point have run for one pod."""
        self._of("scheduler_framework_extension_point_duration_seconds", point, status, profile).observe(seconds)

    def plugin_ran(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """One plugin has run."""
        self._of("scheduler_plugin_execution_duration_seconds", plugin, point, status).observe(seconds)

    def plugin_evaluated(self, profile: str, plugin: str, point: str) -> None:
        """A plugin took part in an attempt."""
        self._of("scheduler_plugin_evaluation_total", plugin, point, profile).inc()

    # -- jobs ------------------------------------------------------------------------------------------------------

    def group_attempt(self, profile: str, result: str, seconds: float, backtracks: int) -> None:
        """An attempt for a whole group of pods ended."""
        self._of("scheduler_podgroup_schedule_attempts_total", result, profile).inc()
        self._of("scheduler_podgroup_scheduling_attempt_duration_seconds", result, profile).observe(seconds)
        self._of("scheduler_podgroup_scheduling_algorithm_duration_seconds").observe(seconds)
        self._of("fairway_gang_backtracks").observe(backtracks)

    def job_started(self, num_members: int, seconds: float) -> None:
        """A job has started with so many members, so long after the first of them came."""
        self._of("fairway_gang_members").observe(num_members)
        self._of("fairway_gang_wait_seconds").observe(seconds)

    def jobs(self, by_state: Mapping[str, int], num_half_started: int) -> None:
        """How many jobs wait where, and how many run with fewer members than they take."""
        for state, number in by_state.items():
            self._of("fairway_gangs", state).set(number)
        self._of("fairway_gang_half_started").set(num_half_started)

    def books_behind(self, num_jobs: int) -> None:
        """So many jobs are over and not settled."""
        self._of("fairway_books_behind").set(num_jobs)

    # -- the queue -------------------------------------------------------------------------------------------------

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A pod moved (a `fairway.queue.Observer`)."""
        pending = self._pending
        if before is not None and before.value in pending:
            self._count(before.value, -1)
        if place is not None and place.value in pending:
            self._count(place.value, 1)
        asides = (Place.UNSCHEDULABLE, Place.GATED)
        if place in QUEUES and not (before in asides and place in asides):
            self._of("scheduler_queue_incoming_pods_total", QUEUES[place], event).inc()
        self._blame(queued, place)

    def _count(self, queue: str, change: int) -> None:
        self._pending[queue] += change
        self._of("scheduler_pending_pods", queue).set(self._pending[queue])

    def _blame(self, queued: QueuedPod, place: Place | None) -> None:
        """Which plugins a waiting pod was refused by."""
        gone = place is None or place is Place.IN_FLIGHT
        plugins = frozenset() if gone else queued.unschedulable_plugins | queued.pending_plugins
        known = self._blamed.get(queued.uid)
        if known is None and not plugins:
            return
        before = known[1] if known is not None else frozenset()
        for plugin in before - plugins:
            self._of("scheduler_unschedulable_pods", plugin, queued.profile).dec()
        for plugin in plugins - before:
            self._of("scheduler_unschedulable_pods", plugin, queued.profile).inc()
        if plugins:
            self._blamed[queued.uid] = (queued.profile, plugins)
        else:
            self._blamed.pop(queued.uid, None)

    def event_taken_in(self, event: Event, seconds: float) -> None:
        """An event from the API server went into the cluster and the queue."""
        item = event.object
        name = type(item).__name__
        if isinstance(item, Pod):
            name = "AssignedPod" if item.spec.node_name else "UnschedulablePod"
        elif name in STORAGE:
            name = f"storage.k8s.io/{name}"
        self._of("scheduler_event_handling_duration_seconds", name + VERBS[event.verb]).observe(seconds)

    # -- effects ---------------------------------------------------------------------------------------------------

    def preemption_tried(self) -> None:
        """No node fitted, and preemption was looked into."""
        self._of("scheduler_preemption_attempts_total").inc()

    def preempted(self, num_victims: int) -> None:
        """Victims were chosen."""
        self._of("scheduler_preemption_victims").observe(num_victims)

    def preemption_carried_out(self, succeeded: bool, seconds: float) -> None:
        """The victims' removal was asked for, or could not be."""
        result = "success" if succeeded else "error"
        self._of("scheduler_preemption_goroutines_execution_total", result).inc()
        self._of("scheduler_preemption_goroutines_duration_seconds", result).observe(seconds)

    def under_way(self, operation: str, change: int) -> None:
        """One more (1) or less (-1) of an operation under way, such as `binding`."""
        self._of("scheduler_goroutines", operation).inc(change)

    def permit_waited(self, result: str, seconds: float) -> None:
        """A pod that permit plugins held is held no longer."""
        self._of("scheduler_permit_wait_duration_seconds", result).observe(seconds)

    def volume_error(self, operation: str) -> None:
        """A stage of volume scheduling failed."""
        self._of("scheduler_volume_scheduling_stage_error_total", operation).inc()

    def cache(self, nodes: int, pods: int, assumed: int) -> None:
        """How much is in memory."""
        for kind, number in (("nodes", nodes), ("pods", pods), ("assumed_pods", assumed)):
            self._of("scheduler_cache_size", kind).set(number)

    def compared(self) -> None:
        """The cache was compared with the API server."""
        self._of("fairway_cache_comparisons_total").inc()

    def cache_differs(self, difference: str) -> None:
        """Something in the cache was wrong."""
        self._of("fairway_cache_differences_total", difference).inc()

    def leading(self, name: str, is_leading: bool) -> None:
        """Whether this process holds the lease of that name."""
        self._of("leader_election_master_status", name).set(int(is_leading))

    def renewed_slowly(self, name: str) -> None:
        """A renewal had to read the lease before writing it."""
        self._of("leader_election_slowpath_total", name).inc()

    def request(self, verb: str, host: str, code: int, seconds: float) -> None:
        """A request to the API server was answered; `code` is 0 when it was not."""
        self._of("rest_client_requests_total", str(code or "<error>"), verb, host).inc()
        self._of("rest_client_request_duration_seconds", verb, host).observe(seconds)

    def rate_limited(self, verb: str, host: str, seconds: float) -> None:
        """A request waited for the client's own rate limit."""
        self._of("rest_client_rate_limiter_duration_seconds", verb, host).observe(seconds)

    # -- the recording -----------------------------------------------------------------------------------------------

    def recording(self, is_failing: bool) -> None:
        """Whether the recording can be written."""
        self._of("fairway_recording_failing").set(int(is_failing))

    def recording_failed(self) -> None:
        """An attempt to write it failed."""
        self._of("fairway_recording_failures_total").inc()

    def recording_dropped(self, table: str, num_rows: int) -> None:
        """It will lack so many rows of a table."""
        self._of("fairway_recording_dropped_rows_total", table).inc(num_rows)

    # -- followers, each in a thread of its own, to numbers that only that thread writes ----------------------------

    def stream(self, readers: int, events: int, kept: int) -> None:
        """How the stream stands."""
        self._of("fairway_stream_readers").set(readers)
        self._of("fairway_stream_events_total").set(events)
        self._of("fairway_stream_ring_events").set(kept)

    def stream_lost(self, why: str, number: int) -> None:
        """A reader missed so many events."""
        self._of("fairway_stream_lost_total", why).inc(number)

    def sniffer(self, result: str, number: int) -> None:
        """So many messages for a sniffer were sent, failed or were dropped."""
        self._of("fairway_sniffer_sent_total", result).inc(number)

    # -- text ------------------------------------------------------------------------------------------------------

    def render(self) -> bytes:
        """Everything, in the Prometheus text format."""
        return self._instruments.render() + generate_latest(self.registry)
