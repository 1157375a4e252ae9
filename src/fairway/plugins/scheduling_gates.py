"""SchedulingGates: a pod with scheduling gates is not tried until the last gate is lifted.

In: `spec.schedulingGates`. Out: a refusal before the pod enters the active queue, naming the gates.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairway.model import Pod
from fairway.plugin import Action, Aspect, Change, ClusterEvent, Code, Hint, Plugin, Refusal, Resource


class SchedulingGates(Plugin):
    """Keeps gated pods out of the active queue."""

    annotations = ()
    reads = Aspect(0)

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """Refuse while there is any gate, naming them."""
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return None
        return Refusal((f"waiting for scheduling gates: [{' '.join(gates)}]",), Code.UNRESOLVABLE)

    def events(self) -> Sequence[Hint]:
        """Only the pod's own gates being lifted helps."""
        event = ClusterEvent(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (Hint(event, is_about),)


def is_about(pod: Pod, change: Change) -> bool:
    """Is the changed object this very pod?"""
    return isinstance(change.new, Pod) and change.new.metadata.uid == pod.metadata.uid
