"""Where decisions take effect: the one seam between a scheduler and a cluster, real or simulated.

In: what a scheduler wants done: bind this pod there, evict that one, report why a third has to wait. Out: nothing; what
comes of it is seen in events. `live/`, `sim/` and shadow mode are worlds; `scheduler.py` does not know which it serves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from fairway.cluster.intents.held_pods import HeldPod, Settled
from fairway.cycle import Decision, Profile
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.pre_bind import PreBind
from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.plugin import Notice, Write
from fairway.queue import QueuedPod

__all__ = ["Attendant", "GroupBinding", "Look", "World"]

Look = Callable[[Profile, Decision], None]
"""Called with every decision before anything comes of it, while the cluster is still as it was decided upon."""


class Attendant(Protocol):
    """Who is told of every attempt: the desk of queues."""

    def attempting(self, queued: QueuedPod) -> None:
        """This pod, or job, is tried next."""

    def attempted(self, decision: Decision | GroupDecision) -> None:
        """This came of it: whoever was placed is assumed on its node."""


class GroupBinding(NamedTuple):
    """One of several pods that are bound together."""

    pod: Pod
    node: str
    before: Sequence[PreBind]


class World(Protocol):
    """Where decisions take effect: a real cluster or a simulated one. Its answers come back as events."""

    def now(self) -> float:
        """The time in seconds; never less than before."""

    def bind(self, pod: Pod, node: str, before: Sequence[PreBind]) -> None:
        """Make it so, after what has to come `before`. A pod event with the node confirms it.

        `Scheduler.binding_failed` takes it back. Where the pod was given GPU devices, its annotation says which, to be
        written with the node.
        """

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        """The same for the members of a job, all at once; each is confirmed or taken back by itself."""

    def recall(self, pods: Sequence[Pod]) -> Sequence[str]:
        """These need not be bound any more: returns the uids of those that were not asked for yet, and will not be."""

    def remove(self, pod: Pod, why: str) -> None:
        """Delete a pod that has done nothing yet, so that its controller makes it again."""

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

    def report_job(self, decision: GroupDecision) -> None:
        """Tell people what came of a job's attempt, and every member that waits why it does; nobody else told them."""

    def job_started(self, job: GroupKey, num_members: int, seconds: float) -> None:
        """As many members are bound as it takes, so long after the first of them came. For those who measure."""

    def tell_group(self, job: GroupKey, member: Pod, notice: Notice) -> None:
        """Something else has to be said about a job: an event about its object, its owner or this member."""

    def tell(self, pod: Pod, notice: Notice) -> None:
        """A plugin has something else to say to people: an event about the pod."""
