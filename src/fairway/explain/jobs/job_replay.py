"""One attempt for a whole job of a run, made again: does it come out the same?

In: a row of `job_decisions` with the rows of its members, and a cluster as it was then, in which members that waited
are known. Out: a `RepeatedJob`: the decision as it is made now, and a `Replayed` for each row of `decisions`. What
members wait, and in which order they are tried, is worked out from the run: an attempt that failed has but one row.
Called by `run_replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairway.cluster import Cluster, PodClass
from fairway.cluster.groups import GroupBook
from fairway.cycle import Decision, Outcome, Profile
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.explain.jobs.together import decide_together
from fairway.explain.replayed import Replayed, decision_words, recorded_words
from fairway.model import Pod
from fairway.model.group import GroupKey, Spelling

__all__ = ["RepeatedJob", "group_of", "repeat_attempt", "waiting_members"]

OUTCOMES = {"scheduled": "started", "unschedulable": "could not start", "preempting": "made room"}


class RepeatedJob(NamedTuple):
    """An attempt, once more."""

    decision: GroupDecision
    replayed: list[Replayed]  # in the order of the rows


def group_of(cluster: Cluster, job: dict[str, Any]) -> GroupBook | None:
    """The members that a job of the run has now; None if it has none."""
    known = {spelling.value: spelling for spelling in Spelling}
    if job["spelling"] not in known:
        return None
    key = GroupKey(known[job["spelling"]], job["namespace"], job["job"].removeprefix(job["namespace"] + "/"))
    return cluster.groups.find(key)


def waiting_members(group: GroupBook, rows: Sequence[dict[str, Any]], first_tried: dict[str, float]) -> list[str]:
    """Uids of the members that take part: those of the rows, or of a failed attempt all that wait.

    The most important first; of equals, who was tried first, and then in the order in which they came.
    """
    told = [row["uid"] for row in rows]
    if len(told) > 1:
        return told
    waiting = [uid for uid in group.waiting if not group.pods[uid].spec.scheduling_gates]
    place = {uid: number for number, uid in enumerate(waiting)}
    never = float("inf")
    return sorted(waiting, key=lambda uid: (-group.pods[uid].priority, first_tried.get(uid, never), place[uid]))


def repeat_attempt(
    job_row: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    profile: Profile,
    group: GroupBook,
    pods: Sequence[Pod],
) -> RepeatedJob:
    """Make it again, and compare: `rows` are those of members, with their pods' uids."""
    decision = decide_together(profile, group, pods)
    outcome = decision.outcome.value
    if outcome != job_row["outcome"]:
        words = f"{OUTCOMES.get(outcome, outcome)}, its job {group.key}"
        return RepeatedJob(decision, [Replayed(row, "unlike", words, decision.message) for row in rows])
    if outcome != "scheduled":
        return RepeatedJob(decision, [Replayed(row, "same") for row in rows])
    members = {member.pod.metadata.uid: member for member in decision.members}
    alike = _alike(rows, members)
    is_chance = any(member.num_best > 1 for member in decision.members)  # then the others meet another cluster
    return RepeatedJob(decision, [_compare(row, members.get(row["uid"]), profile, alike, is_chance) for row in rows])


def _alike(rows: Sequence[dict[str, Any]], members: dict[str, Decision]) -> set[int]:
    """Decisions about members of which all that are alike together went where they went before, whoever of them."""
    before: dict[PodClass, list[str]] = {}
    now: dict[PodClass, list[str]] = {}
    numbers: dict[PodClass, set[int]] = {}
    for row in rows:
        if (member := members.get(row["uid"])) is not None:
            before.setdefault(member.pod_class, []).append(recorded_words(row))
            now.setdefault(member.pod_class, []).append(decision_words(member))
            numbers.setdefault(member.pod_class, set()).add(row["decision_id"])
    return {number for kind, some in numbers.items() if sorted(before[kind]) == sorted(now[kind]) for number in some}


def _compare(
    row: dict[str, Any], member: Decision | None, profile: Profile, alike: set[int], is_chance: bool
) -> Replayed:
    if member is None:
        return Replayed(row, "unlike", "was not tried")
    words = decision_words(member)
    if words == recorded_words(row) or row["decision_id"] in alike:
        return Replayed(row, "same")
    if not profile.sampler.takes_all:
        return Replayed(row, "sample", words)
    if is_chance and member.outcome is Outcome.SCHEDULED and row["outcome"] == "scheduled":
        return Replayed(row, "lot", words)
    return Replayed(row, "unlike", words, member.message)
