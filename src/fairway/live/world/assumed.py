"""Pods that were bound, until the watch says so too: nothing is assumed for ever.

In: `expect` when the API server has accepted a binding, `confirm` when an event shows a pod on a node. Out: for a pod
of which nothing was heard in time, its state is read; the scheduler hears of that as of any event. `on_lost` is for
the pod that turns out to be without a node after all.
"""

from __future__ import annotations

from collections.abc import Callable

from fairway.live.api.clock import Clock
from fairway.live.world.pod_reader import PodReader
from fairway.model import Pod

__all__ = ["AssumedPods"]

PATIENCE_SECONDS = 15.0


class AssumedPods:
    """Bound pods that the watch has not shown yet."""

    def __init__(
        self,
        reader: PodReader,
        clock: Clock,
        on_lost: Callable[[Pod, str], None],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._on_lost = on_lost
        self._patience = patience_seconds
        self._expected: dict[str, tuple[Pod, float]] = {}  # by uid, oldest first: until when to wait

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, pod: Pod) -> None:
        """The API server has bound the pod; the watch has to show it soon, unless it did already."""
        known = self._reader.known(pod)
        if known is not None and not known.spec.node_name:
            self._expected[pod.metadata.uid] = (pod, self._clock.monotonic() + self._patience)

    def confirm(self, uid: str) -> None:
        """An event showed the pod with a node, or gone."""
        self._expected.pop(uid, None)

    async def run(self) -> None:
        """Look after overdue pods until cancelled."""
        while True:
            await self._clock.sleep(self._patience / 5)
            now = self._clock.monotonic()
            for uid, (pod, deadline) in list(self._expected.items()):
                if deadline > now:
                    break
                if uid not in self._expected:
                    continue  # shown while another was read
                current = await self._reader.read(pod)
                if self._expected.pop(uid, None) is not None and current is not None and not current.spec.node_name:
                    self._on_lost(pod, "the binding was accepted, but the pod has no node")
