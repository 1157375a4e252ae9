"""What a running scheduler says about a job: its members, how many fit now, who is in the way.

In: a `LiveScheduler` and a job's name. Out: plain values for `api_routes`. Nothing is changed by asking.
"""

from __future__ import annotations

from typing import Any

from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_cycle import decide_job
from fairway.cycle.groups.pod_group_cycle import decide_pod_group
from fairway.live.api.clock import rfc3339
from fairway.live.service import LiveScheduler
from fairway.model.group import GroupSpec, Misconfigured
from fairway.queue import profile_name

__all__ = ["find_job_book", "job_document"]


def find_job_book(live: LiveScheduler, name: str) -> GroupBook | None:
    """The job called `namespace/name`, if it has members that are ours."""
    found = (group for group in live.cluster.groups if str(group.key) == name)
    return next((group for group in found if _profile(live, group) is not None), None)


def _profile(live: LiveScheduler, group: GroupBook) -> Profile | None:
    profiles = live.scheduler.profiles
    names = (profile_name(pod) for pod in group.pods.values())
    return next((profiles[name] for name in names if name in profiles and profiles[name].gangs is not None), None)


def job_document(live: LiveScheduler, group: GroupBook) -> dict[str, Any]:
    """All that it knows of the job."""
    groups, profile = live.cluster.groups, _profile(live, group)
    assert profile is not None
    spec = groups.spec_of(group)
    queued = next((found for uid in group.waiting if (found := live.scheduler.queue.find(uid)) is not None), None)
    since = None if queued is None else queued.initial_attempt_timestamp
    answer: dict[str, Any] = {
        "job": str(group.key),
        "spelling": group.key.spelling.value,
        "minCount": spec.min_count if isinstance(spec, GroupSpec) else None,
        "there": len(group),
        "gated": group.num_gated,
        "bound": group.num_scheduled,
        "waiting": [group.pods[uid].key for uid in group.waiting],
        "attempts": 0 if queued is None else queued.attempts,
        "place": None if queued is None or queued.place is None else queued.place.value,
        "since": None if since is None else rfc3339(since),
        "message": groups.missing_words(group)
        if spec is None
        else spec.message
        if isinstance(spec, Misconfigured)
        else "",
    }
    decision = _decide(profile, group, spec) if isinstance(spec, GroupSpec) else None
    if decision is None:
        return answer | {"fits": not group.waiting, "blocking": None, "missing": None}
    members = {member.pod.metadata.uid: member.pod.key for member in decision.members}
    return answer | {
        "fits": decision.outcome is GroupOutcome.SCHEDULED,
        "missing": decision.missing or None,
        "blocking": members.get(decision.blocking),
        "message": decision.message,
    }


def _decide(profile: Profile, group: GroupBook, spec: GroupSpec) -> GroupDecision | None:
    """What an attempt would come to now; None if there is nobody to try."""
    ready = [group.pods[uid] for uid in group.waiting if not group.pods[uid].spec.scheduling_gates]
    if not ready or len(ready) + group.num_scheduled < spec.min_count:
        return None
    if profile.gangs is not None and profile.gangs.mode == "kube":
        return decide_pod_group(profile, group, ready)
    return decide_job(profile, group, spec, ready, may_preempt=False)
