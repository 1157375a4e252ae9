"""Time in which nobody led: when pods ended that a desk finds over or gone when it comes.

In: when somebody last led, as the lease says that was taken over. Out: the time at which a pod's end counts. What runs
up to then was seen; what came after was not, and is not charged, unless the pod is still there and its node tells when
it ended. Kept by the book of jobs while it hears of what it missed (`restoration.catch_up`), and asked for every pod
that ended; a process that led all along, or that knows of nobody before it, has none.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.batch.accounts.charges import unwatched_end
from fairway.cluster import Event, Verb
from fairway.model import Pod

__all__ = ["Unwatched", "finish_of", "time_of"]


class Unwatched(NamedTuple):
    """From when on nobody looked."""

    last_led: float
    epoch: float = 0.0  # the time of day when the world's clock showed 0

    def end_of(self, pod: Pod, now: float) -> float:
        """When a pod ended that is over or gone by now."""
        finish = finish_of(pod)
        return unwatched_end(self.last_led, now, None if finish is None else finish - self.epoch)


def time_of(event: Event, unwatched: Unwatched | None, now: float) -> float:
    """When what happened to a pod counts: ends alone may count before they are heard of."""
    pod = event.object
    is_end = event.verb is Verb.DELETED or (isinstance(pod, Pod) and pod.is_finished)
    return unwatched.end_of(pod, now) if unwatched is not None and is_end and isinstance(pod, Pod) else now


def finish_of(pod: Pod) -> float | None:
    """When the last container of a pod that is over ended, in seconds since 1970; None: its node does not tell."""
    ends = [each.state.terminated for each in pod.status.container_statuses]
    times = [each.finished_at for each in ends if each is not None and each.finished_at is not None]
    if not pod.is_finished or not ends or len(times) < len(ends):
        return None
    return max(time.timestamp() for time in times)
