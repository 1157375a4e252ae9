"""What becomes of a job when something happens to its pods or nodes.

In: what is seen of a job that starts or runs (`JobSight`: members that run, incidents, lost nodes), the rules of its
queue, its ledger's counts, the time. Out: one `FailureDecision`, or None as long as nothing has to be done. Of the
queue's rules the first that fits counts; then what holds by default: lost nodes, a job that never started, a gang with
too few members. From state alone: the desk asks at each pass and event while the job is Starting or Running, writes the
decision down in one write (which counts it), and then lets `endings` say what is left to delete, until nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from fairway.batch.job import BatchJob, FailureDecision, Incident
from fairway.batch.reasons import JobOutcome
from fairway.model.batch import FailureRule, FailureRules
from fairway.words import length_text

__all__ = [
    "START_WITHIN",
    "WAIT_FOR_NODE",
    "FailureDecision",
    "Incident",
    "JobSight",
    "LostNode",
    "back_off",
    "failure_decision",
    "requeue_decision",
]

START_WITHIN: Final = 1800.0
"""Seconds after which a job that was placed and does not run is taken back."""
WAIT_FOR_NODE: Final = 3600.0
FIRST_BACK_OFF: Final = 60.0
LONGEST_BACK_OFF: Final = 3600.0


class LostNode(NamedTuple):
    """A node that does not answer, or is gone, or came back as another one."""

    name: str
    since: float
    is_certain: bool = False  # its object is gone, or it has booted since: nothing to wait for
    is_out_of_service: bool = False  # somebody has made sure that nothing runs there any more


@dataclass(frozen=True, slots=True)
class JobSight:
    """What is seen of a job."""

    num_running: int  # members that run on nodes that answer
    since: float  # the end of its last interval, for one that starts: when its pods were placed
    is_starting: bool = False
    incidents: tuple[Incident, ...] = ()
    lost: tuple[LostNode, ...] = ()  # nodes with members on them


def back_off(times: int) -> float:
    """Seconds to wait before the next try, after so many."""
    return min(FIRST_BACK_OFF * 2.0 ** min(times, 10), LONGEST_BACK_OFF)


def failure_decision(job: BatchJob, sight: JobSight, rules: FailureRules, now: float) -> FailureDecision | None:
    """What has to be done now; None: nothing, or not yet."""
    lost = [node for node in sight.lost if node.is_certain or now - node.since >= rules.lost_after]
    incidents = [*sight.incidents, *_lost_incidents(job, lost)]
    if sight.is_starting and sight.num_running < job.min_count and now - sight.since >= START_WITHIN:
        incidents.append(Incident("NeverStarted", sight.since + START_WITHIN))
    ignored: set[Incident] = set()
    for rule in rules.rules:
        fitting = [each for each in incidents if _fits(rule, each, now) and each not in ignored]
        if not fitting:
            continue
        decision = _by_rule(job, rule, fitting, now)
        if decision.do != "Ignore":
            return decision
        ignored.update(fitting)
    return _by_default(job, sight, rules, lost, [each for each in incidents if each not in ignored], now)


def requeue_decision(job: BatchJob, why: str, refund: str = "") -> FailureDecision:
    """A job that we end ourselves (a window, a lender, a higher tier) waits again; nothing counts against it.

    `refund` says to what its last run was lost, if it is given back.
    """
    return _anew(job, FailureDecision("Requeue", why, is_excused=True, refund=refund), JobOutcome.CANCELLED)


def _lost_incidents(job: BatchJob, lost: Iterable[LostNode]) -> list[Incident]:
    since = {node.name: node.since for node in lost}
    return [
        Incident("NodeLost", since[pod.spec.node_name], uid, is_excused=True)
        for uid, pod in job.members.items()
        if pod.spec.node_name in since
    ]


def _fits(rule: FailureRule, incident: Incident, now: float) -> bool:
    if rule.on == "exitCodes":
        fits = incident.kind == "PodFailed" and incident.exit_code is not None and incident.exit_code in rule.codes
    else:
        fits = rule.on == incident.kind
    return fits and rule.task in ("", incident.task) and now - incident.since >= rule.after


def _by_rule(job: BatchJob, rule: FailureRule, incidents: list[Incident], now: float) -> FailureDecision:
    """What a rule says; one that was used as often as it may be fails the job."""
    pods = tuple(each.pod for each in incidents if each.pod)
    excused = all(each.is_excused for each in incidents)
    what = f"{rule.on} of task {rule.task}" if rule.task else rule.on
    used = {"Requeue": job.ledger.num_requeues, "Ignore": len(incidents) - 1}.get(rule.do, job.ledger.num_restarts)
    if rule.max is not None and rule.do in ("Ignore", "RestartPod", "RestartJob", "Requeue") and used >= rule.max:
        return _failed(f"{what}, and the queue's rule allows {rule.do} {rule.max} times", incidents)
    if rule.do == "FailJob":
        return _failed(what, incidents)
    if rule.do in ("Ignore", "CompleteJob"):
        return FailureDecision(rule.do, what, outcome=JobOutcome.SUCCEEDED if rule.do == "CompleteJob" else None)
    if rule.do in ("RestartPod", "RestartJob"):
        chosen = pods if rule.do == "RestartPod" else ()
        return _anew(job, FailureDecision(rule.do, what, chosen, counts_restart=not excused, is_excused=excused))
    until = now + back_off(job.ledger.num_requeues) if rule.on == "NeverStarted" else -math.inf
    return _anew(job, FailureDecision(rule.do, what, counts_requeue=True, back_off_until=until, is_excused=excused))


def _by_default(
    job: BatchJob, sight: JobSight, rules: FailureRules, lost: list[LostNode], incidents: list[Incident], now: float
) -> FailureDecision | None:
    kinds = {each.kind for each in incidents}
    if "NodeLost" in kinds:
        return _node_lost(job, sight, rules, lost, now)
    if "NeverStarted" in kinds:
        until = now + back_off(job.ledger.num_requeues)
        why = f"did not run within {length_text(START_WITHIN)}"
        return _anew(job, FailureDecision("Requeue", why, counts_requeue=True, back_off_until=until, is_excused=True))
    if sight.is_starting or sight.num_running >= job.min_count:
        return None
    failures = [each for each in incidents if each.kind in ("PodFailed", "PodEvicted")]
    if job.group is None:
        # A lone pod that failed is over, unless somebody makes another; then it is the same job that waits again.
        if failures and job.wishes.recreates:
            return _broken(job, "its pod failed", rules, failures)  # by us, so that it has to be counted
        return _failed("its pod failed", failures) if failures and not _comes_again(job) else None
    if now - sight.since < rules.broken_after:
        return None
    return _broken(job, f"{sight.num_running} of at least {job.min_count} members run", rules, failures)


def _broken(job: BatchJob, why: str, rules: FailureRules, failures: list[Incident]) -> FailureDecision:
    """Too few members for too long."""
    excused = bool(failures) and all(each.is_excused for each in failures)
    if not excused and job.ledger.num_restarts >= rules.retries:
        return _failed(f"{why}, after {job.ledger.num_restarts} restarts", failures)
    if job.wishes.on_failure == "fail" and not excused:
        return _failed(why, failures)
    return _anew(job, FailureDecision("RestartJob", why, counts_restart=not excused, is_excused=excused))


def _node_lost(
    job: BatchJob, sight: JobSight, rules: FailureRules, lost: list[LostNode], now: float
) -> FailureDecision | None:
    mode = job.wishes.on_node_loss or rules.node_loss
    nodes = {node.name for node in lost}
    why = f"lost {', '.join(sorted(nodes))}"
    if mode == "shrink" and sight.num_running >= job.min_count:
        pods = tuple(uid for uid, pod in job.members.items() if pod.spec.node_name in nodes)
        return FailureDecision("Shrink", why, pods, is_excused=True)
    if mode == "wait" and all(not node.is_certain and now - node.since < WAIT_FOR_NODE for node in lost):
        return None
    if mode == "fail":
        return FailureDecision("FailJob", why, outcome=JobOutcome.NODE_FAILED, is_excused=True, refund="NodeLost")
    if job.ledger.num_requeues >= rules.requeues:
        why = f"{why}, after {job.ledger.num_requeues} requeues"
        return FailureDecision("FailJob", why, outcome=JobOutcome.NODE_FAILED, is_excused=True, refund="NodeLost")
    decision = FailureDecision("Requeue", why, counts_requeue=True, is_excused=True, refund="NodeLost")
    return _anew(job, decision, JobOutcome.NODE_FAILED)


def _anew(job: BatchJob, decision: FailureDecision, outcome: JobOutcome = JobOutcome.FAILED) -> FailureDecision:
    """The decision, if anybody makes the pods anew that it deletes."""
    if not _comes_again(job):
        why = f"{decision.why}; nobody makes its pods anew (fairway.dev/requeue: recreate would, where that is allowed)"
    elif decision.do == "Requeue" and not job.wishes.requeues:
        why = f"{decision.why}; it asks not to be requeued"
    else:
        return decision
    return FailureDecision("FailJob", why, outcome=outcome, is_excused=decision.is_excused, refund=decision.refund)


def _comes_again(job: BatchJob) -> bool:
    return job.comes_again or any(pod.metadata.controller is not None for pod in job.members.values())


def _failed(why: str, incidents: Iterable[Incident]) -> FailureDecision:
    outcome = JobOutcome.NODE_FAILED if any(each.kind == "NodeLost" for each in incidents) else JobOutcome.FAILED
    return FailureDecision("FailJob", why, outcome=outcome)
