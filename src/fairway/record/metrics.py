"""What a run came to, in numbers.

In: a `Run`. Out: `Metrics`, the same for the same scenario and seed, except for `timing`, which was measured. Called by
`Run.metrics`; `compare` puts the flat form of several runs side by side. `metric_definitions` says what each means.

Pods that no scheduler tried to place (they were on their nodes from the start) count in loads, not in waits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.record.data_metrics import DataMetrics, data_metrics
from fairway.record.distribution import Distribution, jain_index
from fairway.record.exclusive_load import allocated_shares
from fairway.record.gpu_history import GpuMetrics, gpu_metrics
from fairway.record.job_metrics import JobCounts, JobTimes, job_metrics
from fairway.record.load import Floats, LoadHistory, load_history
from fairway.record.placement import Cost, Imbalance, NodesUsed, cost_of, fragmentation, imbalance, nodes_used
from fairway.record.queues.queue_metrics import QueueMetrics, RunMetrics, queue_metrics
from fairway.record.run import Run

__all__ = ["SHORTEST_RUN", "Metrics", "PodCounts", "Timing", "UserMetrics", "measure"]

SHORTEST_RUN = 10.0
"""Seconds a pod counts for at least in slowdowns, so that a pod of a second is not slowed a hundredfold by waiting two
minutes: the bound that is customary for bounded slowdown."""

NUM_CLASSES = 64
WASTED = ("Preempted", "Evicted", "NodeLost", "Failed", "Rejected")


@dataclass(frozen=True, slots=True)
class PodCounts:
    """What became of the pods that schedulers were to place."""

    created: int
    placed: int
    waiting: int  # at the end of the run
    succeeded: int
    failed: int
    evicted: int  # ended by an eviction, a lost node or a refusal of the node
    preempted: int


@dataclass(frozen=True, slots=True)
class UserMetrics:
    """One user's share."""

    pods: int
    wait_mean: float | None
    slowdown_mean: float | None
    service: float  # seconds times the largest share of the cluster, of any resource, that its pods held


@dataclass(frozen=True, slots=True)
class Timing:
    """What the schedulers themselves cost: measured, so different every time."""

    cycle_seconds: Distribution  # of an attempt
    decisions_per_second: float | None  # attempts by the time they took
    plugin_seconds: dict[str, dict[str, float]]  # CPU time by plugin and extension point, where it was recorded


@dataclass(frozen=True, slots=True)
class Metrics:
    """A run in numbers; `fairway.record.metric_definitions` documents each."""

    pods: PodCounts
    wait: Distribution
    waiting_age: Distribution
    slowdown: Distribution
    makespan_seconds: float
    throughput_per_hour: float | None
    utilisation: dict[str, float]  # by resource
    utilisation_peak: dict[str, float]
    utilisation_allocated: dict[str, float]  # empty where nobody had a node exclusively, and there are no queues
    imbalance: dict[str, Imbalance]
    nodes_used: NodesUsed
    cost: Cost | None  # None: no node has a price
    fragmentation: dict[str, float]
    gpu: GpuMetrics | None  # None: no node has GPU devices
    data: DataMetrics | None  # None: no pod read a dataset
    jobs: JobCounts | None  # None: no pods belong together
    job: JobTimes | None
    partial_hold: dict[str, float]  # empty where there are no jobs
    deadlocks: int | None
    deadlock_seconds: float | None
    pooled_seconds: float | None
    blocked_ahead_seconds: float | None
    queues: QueueMetrics | None  # of all jobs in queues; None: there are no queues
    fairness_error: float | None
    queue: dict[str, RunMetrics]  # by queue
    attempts: int
    preemptions: int
    wasted_seconds: dict[str, float]
    fairness_slowdown: float | None
    fairness_service: float | None
    users: dict[str, UserMetrics]
    timing: Timing

    def to_dict(self) -> dict[str, Any]:
        """All of it, nested, ready for JSON."""
        return asdict(self)

    def flat(self) -> dict[str, float]:
        """One number a name: `wait_p95`, `utilisation_cpu`. Users and numbers that do not exist are left out."""
        tree = self.to_dict()
        del tree["users"]
        found: dict[str, float] = {}
        for name, value in tree.items():
            if name == "queues":
                _flatten(value or {}, "", found)
            elif name == "queue":
                parts = {queue: measured | measured.pop("metrics") for queue, measured in value.items()}
                _flatten(parts, "queue_", found)
            else:
                _flatten({name: value}, "", found)
        return found


