"""Measures one run of the decision loop.

In: a cluster and pods as API JSON. Out: a `Measurement`: pods a second, latency of a pod (decide and assume, class
lookup included), the time the first pod of a new class takes, memory, and, apart, the time to decode and load it all.
The garbage collector stays on; what was loaded is frozen first, as a long-running scheduler does, so that it is not
scanned again and again. Called by the command `bench` and by `benchmarks/run.py`.
"""

from __future__ import annotations

import gc
import resource
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter  # noqa: TID251 - this is what measuring is
from typing import Any

import numpy as np

from fairway.cluster import Cluster
from fairway.config import decode_configuration, default_configuration
from fairway.cycle import Profile, Sampling
from fairway.cycle.placing import place
from fairway.model import ApiObject, DecodeError, Pod, decode_object
from fairway.plugins.registry import REGISTRY

__all__ = ["Measurement", "measure", "median_of", "peak_mib"]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured; times in the unit their name ends in."""

    pods_per_second: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    new_class_ms: float | None  # the median over the newcomers, None if there were none
    peak_mib: float  # the most this process ever had resident
    decode_seconds: float  # from API JSON to objects
    load_seconds: float  # from objects to the cluster's tables
    scheduled: int
    failed: int
    nodes: int
    pods: int

    def values(self) -> dict[str, Any]:
        """The same as a mapping, rounded to what is meaningful."""
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in asdict(self).items()}


def measure(  # noqa: PLR0913 - a benchmark has as many settings as a command has options
    objects: Sequence[bytes],
    pods: Sequence[bytes],
    newcomers: Sequence[bytes] = (),
    *,
    config: Any = None,
    source: str = "workload",
    sampling: Sampling = "all",
    seed: int = 0,
    advance: Callable[[float], None] | None = None,
) -> Measurement:
    """Decode, load, then decide about every pod in turn and put it where it belongs."""
    begun = perf_counter()
    things: list[ApiObject] = [decode_object(item, source) for item in objects]
    incoming = [_pod(item, source) for item in pods]
    strangers = [_pod(item, source) for item in newcomers]
    decoded = perf_counter()
    cluster = Cluster()
    cluster.load(things)
    loaded = perf_counter()
    if config is None:
        chosen = default_configuration(REGISTRY)
    else:
        chosen = decode_configuration(config, f"{source}, config", REGISTRY)
    profiles = {one.scheduler_name: Profile(one, cluster, sampling=sampling, seed=seed) for one in chosen.profiles}
    tasks = [(_profile_of(pod, profiles, source), pod) for pod in incoming]
    first_tasks = [(_profile_of(pod, profiles, source), pod) for pod in strangers]
    gc.collect()
    gc.freeze()
    try:
        latencies, scheduled = _decide_all(tasks, advance)
        first = [_time_decision(profile, pod) for profile, pod in first_tasks]
    finally:
        gc.unfreeze()
    return Measurement(
        pods_per_second=len(incoming) / max(float(latencies.sum()), 1e-9),
        p50_ms=float(np.quantile(latencies, 0.5)) * 1000 if len(latencies) else 0.0,
        p99_ms=float(np.quantile(latencies, 0.99)) * 1000 if len(latencies) else 0.0,
        max_ms=float(latencies.max(initial=0.0)) * 1000,
        new_class_ms=statistics.median(first) * 1000 if first else None,
        peak_mib=peak_mib(),
        decode_seconds=decoded - begun,
        load_seconds=loaded - decoded,
        scheduled=scheduled,
        failed=len(incoming) - scheduled,
        nodes=cluster.nodes.num_alive,
        pods=len(incoming),
    )


def median_of(runs: Sequence[Measurement]) -> Measurement:
    """The run with the median speed (of an even number, the slower of the two in the middle)."""
    return sorted(runs, key=lambda run: run.pods_per_second)[(len(runs) - 1) // 2]


def peak_mib() -> float:
    """The most memory this process ever had resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak / 1024


def _pod(data: bytes, source: str) -> Pod:
    pod = decode_object(data, source)
    if not isinstance(pod, Pod):
        raise DecodeError(f"expected a Pod, found a {pod.kind}", source=source)
    return pod


def _profile_of(pod: Pod, profiles: Mapping[str, Profile], source: str) -> Profile:
    """Who decides about the pod; nobody would wait for a scheduler that is not there."""
    name = pod.spec.scheduler_name
    if name not in profiles:
        words = f"{name} is no profile of the configuration; there are: {', '.join(profiles)}"
        raise DecodeError(words, source=source, subject=f"Pod {pod.key}", field="spec.schedulerName")
    return profiles[name]


def _decide_all(
    tasks: Sequence[tuple[Profile, Pod]], advance: Callable[[float], None] | None
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """The loop that is measured. A pod that fits nowhere stays out; its (slower) failure is measured too."""
    latencies = np.zeros(len(tasks))  # (num_pods,)
    scheduled = 0
    for number, (profile, pod) in enumerate(tasks):
        begun = perf_counter()
        if place(profile, pod).is_placed:
            scheduled += 1
        latencies[number] = perf_counter() - begun
        if advance is not None and number % 256 == 255:
            advance(256)
    return latencies, scheduled


def _time_decision(profile: Profile, pod: Pod) -> float:
    begun = perf_counter()
    profile.decide(pod)
    return perf_counter() - begun
