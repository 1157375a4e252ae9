"""Pods that belong together, asked about without a queue: where would all of them go now?

In: a profile with `gangs`, a job's book and its members that wait; and the jobs that start with it. Out: the
`GroupDecision` that the profile's mode comes to; nothing in the cluster changes. Modes that try members one by one
(`coscheduling`, `pfnet`) have no such decision of their own: what is asked of them is whether the job has room, which
mode `fairway` answers. Called by `job_replay`, `job_explanation`, `job_fixes` and `job_trial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.groups.joint_attempt import JobRequest
from fairway.cycle.groups.joint_cycle import decide_jobs
from fairway.cycle.groups.pod_group_cycle import decide_pod_group, fail_pod_group
from fairway.model import Pod
from fairway.model.group import GroupSpec

__all__ = ["WHOLE", "decide_all", "decide_together", "ready_members"]

WHOLE: Final = ("fairway", "kube")
"""Modes in which a job is tried as a whole."""


def decide_together(
    profile: Profile,
    group: GroupBook,
    pods: Sequence[Pod],
    companions: Sequence[GroupBook] = (),
    *,
    may_preempt: bool = True,
) -> GroupDecision:
    """One attempt for these members; without `may_preempt`, mode `fairway` makes nobody go."""
    if profile.gangs is not None and profile.gangs.mode == "kube":
        return decide_pod_group(profile, group, pods)
    spec = profile.cluster.groups.spec_of(group)
    if isinstance(spec, GroupSpec):
        return decide_all(profile, group, pods, companions, may_preempt=may_preempt)[0]
    words = profile.cluster.groups.missing_words(group) if spec is None else spec.message
    return fail_pod_group(profile, group, pods, words)


def decide_all(
    profile: Profile,
    group: GroupBook,
    pods: Sequence[Pod],
    companions: Sequence[GroupBook],
    *,
    may_preempt: bool = True,
) -> list[GroupDecision]:
    """One attempt for these members of a job and all that wait of those that start with it; a decision for each job."""
    requests = []
    for book in (group, *companions):
        spec = profile.cluster.groups.spec_of(book)
        assert isinstance(spec, GroupSpec)  # others are not tried
        ready = pods if book is group else ready_members(book)
        requests.append(JobRequest(book, spec, ready))
    return decide_jobs(profile, requests, may_preempt)


def ready_members(group: GroupBook) -> list[Pod]:
    """Those that wait and are not gated."""
    return [pod for uid in group.waiting if not (pod := group.pods[uid]).spec.scheduling_gates]
