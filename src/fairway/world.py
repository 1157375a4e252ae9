"""Where decisions take effect: the one seam between a scheduler and a cluster, real or simulated.

In: what a scheduler wants done: bind this pod there, evict that one, report why a third has to wait. Out: nothing; what
comes of it is seen in events. `live/`, `sim/` and shadow mode are worlds; `scheduler.py` does not know which it serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairway.cluster.held_pods import HeldPod, Settled
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.model import Pod
from fairway.plugin import Notice, Write

__all__ = ["World"]


class World(Protocol):
    """Where decisions take effect: a real cluster or a simulated one. Its answers come back as events."""

    def now(self) -> float:
        """The time in seconds; never less than before."""

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Make it so, after what has to come `before`. A pod event with the node confirms it.

        `Scheduler.binding_failed` takes it back. Where the pod was given GPU devices, its annotation says which, to be
        written with the node.
        """

    def hold(self, held: HeldPod) -> None:
        """Permit plugins hold a pod back that has its node. Nothing to do but to tell people."""

    def settled(self, settled: Settled) -> None:
        """They hold it no longer: it is bound next, or goes back to the queue and is reported."""

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """Remove a pod to make room for a more important one. A pod event tells when it is gone."""

    def write(self, writes: Sequence[Write], pod: Pod) -> None:
        """Post-filters want something written, for a pod that fits nowhere. What comes of it is seen in events."""

    def report(self, decision: Decision) -> None:
        """Tell people: the pod's condition and an event, with `decision.message`."""

    def report_group(self, decision: GroupDecision) -> None:
        """Tell people what came of a group's attempt; its members were reported one by one."""

    def tell(self, pod: Pod, notice: Notice) -> None:
        """A plugin has something else to say to people: an event about the pod."""
