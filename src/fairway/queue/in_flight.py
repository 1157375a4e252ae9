"""Pods that were popped and are not done, and what happened since.

`SchedulingQueue` starts a pod here when it is popped, records every change somebody may wait for while anyone is in
flight, and, when an attempt failed, asks what the pod missed. Changes older than the longest-flying pod are forgotten.
kube-scheduler 1.36: `inFlightPods` and `inFlightEvents` in backend/queue/active_queue.go.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice

from fairway.cluster.events import Change

__all__ = ["InFlight"]


class InFlight:
    """A log of changes, and for each pod in flight the point in it where its attempt began."""

    def __init__(self) -> None:
        self._began: OrderedDict[str, int] = OrderedDict()  # uid to position, in increasing order
        self._changes: deque[Change] = deque()
        self._dropped = 0  # how many changes have been forgotten: the position of the first one kept

    def __len__(self) -> int:
        return len(self._began)

    def __contains__(self, uid: str) -> bool:
        return uid in self._began

    def __iter__(self) -> Iterator[str]:
        """The uids, longest in flight first."""
        return iter(self._began)

    @property
    def num_changes(self) -> int:
        """How many changes are remembered."""
        return len(self._changes)

    def start(self, uid: str) -> None:
        """The pod's attempt begins: it knows of everything that has happened so far."""
        self._began[uid] = self._dropped + len(self._changes)

    def record(self, change: Change) -> None:
        """Something happened; remember it while anyone in flight may have missed it."""
        if self._began:
            self._changes.append(change)

    def missed(self, uid: str) -> Iterable[Change]:
        """What happened since the pod's attempt began."""
        return islice(self._changes, self._began[uid] - self._dropped, None)

    def finish(self, uid: str) -> None:
        """The pod's attempt is over. Forget what nobody needs any more."""
        self._began.pop(uid, None)
        if not self._changes:
            return
        if not self._began:
            self._dropped += len(self._changes)
            self._changes.clear()
            return
        oldest = next(iter(self._began.values()))
        while self._dropped < oldest:
            self._changes.popleft()
            self._dropped += 1
