"""One owner's living pods, as the events told them.

In: pods as they come, change and go. Out: which are active (they count), which are going (their deletion was asked
for), and how many run. Kept by every controller for every owner, so that nobody ever lists all pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.model import Pod

__all__ = ["PodBook"]


class PodBook:
    """Pods by uid. Finished pods are not in it."""

    __slots__ = ("active", "going", "num_running")

    def __init__(self) -> None:
        self.active: dict[str, Pod] = {}
        self.going: dict[str, Pod] = {}
        self.num_running = 0  # of the active

    def __len__(self) -> int:
        return len(self.active) + len(self.going)

    def __iter__(self) -> Iterator[Pod]:
        yield from self.active.values()
        yield from self.going.values()

    def put(self, pod: Pod) -> Pod | None:
        """The pod is like this now; returns what it was."""
        uid = pod.metadata.uid
        before = self.active.get(uid)
        if before is not None and not pod.is_terminating:  # its place in the order stays
            self.active[uid] = pod
            self.num_running += _runs(pod) - _runs(before)
            return before
        before = self.drop(uid)
        if pod.is_terminating:
            self.going[uid] = pod
        else:
            self.active[uid] = pod
            self.num_running += _runs(pod)
        return before

    def drop(self, uid: str) -> Pod | None:
        """The pod is gone; returns what it was, None if it was not here."""
        before = self.active.pop(uid, None)
        if before is None:
            return self.going.pop(uid, None)
        self.num_running -= _runs(before)
        return before


def _runs(pod: Pod) -> bool:
    return pod.status.phase == "Running"
