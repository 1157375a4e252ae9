"""The metric families that kube-scheduler 1.36 has, and ours (`fairway_...`), as a table: name, type, labels, buckets.

`metrics` makes prometheus_client objects of them. Names, labels and buckets are kube-scheduler's, so that dashboards
and alerts made for it work; the help texts are ours. Families of things Fairway does not do (batching hints,
goroutines of plugins) are there all the same and stay empty or zero: a panel without data is clearer than one with an
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["FAMILIES", "Family", "exponential"]

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric family."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bounds that grow by a factor, multiplied up one after the other as Go's client does it."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


ATTEMPT = exponential(0.001, 2, 15)
POINT = exponential(0.0001, 2, 12)
PLUGIN = exponential(0.00001, 1.5, 20)
HINT = exponential(0.00001, 2, 12)
LONG = exponential(0.01, 2, 20)
WAIT = exponential(1, 2, 20)  # up to six days
REQUEST = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
SIZE = (64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0)

FAMILIES = (
    Family("scheduler_schedule_attempts_total", "counter", ("result", "profile"), "Attempts to schedule a pod."),
    Family(
        "scheduler_scheduling_attempt_duration_seconds",
        "histogram",
        ("result", "profile"),
        "An attempt from pop to binding or failure.",
        ATTEMPT,
    ),
    Family("scheduler_scheduling_algorithm_duration_seconds", "histogram", (), "Finding the node.", ATTEMPT),
    Family(
        "scheduler_pod_scheduling_attempts", "histogram", (), "Attempts until a pod was bound.", exponential(1, 2, 5)
    ),
    Family(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "histogram",
        ("attempts",),
        "From when a pod could first be tried until it was bound.",
        LONG,
    ),
    Family(
        "scheduler_framework_extension_point_duration_seconds",
        "histogram",
        ("extension_point", "status", "profile"),
        "All plugins of an extension point, for one pod.",
        POINT,
    ),
    Family(
        "scheduler_plugin_execution_duration_seconds",
        "histogram",
        ("plugin", "extension_point", "status"),
        "One plugin at one extension point.",
        PLUGIN,
    ),
    Family(
        "scheduler_plugin_evaluation_total",
        "counter",
        ("plugin", "extension_point", "profile"),
        "Attempts in which a plugin took part.",
    ),
    Family("scheduler_pending_pods", "gauge", ("queue",), "Pods that wait, by queue."),
    Family(
        "scheduler_queue_incoming_pods_total", "counter", ("queue", "event"), "Pods put into a queue, by what did it."
    ),
    Family("scheduler_unschedulable_pods", "gauge", ("plugin", "profile"), "Waiting pods that a plugin refused."),
    Family("scheduler_preemption_attempts_total", "counter", (), "Attempts to make room by preemption."),
    Family("scheduler_preemption_victims", "histogram", (), "Pods chosen to go, per preemption.", exponential(1, 2, 7)),
    Family("scheduler_preemption_goroutines_execution_total", "counter", ("result",), "Preemptions carried out."),
    Family(
        "scheduler_preemption_goroutines_duration_seconds", "histogram", ("result",), "Carrying a preemption out.", LONG
    ),
    Family("scheduler_goroutines", "gauge", ("operation",), "Work under way at the same time, by what it is."),
    Family("scheduler_cache_size", "gauge", ("type",), "Nodes, pods and assumed pods in memory."),
    Family("scheduler_event_handling_duration_seconds", "histogram", ("event",), "Taking an event in.", POINT),
    Family(
        "scheduler_queueing_hint_execution_duration_seconds",
        "histogram",
        ("plugin", "event", "hint"),
        "Asking a plugin whether an event helps a pod.",
        PLUGIN,
    ),
    Family("scheduler_inflight_events", "gauge", ("event",), "Events kept for the pods being scheduled."),
    Family("scheduler_batch_attempts_total", "counter", ("profile", "result"), "Batching hints; Fairway has none."),
    Family("scheduler_batch_cache_flushed_total", "counter", ("profile", "reason"), "Batching; Fairway has none."),
    Family(
        "scheduler_get_node_hint_duration_seconds",
        "histogram",
        ("hinted", "profile"),
        "Batching hints; Fairway has none.",
        HINT,
    ),
    Family(
        "scheduler_store_schedule_results_duration_seconds",
        "histogram",
        ("profile",),
        "Batching; Fairway has none.",
        HINT,
    ),
    Family("scheduler_pod_scheduled_after_flush_total", "counter", (), "Pods bound that no event had woken."),
    Family(
        "scheduler_volume_scheduling_stage_error_total", "counter", ("operation",), "Volumes that could not be bound."
    ),
    Family("scheduler_permit_wait_duration_seconds", "histogram", ("result",), "Pods held by permit.", ATTEMPT),
    Family("scheduler_resourceclaim_creates_total", "counter", ("status",), "Claims made for extended resources."),
    Family("scheduler_podgroup_schedule_attempts_total", "counter", ("result", "profile"), "Attempts for pod groups."),
    Family(
        "scheduler_podgroup_scheduling_attempt_duration_seconds",
        "histogram",
        ("result", "profile"),
        "An attempt for a pod group.",
        ATTEMPT,
    ),
    Family(
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "histogram",
        (),
        "Finding the nodes of a pod group.",
        ATTEMPT,
    ),
    Family("fairway_gang_wait_seconds", "histogram", (), "From a job's first member to its start.", LONG),
    Family("fairway_gang_members", "histogram", (), "Members bound when a job started.", exponential(1, 2, 12)),
    Family(
        "fairway_gang_backtracks", "histogram", (), "Moves of the search, per attempt.", (0.0, 1, 2, 4, 8, 16, 32, 64)
    ),
    Family("fairway_gang_half_started", "gauge", (), "Jobs of which fewer members run than they take."),
    Family("fairway_gangs", "gauge", ("state",), "Jobs with members that wait, by where they are."),
    Family("fairway_jobs", "gauge", ("queue", "state", "reason"), "Jobs of queues that are not over."),
    Family("fairway_plan_seconds", "histogram", (), "A pass over the jobs that wait in queues.", LONG),
    Family("fairway_plan_jobs", "gauge", (), "Jobs that waited in the last pass."),
    Family("fairway_job_wait_seconds", "histogram", ("queue",), "Until a job of a queue ran.", WAIT),
    Family("fairway_promises_broken_total", "counter", ("why",), "Jobs that started later than they were promised."),
    Family(
        "fairway_estimate_error_seconds",
        "histogram",
        ("queue",),
        "How far from the first date that it was told a job started that had to wait.",
        WAIT,
    ),
    Family("fairway_account_used", "gauge", ("account",), "What an account has used, in its units."),
    Family("fairway_limit_late_seconds", "histogram", (), "How late a job was told to end.", LONG),
    Family("fairway_books_behind", "gauge", (), "Jobs that are over, and not settled yet: see docs/batch.md."),
    Family("fairway_cache_comparisons_total", "counter", (), "Comparisons of the cache with the API server."),
    Family(
        "fairway_cache_differences_total", "counter", ("difference",), "What was wrong in the cache, and was mended."
    ),
    Family("leader_election_master_status", "gauge", ("name",), "1 while this process holds the lease, else 0."),
    Family("leader_election_slowpath_total", "counter", ("name",), "Renewals that had to read the lease first."),
    Family("rest_client_requests_total", "counter", ("code", "method", "host"), "Requests to the API server."),
    Family("rest_client_request_duration_seconds", "histogram", ("verb", "host"), "Request latency.", REQUEST),
    Family("rest_client_request_size_bytes", "histogram", ("verb", "host"), "Request size.", SIZE),
    Family("rest_client_response_size_bytes", "histogram", ("verb", "host"), "Response size.", SIZE),
    Family(
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        ("verb", "host"),
        "Waiting for the client's own rate limit.",
        REQUEST,
    ),
    Family("fairway_recording_failing", "gauge", (), "1 while the recording can not be written, else 0."),
    Family("fairway_recording_failures_total", "counter", (), "Attempts to write the recording that failed."),
    Family("fairway_recording_dropped_rows_total", "counter", ("table",), "Rows that the recording lacks."),
    Family("fairway_stream_readers", "gauge", (), "Who reads the stream of decisions."),
    Family("fairway_stream_events_total", "counter", (), "Events of the stream."),
    Family("fairway_stream_lost_total", "counter", ("why",), "Events that readers of the stream missed."),
    Family("fairway_stream_ring_events", "gauge", (), "Events that readers can still resume from."),
    Family("fairway_sniffer_sent_total", "counter", ("result",), "Messages for a sniffer, by what became of them."),
)
