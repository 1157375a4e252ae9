"""Which pods a controller gives up first when it has too many.

In: active pods, how many related pods each node has, and the time. Out: the pods, first to go first: those that have
not got far, then those on crowded nodes, then the young. Matches `ActivePods` and `ActivePodsWithRanks` of
`pkg/controller/controller_utils.go`, Kubernetes 1.36, for pods that are ready as soon as they run.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from typing import Any

from fairway.model import Pod

__all__ = ["by_progress", "by_rank"]

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
PHASES = {"Pending": 0, "": 0, "Unknown": 1, "Running": 2}
NEVER = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


def by_progress(pods: Iterable[Pod]) -> list[Pod]:
    """A Job's order."""
    return sorted(pods, key=_progress)


def _progress(pod: Pod) -> Any:
    ready = pod.status.start_time or NEVER
    return (*_stage(pod), -_seconds(ready) if pod.status.phase == "Running" else 0.0, -_born(pod))


def by_rank(pods: Iterable[Pod], neighbours: Mapping[str, int], now: dt.datetime) -> list[Pod]:
    """A ReplicaSet's order; `neighbours` are the related pods on each node. Ages count by their order of magnitude."""

    def rank(pod: Pod) -> Any:
        running = pod.status.phase == "Running"
        age = _magnitude(now - (pod.status.start_time or NEVER)) if running else 0
        born = _magnitude(now - (pod.metadata.creation_timestamp or NEVER))
        crowd = -neighbours.get(pod.spec.node_name, 0)
        return (*_stage(pod), _cost(pod), crowd, age, born, pod.metadata.uid)

    return sorted(pods, key=rank)


def _stage(pod: Pod) -> tuple[bool, int]:
    return bool(pod.spec.node_name), PHASES.get(pod.status.phase, 2)


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _magnitude(age: dt.timedelta) -> int:
    """The power of two below the age in nanoseconds; the young come first."""
    nanoseconds = age // dt.timedelta(microseconds=1) * 1000
    return math.floor(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _born(pod: Pod) -> float:
    return _seconds(pod.metadata.creation_timestamp or NEVER)


def _seconds(time: dt.datetime) -> float:
    return (time - NEVER).total_seconds()
