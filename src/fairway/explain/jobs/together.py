"""Pods that belong together, asked about without a queue: where would all of them go now?

In: a profile with `gangs`, a job's book and its members that wait. Out: the `GroupDecision` that the profile's mode
comes to; nothing in the cluster changes. Modes that try members one by one (`coscheduling`, `pfnet`) have no such
decision of their own: what is asked of them is whether the job has room, which mode `fairway` answers.
Called by `job_replay`, `job_answer` and `job_trial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.groups.job_cycle import decide_job
from fairway.cycle.groups.pod_group_cycle import decide_pod_group, fail_pod_group
from fairway.model import Pod
from fairway.model.group import GroupSpec

__all__ = ["WHOLE", "decide_together"]

WHOLE: Final = ("fairway", "kube")
"""Modes in which a job is tried as a whole."""


def decide_together(
    profile: Profile, group: GroupBook, pods: Sequence[Pod], *, may_preempt: bool = True
) -> GroupDecision:
    """One attempt for these members; without `may_preempt`, mode `fairway` makes nobody go."""
    if profile.gangs is not None and profile.gangs.mode == "kube":
        return decide_pod_group(profile, group, pods)
    spec = profile.cluster.groups.spec_of(group)
    if isinstance(spec, GroupSpec):
        return decide_job(profile, group, spec, pods, may_preempt)
    words = profile.cluster.groups.missing_words(group) if spec is None else spec.message
    return fail_pod_group(profile, group, pods, words)
