"""Queues: a pod of a queue is not tried before its job's turn has come.

In: what the planner says of the pod (`cluster.promises`). Out: a refusal before the pod enters the active queue, in the
planner's words. The planner wakes the pods it lets in; no event does. Switched on where queues are, never by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.model import Pod
from fairway.plugin import Action, Aspect, ClusterEvent, Code, Hint, Plugin, Refusal, Resource
from fairway.plugins.scheduling_gates import is_about


class Queues(Plugin):
    """Keeps pods of queues out of the active queue until they are released."""

    annotations = ()
    reads = Aspect(0)

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """Refuse until the job is released."""
        planner = self.cluster.promises.planner
        words = planner.gate(pod) if planner is not None else ""
        return Refusal((words,), Code.UNRESOLVABLE) if words else None

    def events(self) -> Sequence[Hint]:
        """The pod may say something else now."""
        return (Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE), is_about),)
