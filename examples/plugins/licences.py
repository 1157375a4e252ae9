"""Licences: a node has seats of a licensed program, and a pod says in an annotation how many it takes.

It shows what a plugin can own besides its judgement: arguments, what is short, and a fix.
"""

from typing import Annotated

import msgspec
import numpy as np

from fairway.plugin import (
    SKIP,
    Action,
    ClusterEvent,
    Code,
    Hint,
    Plugin,
    PluginArgs,
    Problem,
    Refusal,
    Relaxation,
    Resource,
    Shortage,
    Supply,
)

SEATS = "example.com/licences"


class LicencesArgs(PluginArgs, frozen=True, kw_only=True):
    """How many seats every node has, and how many of them are kept for people."""

    seats_per_node: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 4
    kept_seats: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0

    def problems(self):
        """What the types do not tell."""
        if self.kept_seats >= self.seats_per_node:
            yield Problem("keptSeats", f"{self.kept_seats} leaves none of {self.seats_per_node} seats for pods")


class Licences(Plugin):
    """Seats that are left."""

    Args = LicencesArgs
    annotations = (SEATS,)

    def pre_filter(self, pod, nodes):
        """How many seats the pod takes; pods that take none do not care."""
        text = pod.annotations.get(SEATS, "0")
        if not (text.isascii() and text.isdecimal()):
            return Refusal((f"the pod's {SEATS} is no number",), Code.UNRESOLVABLE)
        return int(text) or SKIP

    def filter(self, pod, nodes, state):
        """Nodes with as many left."""
        return self.supply(nodes, "licences").free >= state

    def explain(self, pod, nodes, state):
        """There is one reason."""
        return Refusal(("Insufficient licences",), shortages=(Shortage("licences", state),))

    def supply(self, nodes, resource):
        """The seats of each node, and those that its pods have."""
        rows = nodes.numbers.tolist()
        used = [sum(_seats(placed.pod) for placed in self.cluster.pods.on_row(row)) for row in rows]
        seats = self.args.seats_per_node - self.args.kept_seats
        return Supply(np.full(len(rows), seats), np.array(used, np.int64))

    def relax(self, pod, pod_class, refused):
        """As many as the node with the most left has."""
        most = max((int(self.supply(nodes, "licences").free.max()) for _, nodes in refused if len(nodes)), default=0)
        if most > 0:
            annotations = {**pod.metadata.annotations, SEATS: str(most)}
            metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
            words = f"take {most} licences instead of {_seats(pod)}"
            yield Relaxation(words, msgspec.structs.replace(pod, metadata=metadata))

    def events(self):
        """Another pod gives seats back, a node comes, or the pod asks for something else."""
        return (
            Hint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE)),
            Hint(ClusterEvent(Resource.NODE, Action.ADD)),
            Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE)),
        )


def _seats(pod):
    text = pod.metadata.annotations.get(SEATS, "0")
    return int(text) if text.isascii() and text.isdecimal() else 0
