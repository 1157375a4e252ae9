"""DefaultPreemption: make room for a pod by removing less important ones.

The search itself is `fairway.cycle.preemption`, reached through the attempt; this plugin brings the arguments and the
words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairway.model import Pod
from fairway.model.field_problem import out_of_range
from fairway.model.meta import Int32
from fairway.plugin import (
    Action,
    Aspect,
    Attempt,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Plugin,
    PluginArgs,
    PostFilterResult,
    Problem,
    Refusal,
    Resource,
)

BUSY = Refusal(("waiting for the preemption for this pod to be finished",), Code.UNRESOLVABLE)


class DefaultPreemptionArgs(PluginArgs, frozen=True, kw_only=True):
    """How many nodes preemption tries at least: a share of the cluster, and not fewer than a number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        yield from out_of_range("minCandidateNodesPercentage", self.min_candidate_nodes_percentage, 0, 100)
        if self.min_candidate_nodes_absolute < 0:
            yield Problem("minCandidateNodesAbsolute", "it is negative; allowed: 0 or more")
        if self.min_candidate_nodes_percentage == self.min_candidate_nodes_absolute == 0:
            yield Problem(
                "minCandidateNodesPercentage", "it is 0 and so is minCandidateNodesAbsolute; one must be more"
            )


class DefaultPreemption(Plugin):
    """Runs when no node fits."""

    annotations = ()
    Args = DefaultPreemptionArgs
    args: DefaultPreemptionArgs
    reads = Aspect(0)

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """A pod whose victims are still being evicted waits for that."""
        return BUSY if self.cluster.preemptions.is_running(pod.metadata.uid) else None

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """Find the node that is cheapest to clear."""
        result = attempt.preempt(self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute)
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
