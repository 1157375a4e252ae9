"""From a decision about a whole job to its bindings: reserve all, ask permits for all; or give all back.

In: members with the nodes chosen for them. Out: all of them assumed, and who of them permit plugins hold; or a
`RefusedMember`: nothing is assumed or reserved, and who said no to whom. Called by `job_attempts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairway.cycle import Decision, Hold, Profile, Stop
from fairway.cycle.pre_bind import PreBind

__all__ = ["RefusedMember", "prepare_all", "release_all", "reserve_all"]


class RefusedMember(NamedTuple):
    """A plugin said no to one member, which is a no to all."""

    decision: Decision
    stop: Stop


def reserve_all(profile: Profile, decisions: Sequence[Decision]) -> RefusedMember | dict[str, Hold]:
    """Assume and reserve them all, then ask for the permits of all; by uid: those that are held back."""
    done: list[Decision] = []
    for decision in decisions:
        stop = profile.assume(decision)  # which undoes its own
        if stop is not None:
            release_all(profile, done)
            return RefusedMember(decision, stop)
        done.append(decision)
    holds: dict[str, Hold] = {}
    for decision in decisions:
        answer = profile.permit(decision.pod, decision.pod_class, decision.row)
        if isinstance(answer, Stop):
            _forget_holds(profile, holds)
            release_all(profile, [other for other in done if other is not decision])
            return RefusedMember(decision, answer)
        if answer is not None:
            uid = decision.pod.metadata.uid
            holds[uid] = answer
            profile.cluster.held.hold(decision.pod, decision.node, answer.seconds, profile.now())
    return holds


def prepare_all(profile: Profile, decisions: Sequence[Decision]) -> RefusedMember | list[tuple[PreBind, ...]]:
    """What has to be done before each of them is bound; all are given back if one must not be bound."""
    before: list[tuple[PreBind, ...]] = []
    for decision in decisions:
        answer = profile.pre_bind(decision)
        if isinstance(answer, Stop):
            release_all(profile, [other for other in decisions if other is not decision])
            return RefusedMember(decision, answer)
        before.append(answer)
    return before


def release_all(profile: Profile, decisions: Sequence[Decision]) -> None:
    """Give everything back, the last first."""
    for decision in reversed(decisions):
        profile.release(decision.pod, decision.pod_class, decision.row)


def _forget_holds(profile: Profile, holds: dict[str, Hold]) -> None:
    for uid in holds:
        profile.cluster.held.forget(uid)
