"""What each metric means, in which unit, and which way is better.

`Metrics.flat` names them: a name here, or one here followed by a resource or a plugin. Read by `compare` (units, signs)
and by `docs/run-schema.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

__all__ = ["DEFINITIONS", "QUEUE_METRICS", "Definition", "definition_of"]


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric, or one for each resource."""

    name: str  # {} stands for a resource, a queue, or a plugin and its extension point
    unit: str
    better: Literal["lower", "higher", ""]  # empty: neither
    meaning: str


WAIT = "from a pod's creation to its binding, of pods that a scheduler placed"
AGE = "how long pods that are still waiting at the end of the run have waited"
SLOWDOWN = (
    "time from creation to end over time from start to end, of pods that succeeded or failed; runs shorter than 10 s "
    "count as 10 s, and no slowdown is less than 1"
)


READ = "datasets that pods read, each time one begins to run (simulations)"
COST = "what an average day costs by the nodes' prices (fairway.dev/price, an hour)"
STRANDED = "idle, but of no use to a typical pod of the run, which lacks CPU, a device, a model, or needs no device"
JOB_WAIT = "from when a job is complete, with as many members as it takes and none of them gated, to its start"
JOB_SPREAD = "from the binding of a job's first member to its start, of jobs that started"
DEADLOCK = "jobs that have not started hold room, none can complete, and one could if the others held nothing"
POOLED = "a gang of mode `pfnet` is ready, and waits for the next pod of any kind that gets a node"
BLOCKED = "a job stands ready and fits, and is not tried because of others before it; looked at every 10 s"
PARTIAL_HOLD = "room that permit plugins keep for members of jobs that have not started"


def _distribution(name: str, unit: str, better: Literal["lower", "higher", ""], meaning: str) -> list[Definition]:
    parts = {"mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile", "max": "largest"}
    return [
        Definition(f"{name}_count", "", "", f"how many: {meaning}"),
        *(Definition(f"{name}_{part}", unit, better, f"{word}: {meaning}") for part, word in parts.items()),
    ]


JOB_WAITS: Final = _distribution("job_wait", "s", "lower", JOB_WAIT)
JOB_SLOWDOWN = (
    "time from when a job of a queue came to its end, waits after a first start aside, over the time it ran, of jobs "
    "that are over; runs shorter than 10 s count as 10 s, and no slowdown is less than 1"
)
BIG_WAIT = "from when a job of a queue came to its first run, of jobs that take a quarter of the machine or more"
ESTIMATE = "of how far the first date (likely) that a job was told is from its start, of jobs that had to wait"
QUEUE_METRICS: Final = (
    *_distribution("job_slowdown", "×", "lower", JOB_SLOWDOWN),
    *_distribution("wait_big", "s", "lower", BIG_WAIT),
    Definition("estimate_error_p50", "s", "lower", f"median {ESTIMATE}"),
    Definition("estimate_error_p95", "s", "lower", f"95th percentile {ESTIMATE}"),
    Definition(
        "safe_held", "share", "higher", "jobs that had to wait and started by the first safe date they were told"
    ),
    Definition(
        "promises_kept", "share", "higher", "jobs that were promised a date and started by it, or a minute later"
    ),
    Definition("backfilled", "jobs", "", "started while another one was first of their queue, and went on waiting"),
    Definition(
        "preempted_node_hours", "h", "lower", "nodes times hours that jobs of queues had run and lost to others"
    ),
    Definition(
        "refunded", "units", "lower", "charged and given back: runs that were lost through no fault of the user"
    ),
    Definition("limit_late_max", "s", "lower", "the latest that a job was told to end after its limit and overTime"),
    Definition(
        "fairness_error",
        "share",
        "lower",
        "mean of |used share − entitled share| over accounts with waiting jobs and over time; used: of what all jobs "
        "cost a second",
    ),
)
"""Of runs with queues, all of them together; and each queue's, under its name."""


