"""One attempt for a job, in mode `fairway`: all members that it takes get a node, or none does and nothing is held.

In: a profile, a job's book and spec, and its members that wait. Out: a `GroupDecision`; nothing in the cluster changes.
First a quick count tells whether there is room at all, and in which domains (`job_room`, `job_domains`); there the
members are tried in an order that does not depend on who came first (`job_members`), each by the ordinary cycle with
the earlier ones in place (`job_trial`), and those that fit nowhere are helped by a limited search (`job_search`).
Members beyond what it takes come last, one by one (`job_attempt` tells all this). If there is no room, less important
pods may have to go (`job_preemption`). What is said of a job that has to wait is in `job_words`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fairway.cluster.groups import GroupBook
from fairway.cycle.decision import Outcome
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome, GroupVictim
from fairway.cycle.groups.job_attempt import StartAttempt
from fairway.cycle.groups.job_preemption import preempt_for_jobs
from fairway.cycle.groups.job_words import refuse_job, short_of
from fairway.cycle.groups.joint_attempt import JobRequest
from fairway.cycle.guard import PluginError
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["decide_job", "own_promises_lifted", "problem_with"]

ALONE: Final = {
    Outcome.SCHEDULED: GroupOutcome.SCHEDULED,
    Outcome.UNSCHEDULABLE: GroupOutcome.UNSCHEDULABLE,
    Outcome.ERROR: GroupOutcome.ERROR,
}


def decide_job(
    profile: Profile, group: GroupBook, spec: GroupSpec, pods: Sequence[Pod], may_preempt: bool = True
) -> GroupDecision:
    """Where should the members go now? They wait and are not gated; those placed already count. Changes nothing.

    Without `may_preempt` nobody has to make room for them.
    """
    if len(group) == len(pods) == 1 and spec.min_count <= 1 and spec.topology is None:
        return _decide_alone(profile, group, pods[0], may_preempt)
    if words := problem_with(profile, pods):
        return refuse_job(profile, group, pods, words)
    with profile.cluster.what_if(), own_promises_lifted(profile, pods) as promises:
        try:
            decision = StartAttempt(profile, group, spec, pods, promises).run()
            if decision.outcome is GroupOutcome.UNSCHEDULABLE and decision.blocking and not decision.never_fits:
                preempt_for_jobs(profile, [JobRequest(group, spec, pods)], promises, [decision], may_preempt)
        except PluginError as error:  # before a member was tried, or while others were imagined gone
            return refuse_job(profile, group, pods, str(error))
    return decision


def _decide_alone(profile: Profile, group: GroupBook, pod: Pod, may_preempt: bool) -> GroupDecision:
    """A job of one member is a pod like any other, also in whom it preempts."""
    alone = profile.decide(pod, makes_room=may_preempt)
    decision = GroupDecision(group.key, ALONE[alone.outcome], [alone], alone.message)
    if alone.outcome is Outcome.SCHEDULED:
        return decision
    decision.blocking, decision.missing = pod.metadata.uid, 1
    decision.resource = short_of(alone.diagnosis)
    preemption = alone.preemption
    if preemption is not None and preemption.chosen is not None:
        decision.outcome = GroupOutcome.PREEMPTING
        decision.victims = [GroupVictim(victim, pod) for victim in preemption.chosen.victims]
        decision.cleared = list(preemption.cleared)
    return decision


def problem_with(profile: Profile, pods: Sequence[Pod]) -> str:
    """Why the job is not even tried; "" if it may be."""
    assert profile.gangs is not None
    most = profile.gangs.max_members
    if most is not None and len(pods) > most:
        return f"{len(pods)} members wait, and maxMembers is {most}"
    for extender in profile.extenders:
        if extender.binds and any(extender.is_interested(pod) for pod in pods):
            return f"the extender {extender.name} binds pods by itself, which could not be undone for one of many"
    return ""


@contextlib.contextmanager
def own_promises_lifted(profile: Profile, pods: Sequence[Pod]) -> Iterator[dict[str, str]]:
    """What is kept for one member is kept for the job, and the others may have it too. Yields the nodes, by uid."""
    nominations = profile.cluster.nominations
    kept: list[tuple[Pod, str]] = []
    if len(nominations):
        kept = [(pod, name) for pod in pods if (name := nominations.node_of(pod.metadata.uid)) is not None]
        for pod, _ in kept:
            nominations.remove(pod.metadata.uid)
    try:
        yield {pod.metadata.uid: name for pod, name in kept}
    finally:
        for pod, name in kept:
            nominations.add(pod, name)
