"""What is left to delete once it is decided that a job, or some of its pods, shall end.

In: a `FailureDecision` as it was written down, the members that are left, the nodes that were lost. Out: actions; none
once all has been done that can be. From state alone, so whoever takes over goes on where the other one stopped. Called
by the desk for every job that is Ending, at each event of its pods and in its sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.batch.actions import Action, DeletePod, MarkDisrupted, Tell
from fairway.batch.failures import FailureDecision, LostNode
from fairway.batch.job import BatchJob
from fairway.model import Pod

__all__ = ["back_off_limit_note", "ending_actions"]


def ending_actions(
    job: BatchJob, decision: FailureDecision, members: Iterable[Pod], lost: Mapping[str, LostNode]
) -> list[Action]:
    """What is left to do to pods after a decision was written down; `lost` by node.

    Pods on lost nodes are told to end like others, which waits for the node; by force only where somebody has said that
    nothing runs there any more: else two of the same name might write to the same disk.
    """
    actions: list[Action] = []
    for pod in members:
        if decision.pods and pod.metadata.uid not in decision.pods:
            continue
        node = lost.get(pod.spec.node_name)
        is_forced = node is not None and (node.is_out_of_service or job.wishes.on_node_loss == "force")
        if pod.is_finished or (pod.is_terminating and not is_forced):
            continue
        if not pod.is_terminating and decision.is_excused:
            actions.append(MarkDisrupted(pod.metadata.uid, "DeletionByFairway", decision.why))
        actions.append(DeletePod(pod.metadata.uid, 0.0 if is_forced else None, decision.why, is_forced, decision.do))
    return actions


def back_off_limit_note(job: BatchJob, decision: FailureDecision, ignores_disruptions: bool) -> Tell | None:
    """What the owner of a controller of kind Job should know before its pods are deleted through no fault of theirs."""
    if ignores_disruptions or not decision.is_excused or decision.do in ("Ignore", "CompleteJob"):
        return None
    words = (
        f"{decision.why}: its pods are deleted, and each counts for the Job's backoffLimit; a podFailurePolicy with "
        "action Ignore on the condition DisruptionTarget leaves them out"
    )
    return Tell(job.key, "BackoffLimitCounts", words, is_warning=True)
