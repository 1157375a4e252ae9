"""The shadow: decides for every pod, binds nothing, and compares with whoever did.

In: the scheduler's wishes, as its world; the watch, which tells where the cluster's own scheduler put each pod. Out: a
`ShadowedPod` for each pod that both have decided about, to a listener, and the counts. A pod that Fairway has placed
counts on its chosen node until the watch shows where it really went; if nobody binds it for a while, it is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fairway.cluster import Event, Verb
from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.live.api.clock import Clock
from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.plugin import Notice, Write
from fairway.queue import Place, QueuedPod
from fairway.scheduler import Scheduler
from fairway.world import GroupBinding

__all__ = ["ShadowWorld", "ShadowedPod"]

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 60.0


class ShadowedPod(NamedTuple):
    """Where one pod went."""

    pod: Pod
    here: str  # the node Fairway chose; "": it found none
    there: str  # the node it got

    @property
    def agrees(self) -> bool:
        """Was it the same?"""
        return self.here == self.there


@dataclass(slots=True)
class Counts:
    """How often both came to the same."""

    num_equal: int = 0
    num_different: int = 0
    num_only_there: int = 0  # bound, though Fairway found no node


class ShadowWorld:
    """A `fairway.scheduler.World` in which nothing happens because of us."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._anchor = clock.now() - clock.monotonic()
        self.on_compared: Callable[[ShadowedPod], None] | None = None
        self._scheduler: Scheduler | None = None
        self._chosen: dict[str, tuple[Pod, str, float]] = {}  # by uid: node, and until when to wait for the cluster
        self._refused: dict[str, str] = {}  # by uid: why no node was found
        self.counts = Counts()

    def attach(self, scheduler: Scheduler) -> None:
        """The scheduler that this is the world of."""
        self._scheduler = scheduler

    # -- the scheduler's world -----------------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since the epoch, by a clock that never goes back."""
        return self._anchor + self._clock.monotonic()

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Remember it; the cluster's own scheduler decides."""
        self._refused.pop(pod.metadata.uid, None)
        self._chosen[pod.metadata.uid] = (pod, node, self._clock.monotonic() + PATIENCE_SECONDS)

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        """Remember it."""
        for binding in bindings:
            self.bind(*binding)

    def recall(self, pods: Sequence[Pod]) -> Sequence[str]:
        """Nothing was asked for."""
        return ()

    def remove(self, pod: Pod, why: str) -> None:
        """Nobody has to go because of us."""

    def hold(self, held: HeldPod) -> None:
        """It is not chosen yet."""

    def settled(self, settled: Settled) -> None:
        """What follows will be told."""

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """Nobody has to go because of us."""

    def write(self, writes: Sequence[Write], pod: Pod) -> None:
        """Nothing is written."""

    def report(self, decision: Decision) -> None:
        """Remember that no node was found."""
        self._refused[decision.pod.metadata.uid] = decision.message

    def tell(self, pod: Pod, notice: Notice) -> None:
        """Events are for the scheduler that decides."""

    def report_group(self, decision: GroupDecision) -> None:
        """Its members were reported one by one."""

    def report_job(self, decision: GroupDecision) -> None:
        """Remember whom no node was found for."""
        for member in decision.members:
            if member.outcome is not Outcome.SCHEDULED:
                self.report(member)

    def job_started(self, job: GroupKey, num_members: int, seconds: float) -> None:
        """Nobody measures it here."""

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        """Events are for the scheduler that decides."""

    # -- what really happens -------------------------------------------------------------------------------------------

    def saw(self, event: Event) -> None:
        """Somebody may have bound a pod that we have an opinion about."""
        item = event.object
        if not isinstance(item, Pod):
            return
        uid, node = item.metadata.uid, item.spec.node_name
        if not node and event.verb is not Verb.DELETED:
            return
        chosen, refused = self._chosen.pop(uid, None), self._refused.pop(uid, None)
        if not node or (chosen is None and refused is None):
            return
        self._compare(ShadowedPod(item, "" if chosen is None else chosen[1], node))

    def _compare(self, comparison: ShadowedPod) -> None:
        counts = self.counts
        if comparison.agrees:
            counts.num_equal += 1
        elif comparison.here:
            counts.num_different += 1
        else:
            counts.num_only_there += 1
        if not comparison.agrees:
            logger.info(
                "decided otherwise",
                extra={"pod": comparison.pod.key, "fairway": comparison.here, "cluster": comparison.there},
            )
        if self.on_compared is not None:
            self.on_compared(comparison)

    # -- what the service asks of any world ----------------------------------------------------------------------------

    def tell_counts(self) -> None:
        """What the comparison has come to, in the log."""
        counts = self.counts
        logger.info(
            "compared with the cluster's own scheduler",
            extra={"same": counts.num_equal, "other": counts.num_different, "only_cluster": counts.num_only_there},
        )

    @property
    def backlog(self) -> int:
        """Nothing is ever under way."""
        return 0

    @property
    def num_assumed(self) -> int:
        """Pods that count on the node we chose."""
        return len(self._chosen)

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """Nobody is told."""

    async def run(self) -> None:
        """Give up, now and then, on pods that nobody bound."""
        while True:
            await self._clock.sleep(PATIENCE_SECONDS / 6)
            now = self._clock.monotonic()
            overdue = [pod for pod, _, deadline in self._chosen.values() if deadline <= now]
            for pod in overdue:
                del self._chosen[pod.metadata.uid]
                assert self._scheduler is not None
                self._scheduler.binding_failed(pod, "the cluster's own scheduler has not bound the pod")

    async def finish(self, seconds: float) -> None:
        """There is nothing to finish."""
