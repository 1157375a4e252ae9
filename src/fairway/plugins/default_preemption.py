"""DefaultPreemption: make room for a pod by removing less important ones.

The search itself is `fairway.cycle.preemption`, reached through the attempt; this plugin brings the arguments and the
words.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.model import Pod
from fairway.model.scheduler_args import DefaultPreemptionArgs
from fairway.plugin import (
    Action,
    Aspect,
    Attempt,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Plugin,
    PostFilterResult,
    Refusal,
    Resource,
)

BUSY = Refusal(("waiting for the preemption for this pod to be finished",), Code.UNRESOLVABLE)


class DefaultPreemption(Plugin):
    """Runs when no node fits."""

    reads = Aspect(0)

    def __init__(self, cluster: Cluster, args: DefaultPreemptionArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._limits = args or DefaultPreemptionArgs()

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """A pod whose victims are still being evicted waits for that."""
        return BUSY if self.cluster.preemptions.is_running(pod.metadata.uid) else None

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """Find the node that is cheapest to clear."""
        result = attempt.preempt(self._limits.min_candidate_nodes_percentage, self._limits.min_candidate_nodes_absolute)
        if result.refusal is None:
            return result
        words = ", ".join(result.refusal.reasons)
        refusal = Refusal((f"preemption: {words}",), result.refusal.code)
        return PostFilterResult(refusal, clear_nomination=result.clear_nomination)

    def events(self) -> Sequence[Hint]:
        """A victim that is gone frees a waiting preemptor from its gate; whether to retry is for others to say."""
        return (Hint(ClusterEvent(Resource.POD, Action.DELETE), _never),)


def _never(_: Pod, __: Change) -> bool:
    return False
