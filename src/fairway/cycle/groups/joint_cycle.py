"""One attempt for several jobs that start together: each with what it takes, and all of them or none.

In: a profile and jobs, with their members that wait. Out: a `GroupDecision` for each, in the same order; nothing in the
cluster changes. Each is decided about with the ones before it in place (`joint_attempt`), with members beyond what it
takes; if they can not all start so, these wait. If there is no room, pods may have to go that are less important than
each of the jobs (`job_preemption`). One job is decided about by `job_cycle`. Called by `gangs.job_attempts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairway.cycle.decision import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_attempt import StartAttempt
from fairway.cycle.groups.job_cycle import decide_job, own_promises_lifted, problem_with
from fairway.cycle.groups.job_preemption import preempt_for_jobs
from fairway.cycle.groups.job_words import refuse_job
from fairway.cycle.groups.joint_attempt import JobRequest, Placing, try_orders
from fairway.cycle.guard import PluginError
from fairway.cycle.placing import fail_at
from fairway.plugin import Code

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["decide_jobs"]


def decide_jobs(profile: Profile, jobs: Sequence[JobRequest], may_preempt: bool = True) -> list[GroupDecision]:
    """Where should the members of all these jobs go now? Without `may_preempt` nobody has to make room for them."""
    if len(jobs) == 1:
        return [decide_job(profile, *jobs[0], may_preempt)]
    for index, job in enumerate(jobs):
        if words := problem_with(profile, job.pods):
            return _refused(profile, jobs, index, refuse_job(profile, job.book, job.pods, words))
    try:
        return _decide(profile, jobs, may_preempt)
    except PluginError as error:
        return [refuse_job(profile, job.book, job.pods, str(error)) for job in jobs]


def _decide(profile: Profile, jobs: Sequence[JobRequest], may_preempt: bool) -> list[GroupDecision]:
    pods = [pod for job in jobs for pod in job.pods]
    with profile.cluster.what_if(), own_promises_lifted(profile, pods) as promises:
        decisions, failed = _try(profile, jobs, promises, with_surplus=True)
        if failed is not None:
            decisions, failed = _try(profile, jobs, promises, with_surplus=False)
        if failed is None:
            return [decisions[index] for index in range(len(jobs))]
        told = _refused(profile, jobs, failed, decisions[failed])
        blamed = told[failed]
        if blamed.outcome is GroupOutcome.UNSCHEDULABLE and blamed.blocking and not blamed.never_fits:
            preempt_for_jobs(profile, jobs, promises, told, may_preempt)
    return told


def _try(
    profile: Profile, jobs: Sequence[JobRequest], promises: Mapping[str, str], with_surplus: bool
) -> tuple[dict[int, GroupDecision], int | None]:
    """What each gets, and who gets nothing, if somebody does; afterwards all is as before."""
    decisions: dict[int, GroupDecision] = {}

    def attempt(order: Sequence[int]) -> int | None:
        with Placing(profile) as placing:
            for index in order:
                decision = StartAttempt(profile, *jobs[index], promises, with_surplus=with_surplus).run()
                decisions[index] = decision
                if decision.outcome is not GroupOutcome.SCHEDULED or not _stay(placing, decision):
                    return index
        return None

    return decisions, try_orders(jobs, attempt)


def _stay(placing: Placing, decision: GroupDecision) -> bool:
    """Let members stay where they were put; if a plugin does not reserve for one of them, their job can not start."""
    for member in decision.members:
        if member.outcome is Outcome.SCHEDULED and (stop := placing.add(member)) is not None:
            fail_at(member, stop)
            is_error = stop.refusal.code is Code.ERROR
            decision.outcome = GroupOutcome.ERROR if is_error else GroupOutcome.UNSCHEDULABLE
            decision.blocking, decision.missing = member.pod.metadata.uid, 1
            decision.message = f"job {decision.job}: {member.pod.metadata.name}: {member.message}"
            return False
    return True


def _refused(profile: Profile, jobs: Sequence[JobRequest], failed: int, decision: GroupDecision) -> list[GroupDecision]:
    """One of them can not start, so the others can not either; all wait for what would help it."""
    told = []
    blocking = next((each for each in decision.members if each.pod.metadata.uid == decision.blocking), None)
    plugins = frozenset() if blocking is None else blocking.unschedulable_plugins
    for index, job in enumerate(jobs):
        if index == failed:
            told.append(decision)
            continue
        words = f"job {job.book.key} starts together with job {decision.job}, which can not: {decision.message}"
        members = [
            Decision(pod, profile.classify(pod), Outcome.UNSCHEDULABLE, words=words, promise="") for pod in job.pods
        ]
        for member in members:
            member.unschedulable_plugins = plugins
        told.append(replace(decision, job=job.book.key, members=members, message=words, missing=0))
    return told