def measure(run: Run) -> Metrics:
    """Work out all metrics of a run."""
    history = load_history(run)
    pods = run.pods.where("attempts > 0 OR bound_seconds IS NULL").numpy(
        "pod_id",
        "user_name",
        "created_seconds",
        "bound_seconds",
        "started_seconds",
        "ended_seconds",
        "reason",
        "attempts",
    )
    created, bound, ended, reason = (
        pods[name] for name in ("created_seconds", "bound_seconds", "ended_seconds", "reason")
    )
    is_placed = ~np.isnan(bound)
    waits = bound - created  # (num_pods,) NaN where not placed
    slowdowns = _slowdowns(pods)
    is_waiting = ~is_placed & np.isnan(ended)
    makespan = float(np.nan_to_num(ended, nan=run.end_seconds).max() - created.min()) if len(created) else 0.0
    succeeded = int((reason == "Succeeded").sum())
    held, there = history.held.integral(), history.there.integral()
    intervals = run.occupancy.numpy("pod_id", "reason")  # in the order of `history.held`
    wasted = history.held.integral(np.isin(intervals["reason"], WASTED))
    users = _users(history, pods, intervals["pod_id"], waits, slowdowns)
    services = np.array([user.service for user in users.values()])
    jobs = job_metrics(run)
    queues, fairness_error, by_queue = queue_metrics(run) or (None, None, {})
    slowed = np.array([user.slowdown_mean for user in users.values() if user.slowdown_mean is not None])
    return Metrics(
        pods=PodCounts(
            created=len(created),
            placed=int(is_placed.sum()),
            waiting=int(is_waiting.sum()),
            succeeded=succeeded,
            failed=int((reason == "Failed").sum()),
            evicted=int(np.isin(reason, ("Evicted", "NodeLost", "Rejected")).sum()),
            preempted=int((reason == "Preempted").sum()),
        ),
        wait=Distribution.of(waits[is_placed]),
        waiting_age=Distribution.of(run.end_seconds - created[is_waiting]),
        slowdown=Distribution.of(slowdowns[~np.isnan(slowdowns)]),
        makespan_seconds=makespan,
        throughput_per_hour=succeeded * 3600 / makespan if makespan > 0 else None,
        utilisation={
            resource: float(held[number] / there[number])
            for number, resource in enumerate(history.resources)
            if there[number] > 0
        },
        utilisation_peak=_peaks(history),
        utilisation_allocated=allocated_shares(run, history, is_always=queues is not None),
        imbalance=imbalance(history),
        nodes_used=nodes_used(history),
        cost=cost_of(run, history),
        fragmentation=fragmentation(history, *_pod_classes(run)),
        gpu=gpu_metrics(run),
        data=data_metrics(run),
        jobs=None if jobs is None else jobs.jobs,
        job=None if jobs is None else jobs.times,
        partial_hold={} if jobs is None else jobs.partial_hold,
        deadlocks=None if jobs is None else jobs.deadlocks,
        deadlock_seconds=None if jobs is None else jobs.deadlock_seconds,
        pooled_seconds=None if jobs is None else jobs.pooled_seconds,
        blocked_ahead_seconds=None if jobs is None else jobs.blocked_ahead_seconds,
        queues=queues,
        fairness_error=fairness_error,
        queue=by_queue,
        attempts=int(pods["attempts"].sum()),
        preemptions=_preemptions(run),
        wasted_seconds=dict(zip(history.resources, wasted.tolist(), strict=True)),
        fairness_slowdown=jain_index(slowed),
        fairness_service=jain_index(services),
        users=users,
        timing=_timing(run),
    )


def _preemptions(run: Run) -> int:
    """Attempts that evicted pods, for one pod or for a whole job."""
    evicting = run.decisions.where("num_victims > 0")
    if not run.knows_jobs:
        return len(evicting)
    return len(evicting.where("job_decision_id IS NULL")) + len(run.job_decisions.where("num_victims > 0"))


