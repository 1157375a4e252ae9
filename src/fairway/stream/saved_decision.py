"""An attempt that was told, as the decision that it was.

In: an `Attempt` of the stream, and the pod; or a `JobAttempt`, and its members' decisions. Out: a `Decision`, or a
`GroupDecision`, that a recorder writes down as the one over there did: the same outcome, counts of refused nodes,
victims and words. Called by `saving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

import numpy as np

from fairway.cycle import Decision, Diagnosis, Outcome
from fairway.cycle.decision import Preemption, Via
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome, GroupVictim
from fairway.model import ObjectMeta, Pod
from fairway.model.group import GroupKey, Spelling
from fairway.plugin import Candidate, Code, PodClass, Refusal, with_spec
from fairway.stream.told import Attempt, JobAttempt, PodRef

__all__ = ["decision_of", "group_decision_of"]

CODES: Final = {code.value: code for code in Code}
OUTCOMES: Final = {outcome.value: outcome for outcome in Outcome}
JOB_OUTCOMES: Final = {outcome.value: outcome for outcome in GroupOutcome}
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
    if outcome is Outcome.ERROR:
        decision.error = attempt.message
    else:
        decision.words = attempt.message
    decision.promise = attempt.promised_node
    if sum(refused.num_nodes for refused in attempt.refused) > MOST_NODES:
        return decision  # no cluster has so many
    if attempt.refused or attempt.num_nodes:
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


def group_decision_of(tried: JobAttempt, members: Sequence[Decision]) -> GroupDecision:
    """The decision about a job, with those about its members; ValueError if it is a job of a kind that nobody knows."""
    return GroupDecision(
        GroupKey(Spelling(tried.job.spelling), tried.job.namespace, tried.job.name),
        JOB_OUTCOMES.get(tried.outcome, GroupOutcome.ERROR),
        list(members),
        tried.message,
        [GroupVictim(with_spec(_victim(one.pod), node_name=one.node), None) for one in tried.victims],
        domain=tried.domain,
        blocking="" if tried.blocking is None else tried.blocking.uid,
        missing=tried.missing or 0,
        level=tried.domain_key,
        num_backtracks=tried.num_backtracks,
        is_exhausted=tried.is_exhausted,
        resource=tried.resource,
        num_domains=tried.num_domains or 0,
        attempt=tried.attempt,
    )


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