DEFINITIONS: Final = (
    Definition("pods_created", "pods", "", "pods that schedulers were to place"),
    Definition("pods_placed", "pods", "higher", "of those, bound to a node"),
    Definition("pods_waiting", "pods", "lower", "waiting at the end of the run"),
    Definition("pods_succeeded", "pods", "higher", "ended well"),
    Definition("pods_failed", "pods", "lower", "ended badly by themselves"),
    Definition("pods_evicted", "pods", "lower", "ended by an eviction, a lost node or a node's refusal"),
    Definition("pods_preempted", "pods", "lower", "evicted for a more important pod"),
    *_distribution("wait", "s", "lower", WAIT),
    *_distribution("waiting_age", "s", "lower", AGE),
    *_distribution("slowdown", "×", "lower", SLOWDOWN),
    Definition("makespan_seconds", "s", "lower", "from the first pod's creation to the last one's end, or the run's"),
    Definition("throughput_per_hour", "pods/h", "higher", "pods that succeeded by makespan"),
    Definition("utilisation_{}", "share", "higher", "requested amounts times seconds by what ready nodes had"),
    Definition("utilisation_peak_{}", "share", "", "the largest at any time"),
    Definition(
        "utilisation_allocated_{}",
        "share",
        "",
        "as utilisation, but nodes that somebody has exclusively count as a whole; only where somebody has, or there "
        "are queues",
    ),
    Definition("imbalance_{}_spread", "share", "lower", "largest minus smallest utilisation of a node, over time"),
    Definition("imbalance_{}_std", "share", "lower", "standard deviation of the nodes' utilisations, over time"),
    Definition("imbalance_{}_cv", "", "lower", "the same by their mean: the coefficient of variation, over time"),
    Definition("nodes_used_mean", "nodes", "lower", "nodes with at least one pod, over time"),
    Definition("nodes_used_peak", "nodes", "lower", "the most at any time"),
    Definition("nodes_used_ever", "nodes", "", "nodes that had a pod at any time"),
    Definition("cost_per_day", "", "lower", f"{COST}, of all nodes while they are there"),
    Definition("cost_used_per_day", "", "lower", f"{COST}, of nodes while they have at least one pod"),
    Definition("cost_unpriced_nodes", "nodes", "", "nodes without a price, which count as free of charge"),
    Definition(
        "fragmentation_{}",
        "share",
        "lower",
        "share of what is free on nodes where a pod of the workload does not fit, averaged over the pods that ask for "
        "the resource (of the 64 most frequent kinds) and over time",
    ),
    Definition("gpu_total", "GPUs", "", "devices of ready nodes, over time"),
    Definition("gpu_allocated", "share", "higher", "of the devices, shares of devices counted as such, over time"),
    Definition("gpu_allocated_peak", "share", "", "the largest at any time"),
    Definition("gpu_fragmentation_amount", "GPUs", "lower", f"{STRANDED}, over time"),
    Definition("gpu_fragmentation_rate", "share", "lower", f"of all devices: {STRANDED}, over time"),
    Definition("gpu_fragmentation_ratio", "share", "lower", f"of the idle devices: {STRANDED}, over time"),
    Definition(
        "gpu_idle_{}", "share", "", "of all devices: idle, by what keeps a typical pod from using it, over time"
    ),
    Definition("data_reads", "", "", f"{READ}, counted"),
    Definition("data_share_{}", "share", "", f"{READ}, by the nearest label that its node shares with a copy's"),
    Definition("data_remote_share", "share", "lower", f"{READ}, from another node than the pod's own"),
    Definition("data_remote_gib", "GiB", "lower", "how much data that was, of datasets that have a size"),
    Definition("data_remote_hours", "h", "lower", "run time of pods that read from other nodes, by the share of reads"),
    Definition("data_extra_hours", "h", "lower", "run time that reading from afar has added (spec.dataReads)"),
    Definition("jobs_created", "jobs", "", "pods that belong together count as one, whatever they ask for"),
    Definition("jobs_started", "jobs", "higher", "of those, as many members bound as have to start together"),
    *JOB_WAITS,
    *_distribution("job_start_spread", "s", "lower", JOB_SPREAD),
    Definition("job_attempts", "", "lower", "attempts to start a job"),
    Definition("partial_hold_node_hours", "h", "lower", f"nodes times hours: {PARTIAL_HOLD}; a node counts once"),
    Definition("partial_hold_{}", "amount·s", "lower", f"amounts times seconds: {PARTIAL_HOLD}"),
    Definition("deadlocks", "", "lower", f"{DEADLOCK}, counted (simulations)"),
    Definition("deadlock_seconds", "s", "lower", f"{DEADLOCK}, for so long (simulations)"),
    Definition("pooled_seconds", "s", "lower", f"jobs times seconds: {POOLED} (simulations)"),
    Definition("blocked_ahead_seconds", "s", "lower", f"jobs times seconds: {BLOCKED} (`record: {{gangs: true}}`)"),
    *QUEUE_METRICS,
    Definition("queue_{}_jobs_started", "jobs", "higher", "the same of one queue"),
    *(replace(each, name=f"queue_{{}}_{each.name}", meaning=f"of one queue: {each.meaning}") for each in JOB_WAITS),
    Definition(
        "queue_{}_utilisation_allocated",
        "share",
        "",
        "of one queue: the largest share of the cluster, of any resource, that its jobs held over time",
    ),
    *(replace(each, name=f"queue_{{}}_{each.name}", meaning=f"of one queue: {each.meaning}") for each in QUEUE_METRICS),
    Definition("attempts", "", "lower", "attempts to place a pod"),
    Definition("preemptions", "", "lower", "attempts that evicted pods"),
    Definition("wasted_seconds_{}", "amount·s", "lower", "held by pods that were evicted, lost, refused or failed"),
    Definition("fairness_slowdown", "", "higher", "Jain's index of the users' mean slowdowns"),
    Definition(
        "fairness_service",
        "",
        "higher",
        "Jain's index of the users' service: the largest share of the cluster, of any resource, that their pods held",
    ),
    *_distribution("timing_cycle_seconds", "s", "lower", "time that an attempt took the scheduler (measured)"),
    Definition("timing_decisions_per_second", "1/s", "higher", "attempts by the time they took (measured)"),
    Definition("timing_plugin_seconds_{}", "s", "lower", "CPU time of a plugin at an extension point (measured)"),
)
"""All metrics, in the order of `Metrics.flat`."""


def definition_of(name: str) -> Definition | None:
    """The definition of a metric by its flat name; None if there is no such metric."""
    found = None
    for definition in DEFINITIONS:
        before, placeholder, after = definition.name.partition("{}")
        is_it = name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
        if name == definition.name:
            return definition
        if placeholder and is_it and (found is None or len(definition.name) > len(found.name)):
            found = definition  # the longest fits best: utilisation_peak_cpu is no utilisation of peak_cpu
    return found
