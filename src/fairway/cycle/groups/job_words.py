"""What is said of a job that can not start now: how many fit, who is in the way, and what it lacks.

In: why an attempt failed. Out: a `GroupDecision` with one sentence for the job, which every member that waits gets, and
the plugins that refused the member in the way, whose events may help. Called by `job_cycle`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fairway.cluster import PodClass
from fairway.cluster.groups import GroupBook
from fairway.cycle.decision import Decision, Outcome
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_members import Kind
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = [
    "JobFailure",
    "fail_job",
    "refuse_job",
    "short_of",
    "wait_as_surplus",
    "wait_for_members",
]

NEVER: Final = "can never fit on these nodes"
SURPLUS: Final = "is beyond what the job takes to start, and is tried when that has started"


@dataclass(slots=True)
class JobFailure:
    """Why a job can not start now."""

    decision: Decision  # of the member in the way
    num_missing: int
    num_backtracks: int = 0
    is_exhausted: bool = False
    never_fits: bool = False  # would it not fit if the nodes were empty?
    level: str = ""  # the label whose values were the domains
    domain: str = ""  # the one that came nearest
    num_domains: int = 0  # that were tried


def refuse_job(
    profile: Profile, group: GroupBook, pods: Sequence[Pod], words: str, broken: Decision | None = None
) -> GroupDecision:
    """The job could not be judged: that is an error of all members. `broken` is the decision about one of them."""
    message = f"job {group.key}: {words}" if broken is None else words
    members = [
        broken
        if broken is not None and broken.pod is pod
        else Decision(pod, profile.classify(pod), Outcome.ERROR, error=message)
        for pod in pods
    ]
    decision = GroupDecision(group.key, GroupOutcome.ERROR, members, message)
    decision.blocking = "" if broken is None else broken.pod.metadata.uid
    return decision


def wait_for_members(group: GroupBook, spec: GroupSpec, order: Sequence[tuple[Pod, Kind]]) -> GroupDecision:
    """There are not enough members to start."""
    num_there = len(order) + group.num_scheduled
    message = f"job {group.key}: {num_there} of {spec.min_count} members are there"
    members = [Decision(pod, kind.pod_class, Outcome.UNSCHEDULABLE, words=message, promise=None) for pod, kind in order]
    missing = max(spec.min_count - num_there, 0)
    return GroupDecision(group.key, GroupOutcome.UNSCHEDULABLE, members, message, missing=missing)


def fail_job(
    profile: Profile,
    group: GroupBook,
    spec: GroupSpec,
    order: Sequence[tuple[Pod, Kind]],
    failure: JobFailure,
) -> GroupDecision:
    """All members wait, and are told the same; the one in the way with what refused it. Nothing is kept for them."""
    blocking = failure.decision
    resource = short_of(blocking.diagnosis)
    message = _sentence(group, spec, failure, resource, profile.gangs.backtracks if profile.gangs else None)
    members = []
    for pod, kind in order:
        if pod is blocking.pod:
            members.append(replace(blocking, words=message, promise=""))
        else:
            members.append(Decision(pod, kind.pod_class, Outcome.UNSCHEDULABLE, words=message, promise=""))
    return GroupDecision(
        group.key,
        GroupOutcome.UNSCHEDULABLE,
        members,
        message,
        blocking=blocking.pod.metadata.uid,
        missing=failure.num_missing,
        resource=resource,
        level=failure.level,
        domain=failure.domain,
        num_domains=failure.num_domains,
        num_backtracks=failure.num_backtracks,
        is_exhausted=failure.is_exhausted,
        never_fits=failure.never_fits,
    )


def _sentence(group: GroupBook, spec: GroupSpec, failure: JobFailure, resource: str, backtracks: int | None) -> str:
    blocking = failure.decision
    name = blocking.pod.metadata.name
    total = max(spec.min_count, group.num_scheduled + failure.num_missing)
    fit = f"{total - failure.num_missing} of {total} members"
    where = f" in {failure.level}={failure.domain}" if failure.level and failure.domain else ""
    if failure.never_fits:
        text = f"job {group.key} {NEVER}: {fit} would fit{where} if they were empty"
    else:
        text = f"job {group.key}: {fit} fit{where}"
        if failure.is_exhausted:
            text += f" (search stopped after {backtracks})"
    lack = f"is short of {resource}" if resource else "fits nowhere"
    return f"{text}; {name} {lack}: {blocking.message}"


def short_of(diagnosis: Diagnosis | None) -> str:
    """The resource that most nodes lack, of those that would do otherwise; "" if it is nothing of the kind."""
    if diagnosis is None:
        return ""
    rows = np.bincount(diagnosis.which[diagnosis.which >= 0], minlength=len(diagnosis.refusals)).tolist()
    lacking: Counter[str] = Counter()
    for (_, refusal), number in zip(diagnosis.refusals, rows, strict=True):
        for each in refusal.shortages if number else ():
            lacking[each.resource] += number
    return min(lacking, key=lambda resource: (-lacking[resource], resource), default="")


def wait_as_surplus(group: GroupBook, pod: Pod, pod_class: PodClass) -> Decision:
    """The member waits until those have started that it takes."""
    words = f"job {group.key}: {pod.metadata.name} {SURPLUS}"
    return Decision(pod, pod_class, Outcome.UNSCHEDULABLE, words=words, promise=None)
