"""What a run came to, in numbers.

In: a `Run`. Out: `Metrics`, the same for the same run on every machine, except for `timing`, which was measured. Called
by `Run.metrics`; `compare` puts the flat form of several runs side by side. `DEFINITIONS` says what each number means.

Pods that no scheduler tried to place (they were on their nodes from the start) count in loads, not in waits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairway.record.distribution import Distribution, jain_index
from fairway.record.load import Floats, LoadHistory, load_history
from fairway.record.placement import Imbalance, NodesUsed, fragmentation, imbalance, nodes_used
from fairway.record.run import Run

__all__ = ["DEFINITIONS", "Definition", "Metrics", "PodCounts", "Timing", "UserMetrics", "measure"]

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

    cycle_seconds: Distribution  # CPU time of an attempt
    decisions_per_second: float | None  # attempts by their CPU time
    plugin_seconds: dict[str, float]  # CPU time by plugin, where it was recorded


@dataclass(frozen=True, slots=True)
class Metrics:
    """A run in numbers; `DEFINITIONS` documents them."""

    pods: PodCounts
    wait: Distribution
    waiting_age: Distribution
    slowdown: Distribution
    makespan_seconds: float
    throughput_per_hour: float | None
    utilisation: dict[str, float]  # by resource
    utilisation_peak: dict[str, float]
    imbalance: dict[str, Imbalance]
    nodes_used: NodesUsed
    fragmentation: dict[str, float]
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
        """One number a name: `wait_p95`, `utilisation_cpu`; numbers that do not exist are left out, and so are users."""
        tree = self.to_dict()
        del tree["users"]
        found: dict[str, float] = {}
        _flatten(tree, "", found)
        return found


def measure(run: Run) -> Metrics:
    """Work out all metrics of a run."""
    history = load_history(run)
    pods = run.pods.where("attempts > 0 OR bound_seconds IS NULL").numpy(
        "user_name", "created_seconds", "bound_seconds", "started_seconds", "ended_seconds", "reason", "attempts"
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
    users = _users(run, history, pods["user_name"], waits, slowdowns)
    services = np.array([user.service for user in users.values()])
    slowed = np.array([user.slowdown_mean for user in users.values() if user.slowdown_mean is not None])
    held, there = history.held.integral(), history.there.integral()
    wasted = run.occupancy.where(f"reason IN {WASTED}")
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
        imbalance=imbalance(history),
        nodes_used=nodes_used(history),
        fragmentation=fragmentation(history, *_pod_classes(run)),
        attempts=int(pods["attempts"].sum()),
        preemptions=len(run.decisions.where("num_victims > 0")),
        wasted_seconds={
            resource: float(
                wasted.select(f'coalesce(sum("{column}"::DOUBLE * (to_seconds - from_seconds)), 0.0) AS seconds')
                .unordered()
                .numpy()["seconds"][0]
            )
            for resource, column in run.resources.items()
        },
        fairness_slowdown=jain_index(slowed),
        fairness_service=jain_index(services),
        users=users,
        timing=_timing(run),
    )


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
    run: Run, history: LoadHistory, names: NDArray[Any], waits: Floats, slowdowns: Floats
) -> dict[str, UserMetrics]:
    """Waits, slowdowns and service by user, in the order of their names."""
    users, number = np.unique(names.astype(str), return_inverse=True)
    there = history.there.integral()
    service = np.zeros(len(users))
    shares = [
        f'sum("{column}"::DOUBLE * (coalesce(to_seconds, $1) - from_seconds)) / {there[place]!r}'
        for place, column in enumerate(run.resources.values())
        if there[place] > 0
    ]
    if shares:
        length = history.end - history.begin
        held = run.sql(
            f"SELECT user_name, greatest({', '.join(f'o.{share}' if False else share for share in shares)}) AS share "
            "FROM occupancy JOIN (SELECT pod_id, user_name FROM pods WHERE attempts > 0) USING (pod_id) GROUP BY ALL",
            run.end_seconds,
        )
        by_user = {row["user_name"]: row["share"] * length for row in held.rows()}
        service = np.array([by_user.get(user, 0.0) for user in users.tolist()])
    counts = np.bincount(number, minlength=len(users))
    return {
        user: UserMetrics(int(counts[place]), wait, slowdown, float(service[place]))
        for place, (user, wait, slowdown) in enumerate(
            zip(users.tolist(), _means(waits, number, len(users)), _means(slowdowns, number, len(users)), strict=True)
        )
    }


def _means(values: Floats, group: NDArray[np.intp], num_groups: int) -> list[float | None]:
    """The mean of each group's numbers, NaN left out; None of a group without any."""
    known = ~np.isnan(values)
    counts = np.bincount(group[known], minlength=num_groups)
    sums = np.bincount(group[known], values[known], minlength=num_groups)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _timing(run: Run) -> Timing:
    seconds = run.decisions.numpy("cycle_seconds")["cycle_seconds"]
    total = float(seconds.sum())
    plugins = run.sql("SELECT plugin, sum(cpu_seconds) AS seconds FROM plugin_times GROUP BY plugin ORDER BY plugin")
    return Timing(
        Distribution.of(seconds),
        len(seconds) / total if total > 0 else None,
        {row["plugin"]: row["seconds"] for row in plugins.rows()},
    )


def _flatten(tree: dict[str, Any], prefix: str, found: dict[str, float]) -> None:
    for name, value in tree.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict):
            _flatten(value, f"{path}_", found)
        elif value is not None:
            found[path] = value
