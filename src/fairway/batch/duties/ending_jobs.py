"""Jobs that end: what was decided about one is written down first, then done, until nothing of it is left to do.

In: a decision (`order_end`) of whoever decides: limits, failure rules, windows, preemption, orders. Out: pods deleted,
controllers of kind Job that fail, bare pods made anew. From what is written down alone, so whoever takes over goes on
with it. What becomes of the job when its pods are gone, the book knows: it is over, or it waits again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from fairway.batch.accounts.charges import RefundCause, refund_last_run
from fairway.batch.actions import MADE_FROM, Action, CreatePod
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.lost_nodes import LostNodes
from fairway.batch.endings import back_off_limit_note, ending_actions
from fairway.batch.job import BatchJob, FailureDecision
from fairway.batch.limits import deadline_actions, owning_job, stop_actions
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.cluster import Event
from fairway.model import Job as JobController
from fairway.model import Pod
from fairway.model.pod import PodStatus

__all__ = ["EndingJobs", "anew", "order_end"]

ASK_AGAIN: Final = 5.0  # seconds after which a pod that is not there yet is asked for again


def order_end(desk: DutyDesk, job: BatchJob, decision: FailureDecision) -> None:
    """Write down what was decided about a job, in one write that counts it; its pods end in the same pass.

    A job that is told to end already goes on with that.
    """
    if job.is_ending or job.has_ended:
        return
    decision, to_make = _possible(desk, job, decision)
    ledger = job.ledger
    ledger.num_restarts += decision.counts_restart
    ledger.num_requeues += decision.counts_requeue
    if decision.back_off_until > -math.inf:
        ledger.back_off_until, ledger.back_off_why = decision.back_off_until, decision.why
    if decision.refund and job.is_counting:
        ledger.intervals = refund_last_run(ledger.intervals, RefundCause(decision.refund))
    if to_make:
        names = {pod.metadata.name for pod in to_make}
        ledger.pods = (*(pod for pod in ledger.pods if pod.metadata.name not in names), *to_make)
    ledger.ending = replace(decision, pods=_ending_pods(job, decision))
    desk.book.note_decision(job)
    if decision.ends_job:
        desk.stand(job, JobStanding(JobState.ENDING, decision.outcome, {}, decision.why))
    else:
        desk.world.write_record(job)
    desk.is_due = True


def _ending_pods(job: BatchJob, decision: FailureDecision) -> tuple[str, ...]:
    """The members that end; who only waits may go on waiting, if the job comes again."""
    ends_all = decision.outcome is not None
    return decision.pods or tuple(uid for uid, pod in job.members.items() if pod.spec.node_name or ends_all)


def _possible(desk: DutyDesk, job: BatchJob, decision: FailureDecision) -> tuple[FailureDecision, list[Pod]]:
    """The decision, and the pods that it takes us to make anew; where we can not, the job is over instead."""
    if not job.wishes.recreates or decision.outcome is not None or decision.do == "Shrink":
        return decision, []
    # Bare pods that end by it, or failed before it and are missed since.
    going = [job.members[uid] for uid in _ending_pods(job, decision) if uid in job.members]
    failed = () if job.ledger.owner else job.failed.values()  # of which nothing but the name may be known
    to_make = [anew(pod) for pod in (*failed, *going) if pod.metadata.controller is None]
    names = {pod.metadata.name for pod in to_make}
    others = [pod for pod in job.ledger.pods if pod.metadata.name not in names]
    if not to_make or not (why := desk.world.why_not_anew([*others, *to_make])):
        return decision, to_make
    is_counted = decision.counts_restart or decision.counts_requeue
    outcome = JobOutcome.FAILED if is_counted else JobOutcome.CANCELLED
    if decision.refund == RefundCause.NODE_LOST:
        outcome = JobOutcome.NODE_FAILED
    words = f"{decision.why}; {why}"
    return FailureDecision(
        "FailJob", words, (), outcome=outcome, is_excused=decision.is_excused, refund=decision.refund
    ), []


class EndingJobs:
    """Carries out what was decided."""

    hears_members, keeps_times = False, True

    def __init__(self, desk: DutyDesk, lost: LostNodes) -> None:
        self._desk = desk
        self._lost = lost
        self._told: set[str] = set()  # jobs whose owner heard of the Job's backoffLimit
        self._next = math.inf  # when to ask again for pods that are still not there

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """The book knows whom it is about."""

    def next_time(self, now: float) -> float:
        """Every event of their pods leads to a pass; but whoever has the name of one to come may be nobody's."""
        return self._next

    def look(self, now: float) -> Sequence[Action]:
        """All that is left to do to pods about which something was decided."""
        actions: list[Action] = []
        self._next = math.inf
        for job in list(self._desk.book.decided.values()):
            if job.ledger.ending is not None:
                actions += self._go_on(job, job.ledger.ending, now)
            if job.ledger.ending is None and not job.has_ended:
                names = {pod.metadata.name for pod in job.members.values()}
                missing = [CreatePod(pod) for pod in job.ledger.pods if pod.metadata.name not in names]
                self._next = now + ASK_AGAIN if missing else self._next
                actions += missing
            if job.has_ended or (job.ledger.ending is None and not job.ledger.pods):
                self._desk.book.decided.pop(job.key, None)
                self._told.discard(job.key)
        return actions

    def _go_on(self, job: BatchJob, ending: FailureDecision, now: float) -> list[Action]:
        """What is left to do to its pods; if that is nothing, the job is over or waits again."""
        desk, before, actions = self._desk, job.standing, list[Action]()
        for uid in ending.pods:
            pod = job.members.get(uid)
            if pod is not None and pod.is_terminating and pod.spec.node_name in self._lost.by_name:
                desk.machine.vacate(uid)  # nobody waits for a node that is lost to say that it has ended
                desk.book.drop(job, pod, now)
        if job.ledger.ending is not None:
            actions = self._ending(job, ending, now)
            desk.book.settle(job, now)
        if job.standing is not before:
            desk.settle(job)
            desk.world.write_record(job)
            desk.is_due = True
        return actions

    def _ending(self, job: BatchJob, ending: FailureDecision, now: float) -> list[Action]:
        desk = self._desk
        members = [pod for uid, pod in job.members.items() if uid in ending.pods]
        makers = {uid: owning_job(each, desk.epoch) for uid, each in self._makers(job).items()}
        if ending.outcome is not None:  # whoever makes its pods anew has to end, too
            grace = float(desk.settings.spec_of(job.queue).limits.kill_grace)
            actions = stop_actions(members, makers, grace, ending.why, now, ending.outcome)
            if not members and job.ledger.owner in makers:
                actions += deadline_actions(makers[job.ledger.owner], now)
            return actions
        actions = ending_actions(job, ending, members, self._lost.by_name)
        if actions and makers and job.key not in self._told:
            self._told.add(job.key)
            ignores = all(_ignores_disruptions(each) for each in self._makers(job).values())
            if (note := back_off_limit_note(job, ending, ignores)) is not None:
                actions.append(note)
        return actions

    def _makers(self, job: BatchJob) -> Mapping[str, JobController]:
        """The Jobs that its pods belong to, but for those that make none now."""
        owners = {owner.uid for pod in job.members.values() if (owner := pod.metadata.controller) is not None}
        found = {uid: self._desk.book.makers.get(uid) for uid in sorted({*owners, job.ledger.owner})}
        return {uid: maker for uid, maker in found.items() if maker is not None and not maker.spec.suspend}


def anew(pod: Pod) -> Pod:
    """The pod as it comes again: without a node, a status or a past, but for whose place it takes."""
    meta = msgspec.structs.replace(
        pod.metadata,
        uid="",
        annotations=pod.metadata.annotations | {MADE_FROM: pod.metadata.uid},
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        resource_version="",
    )
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return msgspec.structs.replace(pod, metadata=meta, spec=spec, status=PodStatus())


def _ignores_disruptions(controller: JobController) -> bool:
    policy = controller.spec.pod_failure_policy
    return policy is not None and any(
        rule.action == "Ignore" and any(each.type == "DisruptionTarget" for each in rule.on_pod_conditions)
        for rule in policy.rules
    )
