"""How long pods rest and wait, and by which clock: the queue's settings, with kube-scheduler 1.36's defaults.

`KubeSchedulerConfiguration` sets the backoffs (`podInitialBackoffSeconds`, `podMaxBackoffSeconds`), kube-scheduler's
flag `--pod-max-in-unschedulable-pods-duration` the third; the interval of the flush is fixed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Clock", "QueueSettings"]


class Clock(Protocol):
    """What time it is: real in `live/`, virtual in `sim/`."""

    def now(self) -> float:
        """Seconds; never less than before."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Seconds. ValueError if a setting makes no sense."""

    initial_backoff_seconds: float = 1.0  # after the first failure; doubles with each further one
    max_backoff_seconds: float = 10.0  # 0 turns backoffs off
    max_unschedulable_seconds: float = 300.0  # a pod that waited longer for a helpful event is tried without one
    flush_interval_seconds: float = 30.0  # how often such pods are looked for

    def __post_init__(self) -> None:
        if not 0 <= self.initial_backoff_seconds <= self.max_backoff_seconds:
            raise ValueError(
                f"initial_backoff_seconds ({self.initial_backoff_seconds}) must be at least 0 and at most "
                f"max_backoff_seconds ({self.max_backoff_seconds})"
            )
        if self.max_unschedulable_seconds < 0:
            raise ValueError(f"max_unschedulable_seconds must be at least 0, not {self.max_unschedulable_seconds}")
        if self.flush_interval_seconds <= 0:
            raise ValueError(f"flush_interval_seconds must be more than 0, not {self.flush_interval_seconds}")
