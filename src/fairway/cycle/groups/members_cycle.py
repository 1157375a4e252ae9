"""The members of a group, one after the other, on one state of the cluster: what each would get, and all taken back.

In: a profile, the members in their order, and perhaps the only rows they may go to. Out: a `MembersResult`: each
member's decision and whether it was permitted, and what that makes of the group. A member that fits is assumed, with
all that plugins reserve, so that the next ones see it; in the end everything is as before. kube-scheduler 1.36,
`podGroupSchedulingDefaultAlgorithm` in schedule_one_podgroup.go. Called by `pod_group_cycle`, `workload_preemption`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cycle.decision import Decision, Hold, Outcome, Stop
from fairway.cycle.groups.unseen_terms import UnseenTerms
from fairway.cycle.placing import fail_at
from fairway.model import Pod

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["UNSCHEDULABLE", "GroupVerdict", "MemberTry", "MembersResult", "try_members"]

UNSCHEDULABLE: Final = "pod group is unschedulable"
WAITING: Final = "pod group is waiting for preemption to complete"
HELD: Final = "one or more plugins asked to wait and no plugin rejected pod"


class GroupVerdict(enum.Enum):
    """What the members' results make of the group."""

    SUCCESS = "success"
    REJECTED = "rejected"
    ERROR = "error"


@dataclass(slots=True)
class MemberTry:
    """What one member got. Its decision is as the plugins made it, whatever becomes of the group."""

    decision: Decision
    row: int = -1  # where it was assumed, be it that others have to go first
    requires_preemption: bool = False
    is_permitted: bool = False
    permit_words: str = ""  # what it would wait for

    @property
    def fits(self) -> bool:
        """Is there a node for it, as things are?"""
        return self.decision.outcome is Outcome.SCHEDULED


@dataclass(slots=True)
class MembersResult:
    """What all members got, and what follows for the group."""

    verdict: GroupVerdict = GroupVerdict.REJECTED
    reasons: list[str] = field(default_factory=lambda: [UNSCHEDULABLE])
    tries: list[MemberTry] = field(default_factory=list)  # fewer than members if one of them broke, or none was tried
    waits_for_preemption: bool = False

    @property
    def message(self) -> str:
        """What the group's condition says."""
        return ", ".join(self.reasons)

    @property
    def first_reason(self) -> str:
        """The error, without what was added to it."""
        return self.reasons[0]

    def succeed(self) -> None:
        """The group can be bound as it is."""
        self.verdict, self.reasons, self.waits_for_preemption = GroupVerdict.SUCCESS, [], False

    def wait(self) -> None:
        """The group can be bound once victims are gone."""
        self.verdict, self.reasons, self.waits_for_preemption = GroupVerdict.REJECTED, [UNSCHEDULABLE, WAITING], True

    def fail(self, words: str) -> None:
        """Something broke."""
        self.verdict, self.reasons, self.waits_for_preemption = GroupVerdict.ERROR, [words], False


def try_members(
    profile: Profile,
    pods: Sequence[Pod],
    unseen: UnseenTerms,
    among: NDArray[np.bool_] | None = None,
    makes_room: bool = True,
) -> MembersResult:
    """Try them all; afterwards nothing has changed."""
    result = MembersResult()
    # A member may be assumed where a victim still has the port it wants: that port is not to be given away with it.
    with profile.cluster.what_if():
        try:
            _try_each(profile, pods, unseen, among, makes_room, result)
        finally:
            for attempted in reversed(result.tries):
                if attempted.row >= 0:
                    _take_back(profile, attempted, unseen)
    return result


def _try_each(
    profile: Profile,
    pods: Sequence[Pod],
    unseen: UnseenTerms,
    among: NDArray[np.bool_] | None,
    makes_room: bool,
    result: MembersResult,
) -> None:
    needs_room = False
    for pod in pods:
        attempted = _try(profile, pod, unseen, among, makes_room)
        result.tries.append(attempted)
        if attempted.row < 0:
            decision = attempted.decision
            if decision.outcome is Outcome.ERROR:
                result.fail(f"failed to schedule other pod from a pod group: {decision.error}")
                return
            continue  # the others may be enough
        needs_room = needs_room or attempted.requires_preemption
        if attempted.is_permitted and needs_room:
            result.wait()
        elif attempted.is_permitted:
            result.succeed()


def _try(
    profile: Profile, pod: Pod, unseen: UnseenTerms, among: NDArray[np.bool_] | None, makes_room: bool
) -> MemberTry:
    """One member: decide, assume, reserve, permit."""
    unseen.look_with(profile.classify(pod))
    decision = profile.decide(pod, among, makes_room)
    attempted = MemberTry(decision)
    preemption = decision.preemption
    placed = decision
    if decision.outcome is not Outcome.SCHEDULED:
        if decision.outcome is Outcome.ERROR or preemption is None or not preemption.nominated_node:
            return attempted
        row = profile.cluster.nodes.row_of[preemption.nominated_node]
        placed = replace(decision, outcome=Outcome.SCHEDULED, row=row, node=preemption.nominated_node)
        attempted.requires_preemption = True
    obstacle = profile.assume(placed) or profile.permit(pod, placed.pod_class, placed.row)
    if isinstance(obstacle, Stop):  # all is given back
        attempted.decision = replace(placed, preemption=None)
        fail_at(attempted.decision, obstacle)
        attempted.requires_preemption = False
        return attempted
    attempted.row = placed.row
    unseen.hide(placed.pod_class, placed.row)
    if isinstance(obstacle, Hold):
        attempted.permit_words = ", ".join((*obstacle.reasons, HELD))
    else:
        attempted.is_permitted = True
    return attempted


def _take_back(profile: Profile, attempted: MemberTry, unseen: UnseenTerms) -> None:
    pod, pod_class = attempted.decision.pod, attempted.decision.pod_class
    unseen.show(pod_class, attempted.row)
    profile.release(pod, pod_class, attempted.row)
    if pod.status.nominated_node_name:  # to be assumed, it had to give that up
        profile.cluster.nominations.add(pod, pod.status.nominated_node_name)
