"""Pods for which room is being made: their victims are being asked to go, and have not all been asked yet.

In: `begin` when the world starts to evict for a pod, `wait_for_last` when one victim is left, `end` when all were
asked. Out: `is_running`, for DefaultPreemption's gate: to try such a pod would only choose the same victims again.
kube-scheduler 1.36: `preempting` and `lastVictimsPendingPreemption` in framework/preemption/executor.go.
"""

from __future__ import annotations

from fairway.cluster.pods import PodTable

__all__ = ["Preemptions"]

SEVERAL = ""


class Preemptions:
    """Who waits for victims that do not know yet."""

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self._last: dict[str, str] = {}  # by the preemptor's uid: the uid of the only victim left, or `SEVERAL`

    def begin(self, uid: str) -> None:
        """Victims are being asked to go, for the pod with that uid."""
        self._last[uid] = SEVERAL

    def wait_for_last(self, uid: str, victim: str) -> None:
        """All others know: only this victim is left."""
        self._last[uid] = victim

    def end(self, uid: str) -> None:
        """All victims know, or it was given up."""
        self._last.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Is room being made for that pod?

        A last victim that leaves already is news which the pod must not miss, though the answer is still on its way.
        """
        last = self._last.get(uid)
        if last is None or last == SEVERAL:
            return last is not None
        placed = self._pods.by_uid.get(last)
        return placed is not None and not placed.terminating
