"""Pods that wait for something to happen, found by who refused them.

`SchedulingQueue` puts a pod here when no event since its attempt began gives hope, or when a plugin gates it. An event
concerns only the plugins that registered for it, so only the pods that those plugins refused are looked at. The pods
stand in the order in which they were last tried, so the flush looks only at those it will move; `FlushTimes` says when
that is. kube-scheduler 1.36: backend/queue/unschedulable_pods.go, `flushUnschedulablePodsLeftover`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, takewhile
from typing import Final

from fairway.queue.queued_pod import QueuedPod

__all__ = ["FlushTimes", "UnschedulablePods"]

CALLED_BY: Final = frozenset({"Queues"})
"""Plugins whose gates nothing opens but themselves: to look again after a while, as at others, would be in vain."""


class UnschedulablePods:
    """Unschedulable and gated pods, longest untried first, indexed by profile and refusing plugin."""

    def __init__(self) -> None:
        self._pods: OrderedDict[str, QueuedPod] = OrderedDict()
        self._filed: dict[str, set[tuple[str, str]]] = {}  # uid to its keys in the index
        self._index: dict[tuple[str, str], dict[str, QueuedPod]] = {}  # (profile, plugin) to the pods refused
        self._called: dict[str, QueuedPod] = {}  # gated by those who call them: nobody else looks at these
        self._gated: set[str] = set()

    def __len__(self) -> int:
        return len(self._pods) + len(self._called)

    def __iter__(self) -> Iterator[QueuedPod]:
        return chain(self._pods.values(), self._called.values())

    @property
    def num_gated(self) -> int:
        """How many of them a plugin's `pre_enqueue` keeps out."""
        return len(self._gated)

    def put(self, queued: QueuedPod) -> None:
        """Let a pod in, or file one anew that is here already and may have other reasons now."""
        uid = queued.uid
        self._unfile(uid)
        if queued.is_gated and queued.gating_plugin in CALLED_BY:
            self._pods.pop(uid, None)
            self._called[uid] = queued
        else:
            self._called.pop(uid, None)
            self._pods[uid] = queued
        profile = queued.profile
        self._filed[uid] = keys = {(profile, plugin) for plugin in queued.unschedulable_plugins}
        if queued.pending_plugins:
            keys.update((profile, plugin) for plugin in queued.pending_plugins)
        for key in keys:
            group = self._index.get(key)
            if group is None:
                self._index[key] = {uid: queued}
            else:
                group[uid] = queued
        if queued.is_gated:
            self._gated.add(uid)

    def remove(self, queued: QueuedPod) -> None:
        """Take a pod out."""
        uid = queued.uid
        self._unfile(uid)
        del (self._called if uid in self._called else self._pods)[uid]

    def refused_by(self, plugins: Mapping[str, Iterable[str]]) -> list[QueuedPod]:
        """The pods that any of these plugins (per profile) refused, each once."""
        groups = [
            group for profile, names in plugins.items() for name in names if (group := self._index.get((profile, name)))
        ]
        if len(groups) == 1:
            return list(groups[0].values())
        found: dict[str, QueuedPod] = {}
        for group in groups:
            found.update(group)
        return list(found.values())

    def has_refused_by(self, plugins: Mapping[str, Iterable[str]]) -> bool:
        """Is there any pod that one of these plugins (per profile) refused?"""
        return any((profile, name) in self._index for profile, names in plugins.items() for name in names)

    def oldest(self) -> QueuedPod | None:
        """The pod that has gone untried for longest."""
        return next(iter(self._pods.values()), None)

    def untried_for(self, seconds: float, now: float) -> list[QueuedPod]:
        """The pods that have gone untried for longer than that."""
        return list(takewhile(lambda queued: now - queued.last_tried > seconds, self._pods.values()))

    def postpone(self, queued: QueuedPod) -> None:
        """The pod's time starts again: to the end of the line."""
        self._pods.move_to_end(queued.uid)

    def _unfile(self, uid: str) -> None:
        for key in self._filed.pop(uid, ()):
            group = self._index[key]
            del group[uid]
            if not group:
                del self._index[key]
        self._gated.discard(uid)


class FlushTimes:
    """When pods that have waited too long are looked for: at even intervals from the start on."""

    def __init__(self, start: float, interval: float) -> None:
        self._start = start
        self._interval = interval
        self._number = 1  # of the next flush; numbers, not sums of floats, so that times are the same however found

    def due(self, now: float) -> float | None:
        """The latest time up to now, if it was not handed out before."""
        if now < self._time(self._number):
            return None
        # The division may be off by one in the last bit; the times themselves decide.
        number = max(self._number, math.floor((now - self._start) / self._interval) - 1)
        while self._time(number + 1) <= now:
            number += 1
        self._number = number + 1
        return self._time(number)

    def first_after(self, since: float, seconds: float) -> float:
        """The first time yet to come that is more than so many seconds after `since`."""
        number = max(self._number, math.floor((since + seconds - self._start) / self._interval) - 1)
        while self._time(number) - since <= seconds:
            number += 1
        return self._time(number)

    def _time(self, number: int) -> float:
        return self._start + number * self._interval
