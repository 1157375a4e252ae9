"""The placing of one pod, told once: decide → reserve → permit, and room made where nothing fits.

In: a profile and a pod. Out: a `Placement`: the decision, and what stands between it and the binding, if anything does.
That is a plugin that refused the node (`Stop`; all is given back) or some that want to wait (`Hold`; the room is kept).
Unless it was stopped, the pod counts on its node from then on.

Everybody who places pods takes these steps. Who knows no time (`try`, the conformance runner, the benchmark, pods that
come in a given order) calls `place`, or `settle` after a decision it looked at first. The scheduler loop does the same;
what takes time is its own: waiting for permits, binding by the world, taking back what the world refused. Preemption is
told by `make_room`; what it means that a victim goes is the caller's business: the scheduler asks the world, and
`place_in_room` imagines that it is gone already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairway.cluster import Event, Verb
from fairway.cycle.decision import Decision, Hold, Outcome, Preemption, Stop
from fairway.cycle.diagnosis import Diagnosis
from fairway.model import Pod
from fairway.plugin import Candidate, Code

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["Placement", "fail_at", "make_room", "place", "place_in_room", "settle"]


class Placement(NamedTuple):
    """What became of one attempt, short of binding."""

    decision: Decision
    obstacle: Stop | Hold | None = None  # None: nothing stands in the way, or there is no node to go to

    @property
    def is_placed(self) -> bool:
        """Does the pod count on a node now?"""
        return self.decision.outcome is Outcome.SCHEDULED and not isinstance(self.obstacle, Stop)


def place(profile: Profile, pod: Pod) -> Placement:
    """Decide about a pod, and settle it where it fits."""
    decision = profile.decide(pod)
    if decision.outcome is not Outcome.SCHEDULED:
        return Placement(decision)
    return Placement(decision, settle(profile, decision))


def settle(profile: Profile, decision: Decision, pod: Pod | None = None) -> Stop | Hold | None:
    """Carry a decision out in memory: reserve the node for the pod (or its newer version) and ask for the permit."""
    pod = pod or decision.pod
    obstacle = profile.assume(decision, pod) or profile.permit(pod, decision.pod_class, decision.row)
    if isinstance(obstacle, Hold):
        profile.cluster.held.hold(pod, decision.node, obstacle.seconds, profile.now())
    return obstacle


def fail_at(decision: Decision, stop: Stop) -> None:
    """Make a failure of the decision: a plugin said no to the chosen node, and of no other node anything is known."""
    diagnosis = Diagnosis(1, 1)
    diagnosis.refuse(stop.plugin, np.array([0], np.intp), stop.refusal)
    # Permit is the last that may call a pod unschedulable; one that fails later is tried again after a backoff.
    is_error = stop.refusal.code is Code.ERROR or stop.point == "PreBind"
    decision.outcome = Outcome.ERROR if is_error else Outcome.UNSCHEDULABLE
    if is_error:
        decision.error = stop.error
    decision.diagnosis, decision.unschedulable_plugins = diagnosis, diagnosis.unschedulable_plugins


# -- room for a pod that fits nowhere ----------------------------------------------------------------------------------


def make_room(
    preemption: Preemption | None, *, clear: Callable[[Pod], object], evict: Callable[[Pod], object]
) -> Candidate | None:
    """Carry out what preemption chose: `clear` other pods' promises of a node, `evict` the victims."""
    if preemption is None:
        return None
    for other in preemption.cleared:
        clear(other)
    if preemption.chosen is None:
        return None
    for victim in preemption.chosen.victims:
        evict(victim)
    return preemption.chosen


def place_in_room(
    profile: Profile, decision: Decision, dressed: Callable[[Decision], Pod] | None = None
) -> Placement | None:
    """What if all that preemption wants happened now: the pod on the node that is made free.

    `dressed` gives the version of the pod that counts there. None: there is nothing to preempt, or the pod does not fit
    even so; the victims are gone all the same.
    """
    cluster = profile.cluster
    chosen = make_room(
        decision.preemption,
        clear=lambda other: cluster.nominations.remove(other.metadata.uid),
        evict=lambda victim: cluster.apply(Event(Verb.DELETED, victim)),
    )
    if chosen is None or not profile.fits_on(decision.pod, chosen.row):
        return None
    placed = replace(decision, outcome=Outcome.SCHEDULED, row=chosen.row, node=cluster.nodes.names[chosen.row])
    return Placement(placed, settle(profile, placed, dressed(placed) if dressed is not None else None))