def _slowdowns(pods: dict[str, NDArray[Any]]) -> Floats:
    """Bounded slowdown of pods that ran to their own end, NaN of others: (num_pods,)."""
    is_done = np.isin(pods["reason"], ("Succeeded", "Failed")) & ~np.isnan(pods["started_seconds"])
    ended = pods["ended_seconds"]
    response, seconds = ended - pods["created_seconds"], ended - pods["started_seconds"]
    return np.where(is_done, np.maximum(response / np.maximum(seconds, SHORTEST_RUN), 1.0), np.nan)


def _peaks(history: LoadHistory) -> dict[str, float]:
    """The largest utilisation at any time, by resource."""
    peaks = {}
    for resource in history.resources:
        held, there = history.curve(history.held, resource), history.curve(history.there, resource)
        times = np.unique(np.concatenate([held.times, there.times]))
        times = times[times < history.end]
        used = held.values[np.searchsorted(held.times, times, "right") - 1]
        capacity = there.values[np.searchsorted(there.times, times, "right") - 1]
        if (capacity > 0).any():
            peaks[resource] = float((used[capacity > 0] / capacity[capacity > 0]).max())
    return peaks


def _pod_classes(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The most frequent kinds of requests, (num_classes, num_resources), and how many pods have each."""
    columns = [f'"{column}"' for column in run.resources.values()]
    if not columns:
        return np.zeros((0, 0), np.int64), np.zeros(0, np.int64)
    kinds = run.sql(
        f"SELECT {', '.join(columns)}, count(*) AS num_pods FROM pods WHERE attempts > 0 GROUP BY ALL "
        f"ORDER BY num_pods DESC, {', '.join(columns)} LIMIT {NUM_CLASSES}"
    ).numpy()
    return np.column_stack([kinds[column] for column in run.resources.values()]), kinds["num_pods"]


def _users(
    history: LoadHistory, pods: dict[str, NDArray[Any]], held_by: NDArray[np.int32], waits: Floats, slowdowns: Floats
) -> dict[str, UserMetrics]:
    """Waits, slowdowns and service by user, in the order of their names; `held_by` are the pods of `history.held`."""
    users, number = np.unique(pods["user_name"].astype(str), return_inverse=True)
    num_users = len(users)
    user_of = np.full(max(pods["pod_id"].max(initial=-1), held_by.max(initial=-1)) + 1, num_users, np.intp)
    user_of[pods["pod_id"]] = number  # pods that no scheduler tried are nobody's: the last place
    there = history.there.integral()
    seconds = history.held.end - history.held.begin
    service = np.zeros(num_users)
    for place in np.flatnonzero(there > 0):
        shares = np.bincount(user_of[held_by], seconds * history.held.amounts[:, place], minlength=num_users + 1)
        service = np.maximum(service, shares[:num_users] / there[place] * (history.end - history.begin))
    counts = np.bincount(number, minlength=num_users)
    rows = zip(
        users.tolist(),
        counts.tolist(),
        _means(waits, number, num_users),
        _means(slowdowns, number, num_users),
        service.tolist(),
        strict=True,
    )
    return {user: UserMetrics(*measured) for user, *measured in rows}


def _means(values: Floats, group: NDArray[np.intp], num_groups: int) -> list[float | None]:
    """The mean of each group's numbers, NaN left out; None of a group without any."""
    known = ~np.isnan(values)
    counts = np.bincount(group[known], minlength=num_groups)
    sums = np.bincount(group[known], values[known], minlength=num_groups)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _timing(run: Run) -> Timing:
    seconds = run.decisions.numpy("cycle_seconds")["cycle_seconds"]
    total = float(seconds.sum())
    plugins: dict[str, dict[str, float]] = {}
    for row in run.sql(
        "SELECT plugin, point, sum(cpu_seconds) AS seconds FROM plugin_times GROUP BY ALL ORDER BY plugin, point"
    ).rows():
        plugins.setdefault(row["plugin"], {})[row["point"]] = row["seconds"]
    return Timing(Distribution.of(seconds), len(seconds) / total if total > 0 else None, plugins)


def _flatten(tree: dict[str, Any], prefix: str, found: dict[str, float]) -> None:
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            _flatten(value, f"{path}_", found)
        elif value is not None:
            found[path] = value
