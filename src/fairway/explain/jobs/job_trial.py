"""Jobs in a trial: members are tried together, when the first of them has its turn.

In: a trial, with pods to place or with pods that wait in its cluster. Out: `know_members`, which tells the cluster's
books of jobs who waits; `units`, the queue with the members of a job together, and of jobs that start together;
`place_job`, verdicts about all of them; `find_job`, the job that a name means. Only pods whose profile has `gangs`
belong to jobs. Called by `try_answer`, `why_answer`, `job_answer` and `live_job`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from fairway.cluster import Event, Verb
from fairway.cluster.groups import GroupBook
from fairway.cycle import Decision, Outcome, Profile, Stop
from fairway.cycle.funnel import make_funnel
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.placing import settle
from fairway.exit_codes import USAGE
from fairway.explain.jobs.other_jobs import OtherJobs
from fairway.explain.jobs.together import decide_all, decide_together
from fairway.explain.trial import Trial, Verdict
from fairway.kinds.controllers import Wanted
from fairway.model import Pod, UserError

__all__ = ["JobVerdict", "find_job", "know_members", "no_job", "others_of", "place_job", "profile_of_job", "units"]

NOT_NOW: Final = "its job can not start"
Waiting = tuple[Pod, Wanted]


class JobVerdict(NamedTuple):
    """What became of a job."""

    group: GroupBook
    decision: GroupDecision
    members: list[Verdict]

    @property
    def is_placed(self) -> bool:
        """Does it start?"""
        return any(member.is_placed for member in self.members)


def know_members(trial: Trial, pods: Iterable[Pod]) -> None:
    """Pods that wait are members of their jobs."""
    foreign: list[Pod] = []
    groups = trial.cluster.groups
    for pod in pods:
        profile = trial.profile_of(pod)
        if profile is None:
            foreign.append(pod)
        elif profile.gangs is not None:
            groups.observe(pod)
    for pod in foreign:  # by mistake members of a job may ask for another scheduler
        found = groups.membership(pod)
        if found is not None and groups.find(found.key) is not None:
            groups.observe(pod)


def others_of(trial: Trial) -> OtherJobs:
    """What the jobs of the trial are to each other, once it knows who waits."""
    objects = trial.manifests.objects
    return OtherJobs(trial.cluster, (thing for thing in objects if isinstance(thing, Pod) and thing.is_finished))


def units(
    trial: Trial, queue: Sequence[Waiting], others: OtherJobs
) -> Iterator[tuple[GroupBook | None, list[Waiting]]]:
    """What is tried one after the other: a pod, or the members of a job that wait, in the place of the first.

    With them come those of jobs that start with it; a job that has to wait for others comes after all others.
    """
    late: list[tuple[GroupBook, list[Waiting]]] = []
    for group, members in _units(trial, queue, others):
        if group is not None and _hindrance(trial, group, others):
            late.append((group, members))
        else:
            yield group, members
    while late:
        number = next((place for place, (group, _) in enumerate(late) if not _hindrance(trial, group, others)), 0)
        yield late.pop(number)


def _hindrance(trial: Trial, group: GroupBook, others: OtherJobs) -> str:
    profile = profile_of_job(trial, group)
    return "" if profile is None else others.hindrance(profile, group)


def _units(
    trial: Trial, queue: Sequence[Waiting], others: OtherJobs
) -> Iterator[tuple[GroupBook | None, list[Waiting]]]:
    wanted_of = {pod.metadata.uid: (pod, wanted) for pod, wanted in queue}
    done: set[str] = set()
    for pod, wanted in queue:
        uid = pod.metadata.uid
        group = trial.cluster.groups.of(uid)
        if uid in done:
            continue
        if group is None:
            yield None, [(pod, wanted)]
            continue
        profile = profile_of_job(trial, group)
        is_free = profile is not None and not others.hindrance(profile, group)
        companions = others.companions(profile, group) if profile is not None and is_free else []
        waiting = (each for book in (group, *companions) for each in book.waiting)
        members = [wanted_of[each] for each in waiting if each in wanted_of]
        done.update(each.metadata.uid for each, _ in members)
        yield group, members


def profile_of_job(trial: Trial, group: GroupBook) -> Profile | None:
    """The profile that schedules its members."""
    return next((found for pod in group.pods.values() if (found := trial.profile_of(pod)) is not None), None)


def place_job(trial: Trial, group: GroupBook, members: Sequence[Waiting], others: OtherJobs) -> JobVerdict:
    """Decide about all of them and carry it out: the next one finds the cluster changed."""
    profile = profile_of_job(trial, group)
    assert profile is not None  # a job is known because its profile has gangs
    books = trial.cluster.groups
    pods = [pod for pod, _ in members if not pod.spec.scheduling_gates and books.of(pod.metadata.uid) is group]
    wanted = {pod.metadata.uid: wanted for pod, wanted in members}
    gated = [(pod, each) for pod, each in members if pod.spec.scheduling_gates]
    verdicts = [
        Verdict(pod, each, "gated", message="Scheduling is blocked due to non-empty gates") for pod, each in gated
    ]
    if not pods:
        decision = GroupDecision(group.key, GroupOutcome.UNSCHEDULABLE, [], "all members are gated")
        return JobVerdict(group, decision, verdicts)
    if words := others.hindrance(profile, group):
        decision = GroupDecision(group.key, GroupOutcome.UNSCHEDULABLE, [], words)
        waiting = [(pod, wanted[pod.metadata.uid]) for pod in pods]
        verdicts += [Verdict(pod, each, "unschedulable", message=words, remark=NOT_NOW) for pod, each in waiting]
        return JobVerdict(group, decision, verdicts)
    decisions = _decide(profile, group, pods, others)
    decision = decisions[0]
    victims = tuple(victim.pod for victim in decision.victims)
    if decision.outcome is GroupOutcome.PREEMPTING:
        for victim in victims:
            trial.cluster.apply(Event(Verb.DELETED, victim))
        decisions = _decide(profile, group, pods, others)
        decision = decisions[0]
    starts = decision.outcome is GroupOutcome.SCHEDULED
    for number, one in enumerate(member for each in decisions for member in each.members):
        if one.pod.metadata.uid not in wanted:  # of a job that waits in the cluster
            continue
        verdict = _verdict(profile, one, wanted[one.pod.metadata.uid], victims if not number else (), bool(victims))
        if not starts and verdict.result == "unschedulable":
            verdict.remark = NOT_NOW
        verdicts.append(verdict)
    others.saw(group)
    return JobVerdict(group, decision, verdicts)


def _decide(profile: Profile, group: GroupBook, pods: Sequence[Pod], others: OtherJobs) -> list[GroupDecision]:
    """About the job, and about each that starts with it."""
    companions = others.companions(profile, group)
    if companions:
        return decide_all(profile, group, pods, companions)
    return [decide_together(profile, group, pods)]


def _verdict(profile: Profile, member: Decision, wanted: Wanted, victims: tuple[Pod, ...], makes_room: bool) -> Verdict:
    """What became of a member; whom its job evicts is said of the first."""
    pod = member.pod
    if member.outcome is not Outcome.SCHEDULED:
        funnel = make_funnel(profile, member.pod_class, member.diagnosis)
        result = "error" if member.outcome is Outcome.ERROR else "unschedulable"
        return Verdict(pod, wanted, result, message=member.message, decision=member, funnel=funnel)  # type: ignore[arg-type]
    obstacle = settle(profile, member)
    if isinstance(obstacle, Stop):
        words = f"refused by {obstacle.plugin} after {member.node} was chosen"
        return Verdict(pod, wanted, "unschedulable", message=", ".join(obstacle.refusal.reasons), remark=words)
    if makes_room:
        return Verdict(pod, wanted, "preempts", member.node, decision=member, victims=victims)
    return Verdict(pod, wanted, "scheduled", member.node, decision=member)


def find_job(trial: Trial, name: str) -> GroupBook | None:
    """The job that is called so, with or without its namespace; None if there is none."""
    found = [group for group in trial.cluster.groups if name in (str(group.key), group.key.name)]
    if len(found) > 1:
        keys = ", ".join(sorted(str(group.key) for group in found)[:10])
        raise UserError(f"there are {len(found)} jobs called {name}", f"say which: {keys}", USAGE)
    return found[0] if found else None


def no_job(trial: Trial, name: str) -> UserError:
    """What to say where there is none."""
    known = sorted(str(group.key) for group in trial.cluster.groups)
    if not any(profile.gangs is not None for profile in trial.profiles.values()):
        what = f"there is no job {name}: no profile has gangs, so pods are placed one by one"
        return UserError(what, "give --config a configuration with fairway: {gangs: {}} in its profile", USAGE)
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known[:10]) or 'none'}"
    return UserError(f"no job is called {name}", hint, USAGE)
