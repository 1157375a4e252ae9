"""Decided pods that permit plugins hold back: by whom, since when, until when; and how each wait ended.

In: `hold`, when plugins want to wait with a pod that has its node; then `allow` and `reject`, by those plugins or any
other, at any time (they reach this as `self.cluster.held`), and `expire`, when time has passed. Out: for the scheduler,
`next_settled`: who may go, and who goes back to the queue and why. A pod waits for every plugin that holds it; one
rejection is enough; what is said after that comes too late. Nothing happens to a pod within these calls: the scheduler
carries it out when it has finished what it is at. For people, `ended` remembers a pod's last wait that was in vain.

As in kube-scheduler 1.36.4, framework/runtime/waiting_pods_map.go, whose words these are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fairway.model import Pod
from fairway.words import go_duration

__all__ = ["MAX_WAIT_SECONDS", "EndedHold", "HeldPod", "HeldPods", "Settled"]

MAX_WAIT_SECONDS: Final = 15 * 60.0
"""No plugin may hold a pod longer, whatever it asks for: `maxTimeout` in framework/runtime/framework.go."""


@dataclass(slots=True)
class HeldPod:
    """A pod that is held back. Its room on the node is kept."""

    pod: Pod
    node: str
    since: float
    seconds: dict[str, float] = field(default_factory=dict)  # by plugin that still holds it: how long at most

    @property
    def uid(self) -> str:
        """The pod's."""
        return self.pod.metadata.uid

    @property
    def plugins(self) -> tuple[str, ...]:
        """Who still holds it, in the order they were asked."""
        return tuple(self.seconds)

    @property
    def deadline(self) -> float:
        """When the first of them loses its patience."""
        return self.since + min(self.seconds.values())


class Settled(NamedTuple):
    """How a wait ended."""

    held: HeldPod
    plugin: str = ""  # who rejected the pod; "" if it may go
    reason: str = ""
    is_preempted: bool = False  # it makes room for another pod, and is tried again

    @property
    def is_allowed(self) -> bool:
        """May the pod be bound?"""
        return not self.plugin


class EndedHold(NamedTuple):
    """A wait that was in vain."""

    plugin: str
    node: str
    since: float
    until: float
    reason: str


class HeldPods:
    """All pods that are held back, of all profiles."""

    def __init__(self) -> None:
        self._pods: dict[str, HeldPod] = {}  # by uid
        self._settled: deque[Settled] = deque()
        self.ended: dict[str, EndedHold] = {}  # by uid, of pods that are still around and not held

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __iter__(self) -> Iterator[HeldPod]:
        """Those that are held now, the longest held first."""
        return iter(list(self._pods.values()))

    def find(self, uid: str) -> HeldPod | None:
        """The pod, if it is held now."""
        return self._pods.get(uid)

    # -- for plugins -------------------------------------------------------------------------------------------------

    def allow(self, uid: str, plugin: str) -> bool:
        """This plugin holds the pod no longer. True: nobody does, and it will be bound."""
        held = self._pods.get(uid)
        if held is None:
            return False
        if held.seconds.keys() <= {plugin}:
            self._settle(Settled(held))
            return True
        held.seconds.pop(plugin, None)
        return False

    def reject(self, uid: str, plugin: str, reason: str) -> bool:
        """Give the pod back to the queue, whoever holds it. False: it is not held, or no longer."""
        held = self._pods.get(uid)
        if held is not None:
            self._settle(Settled(held, plugin, reason))
        return held is not None

    # -- for the scheduler -------------------------------------------------------------------------------------------

    def hold(self, pod: Pod, node: str, seconds: Mapping[str, float], now: float) -> HeldPod:
        """These plugins hold the pod, each so long at most."""
        held = HeldPod(pod, node, now, {name: min(most, MAX_WAIT_SECONDS) for name, most in seconds.items()})
        self._pods[held.uid] = held
        self.ended.pop(held.uid, None)
        return held

    def preempt(self, uid: str, plugin: str) -> bool:
        """The pod makes room for another. False: it is not held."""
        held = self._pods.get(uid)
        if held is not None:
            self._settle(Settled(held, plugin, "preempted", is_preempted=True))
        return held is not None

    def expire(self, now: float) -> None:
        """Reject those whose time is up, each in the name of the plugin that lost its patience."""
        for held in [held for held in self._pods.values() if held.deadline <= now]:
            plugin, seconds = min(held.seconds.items(), key=lambda wait: wait[1])
            self.reject(
                held.uid, plugin, f"rejected due to timeout after waiting {go_duration(seconds)} at plugin {plugin}"
            )

    def next_deadline(self) -> float | None:
        """When `expire` will next find somebody; at once if there is somebody to settle."""
        if self._settled:
            return -float("inf")
        return min((held.deadline for held in self._pods.values()), default=None)

    def next_settled(self) -> Settled | None:
        """The next whose wait has ended, once each, in the order in which that happened."""
        return self._settled.popleft() if self._settled else None

    @property
    def has_settled(self) -> bool:
        """Is there anybody for `next_settled`?"""
        return bool(self._settled)

    def end(self, settled: Settled, now: float) -> None:
        """Remember a wait that was in vain."""
        held = settled.held
        self.ended[held.uid] = EndedHold(settled.plugin, held.node, held.since, now, settled.reason)

    def forget(self, uid: str) -> None:
        """The pod is bound, or gone: nothing is to be said about it any more."""
        self._pods.pop(uid, None)
        self.ended.pop(uid, None)
        if self._settled:
            self._settled = deque(settled for settled in self._settled if settled.held.uid != uid)

    def _settle(self, settled: Settled) -> None:
        del self._pods[settled.held.uid]
        self._settled.append(settled)
