"""One attempt for a group of pods as kube-scheduler 1.36 makes it with its gates on (schedule_one_podgroup.go).

In: a profile, a group and its members that wait, in their order. Out: a `GroupDecision`; nothing in the cluster
changes. The members are tried one after the other, on all nodes or on one set of nodes after the other
(`placements`); the group is feasible as soon as one of them is permitted. If it is not, and that is configured, room is
made for all of them (`workload_preemption`). Then each member is told what becomes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairway.cluster.groups import GroupBook
from fairway.cycle.decision import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome, GroupVictim, PlacementScores
from fairway.cycle.groups.members_cycle import UNSCHEDULABLE, GroupVerdict, MembersResult, MemberTry, try_members
from fairway.cycle.groups.placements import NO_PLACEMENTS, Domain, DomainError, best_domain, domain_scores, domains_of
from fairway.cycle.groups.unseen_terms import UnseenTerms
from fairway.cycle.groups.workload_preemption import preempt_for_group
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["decide_pod_group", "fail_pod_group"]


def decide_pod_group(profile: Profile, group: GroupBook, pods: Sequence[Pod]) -> GroupDecision:
    """Where should the members go now? Changes nothing."""
    spec = profile.cluster.groups.spec_of(group)
    if not isinstance(spec, GroupSpec):  # it was taken away since the members were let in
        words = spec.message if spec is not None else f'podgroup.scheduling.k8s.io "{group.key.name}" not found'
        return fail_pod_group(profile, group, pods, words)
    assert profile.gangs is not None
    attempt = _Attempt(profile, group, spec, pods)
    result = attempt.run(makes_room=True)
    preemptors: list[GroupVictim] = []
    if profile.gangs.workload_preemption and result.verdict is GroupVerdict.REJECTED:
        found = preempt_for_group(profile, group, spec, pods, lambda: attempt.run(makes_room=False))
        if found.error:
            result.fail(found.error)
        elif found.refusal:
            result.reasons.append(found.refusal)
        else:
            result.waits_for_preemption = True
            preemptors = [GroupVictim(pod, None) for pod in found.victims]
    decision = _decision(profile, group, pods, result)
    decision.victims += preemptors
    decision.domain, decision.placements = attempt.domain, attempt.placements
    return decision


def fail_pod_group(profile: Profile, group: GroupBook, pods: Sequence[Pod], words: str) -> GroupDecision:
    """Nothing was tried: that is an error of all members."""
    result = MembersResult()
    result.fail(words)
    return _decision(profile, group, pods, result)


class _Attempt:
    """Tries the group, as often as it takes, on the cluster as it is or is imagined."""

    def __init__(self, profile: Profile, group: GroupBook, spec: GroupSpec, pods: Sequence[Pod]) -> None:
        self._profile = profile
        self._group = group
        self._spec = spec
        self._pods = pods
        self._unseen = UnseenTerms(profile.cluster)
        self.domain = ""
        self.placements: dict[str, PlacementScores] = {}

    def run(self, makes_room: bool) -> MembersResult:
        """On all nodes, or set by set."""
        gangs = self._profile.gangs
        assert gangs is not None
        if not gangs.topology:
            return try_members(self._profile, self._pods, self._unseen, None, makes_room)
        try:
            domains = domains_of(self._profile, self._group, self._spec)
        except DomainError as error:
            result = MembersResult()
            result.fail(str(error))
            return result
        if not domains:
            return MembersResult(reasons=[NO_PLACEMENTS])
        return self._run_in(domains, makes_room)

    def _run_in(self, domains: Sequence[Domain], makes_room: bool) -> MembersResult:
        first: MembersResult | None = None
        fitting: dict[str, tuple[Domain, MembersResult]] = {}
        for domain in domains:
            result = try_members(self._profile, self._pods, self._unseen, domain.rows, makes_room)
            if result.verdict is GroupVerdict.ERROR:
                return result
            first = first or result
            if result.verdict is GroupVerdict.SUCCESS or result.waits_for_preemption:
                fitting[domain.name] = domain, result
        if not fitting:
            assert first is not None
            words = f"0/{len(domains)} placements are available, first placement status: {first.first_reason}"
            first.reasons = [words]
            return first
        self.domain = next(iter(fitting))
        if len(fitting) > 1:
            self.placements = domain_scores(self._profile, self._group, fitting)
            self.domain = best_domain(self._profile, self.placements)
        return fitting[self.domain][1]


# -- what becomes of the members ---------------------------------------------------------------------------------------


def _decision(profile: Profile, group: GroupBook, pods: Sequence[Pod], result: MembersResult) -> GroupDecision:
    """`submitPodGroupAlgorithmResult`: every member's own part in the group's result."""
    if result.verdict is GroupVerdict.SUCCESS:
        outcome = GroupOutcome.SCHEDULED
    elif result.verdict is GroupVerdict.ERROR:
        outcome = GroupOutcome.ERROR
    else:
        outcome = GroupOutcome.PREEMPTING if result.waits_for_preemption else GroupOutcome.UNSCHEDULABLE
    decision = GroupDecision(group.key, outcome, [], result.message)
    for number, pod in enumerate(pods):
        attempted = result.tries[number] if number < len(result.tries) else None
        decision.members.append(_member(profile, pod, attempted, result))
        preemption = None if attempted is None else attempted.decision.preemption
        if preemption is not None and preemption.chosen is not None:  # what was begun is not called off
            decision.victims += [GroupVictim(victim, pod) for victim in preemption.chosen.victims]
            decision.cleared += preemption.cleared
    return decision


def _member(profile: Profile, pod: Pod, attempted: MemberTry | None, result: MembersResult) -> Decision:
    """The member's decision; if it is not placed, with the node it is promised."""
    if result.verdict is GroupVerdict.ERROR:
        if attempted is not None and attempted.decision.outcome is Outcome.ERROR:
            return replace(attempted.decision, promise="")
        return Decision(pod, profile.classify(pod), Outcome.ERROR, error=result.message, promise="")
    if attempted is None:
        return _refused(Decision(pod, profile.classify(pod), Outcome.UNSCHEDULABLE), result.message, None)
    if attempted.fits and result.waits_for_preemption:
        return _refused(attempted.decision, result.message, attempted.decision.node)
    fits_in_vain = attempted.fits and result.verdict is not GroupVerdict.SUCCESS
    if fits_in_vain or (attempted.requires_preemption and not result.waits_for_preemption):
        return _refused(attempted.decision, f"{UNSCHEDULABLE}, {attempted.permit_words}", "")
    return attempted.decision


def _refused(decision: Decision, words: str, promise: str | None) -> Decision:
    """The member goes back for its group's sake: no plugin is to blame."""
    return replace(
        decision,
        outcome=Outcome.UNSCHEDULABLE,
        row=-1,
        node="",
        words=words,
        promise=promise,
        diagnosis=None,
        preemption=None,
        unschedulable_plugins=frozenset(),
    )
