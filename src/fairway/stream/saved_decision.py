"""An attempt that was told, as the decision that it was.

In: an `Attempt` of the stream, and the pod. Out: a `Decision` that a recorder writes down as the one over there did:
the same outcome, counts of refused nodes, victims and words. Called by `saving`.
"""

from __future__ import annotations

from typing import Final, get_args

import numpy as np

from fairway.cycle import Decision, Diagnosis, Outcome
from fairway.cycle.decision import Preemption, Via
from fairway.model import ObjectMeta, Pod
from fairway.plugin import Candidate, Code, PodClass, Refusal
from fairway.stream.told import Attempt, PodRef

__all__ = ["decision_of"]

CODES: Final = {code.value: code for code in Code}
OUTCOMES: Final = {outcome.value: outcome for outcome in Outcome}
MOST_NODES: Final = 10_000_000
VIAS: Final = {via: via for via in get_args(Via)}


def decision_of(attempt: Attempt, pod: Pod, pod_class: PodClass) -> Decision:
    """The decision; an outcome that this version does not know is an error that says so."""
    outcome = OUTCOMES.get(attempt.outcome, Outcome.ERROR)
    decision = Decision(
        pod,
        pod_class,
        outcome,
        node=attempt.node,
        attempt=attempt.attempt,
        via=VIAS.get(attempt.via),
        num_feasible=attempt.num_feasible,
        score=attempt.score,
        num_best=attempt.num_best,
    )
    if outcome is Outcome.SCHEDULED:
        return decision
    if outcome is Outcome.GATED:
        decision.gate = ("", Refusal((attempt.message,)))
        return decision
    decision.error = attempt.message
    if sum(refused.num_nodes for refused in attempt.refused) > MOST_NODES:
        return decision  # no cluster has so many
    if attempt.refused or outcome is Outcome.UNSCHEDULABLE:
        decision.diagnosis = _diagnosis(attempt)
    if attempt.nominated_node:
        victims = tuple(map(_victim, attempt.victims))
        decision.preemption = Preemption(
            attempted=True,
            code=None,
            reasons=(),
            chosen=Candidate(-1, victims, 0),
            nominated_node=attempt.nominated_node,
        )
    return decision


def _diagnosis(attempt: Attempt) -> Diagnosis:
    total = sum(refused.num_nodes for refused in attempt.refused)
    diagnosis = Diagnosis(total, attempt.num_nodes)
    start = 0
    for refused in attempt.refused:
        rows = np.arange(start, start + refused.num_nodes)
        diagnosis.refuse(refused.plugin, rows, Refusal((refused.reason,), CODES.get(refused.code, Code.UNSCHEDULABLE)))
        start += refused.num_nodes
    return diagnosis


def _victim(ref: PodRef) -> Pod:
    return Pod(metadata=ObjectMeta(name=ref.name, namespace=ref.namespace, uid=ref.uid))
