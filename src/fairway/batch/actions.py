"""What is to be done to pods, controllers, nodes and jobs: small values that any world can carry out.

In: nothing. Out: frozen types, which `limits`, `failures`, `windows` and `reservations` compute from what is seen. The
desk hands them to its world; the simulated one and the one of a real cluster carry out the same. Each says what shall
be true, not what to change by how much: a world may carry one out twice, or be cut off after any of them, and whoever
looks again computes only what is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fairway.model import Pod

__all__ = [
    "CORDONED_BY",
    "DEADLINE",
    "MADE_FROM",
    "Action",
    "AnnotatePod",
    "CordonNode",
    "CreatePod",
    "DeletePod",
    "EvictPod",
    "MarkDisrupted",
    "ResumeJob",
    "SetActiveDeadline",
    "TaintNode",
    "Tell",
    "UncordonNode",
]

DEADLINE: Final = "fairway.dev/deadline"
CORDONED_BY: Final = "fairway.dev/cordoned-by"
MADE_FROM: Final = "fairway.dev/made-anew-from"
"""On a pod that was made anew: the uid of the one in whose place it is."""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """The pod ends, within so many seconds; whatever its budget says."""

    pod: str  # uid
    grace: float | None = None  # None: its own
    why: str = ""
    is_forced: bool = False  # also if nobody can tell that it has ended
    cause: str = "TimedOut"  # in one word, for the event


@dataclass(frozen=True, slots=True)
class CreatePod:
    """There is a pod of this name; nobody else makes it."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class EvictPod:
    """The pod ends if its budget allows that; asked again every few seconds until it does."""

    pod: str  # uid
    why: str = ""


@dataclass(frozen=True, slots=True)
class MarkDisrupted:
    """The pod has the condition DisruptionTarget, so that its controller does not count its end as a failure."""

    pod: str  # uid
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class AnnotatePod:
    """The pod has this annotation."""

    pod: str  # uid
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class SetActiveDeadline:
    """The controller of kind Job has this activeDeadlineSeconds: it ends its pods and fails."""

    controller: str  # uid
    seconds: int


@dataclass(frozen=True, slots=True)
class ResumeJob:
    """The controller of kind Job is not suspended: it makes its pods."""

    controller: str  # uid


@dataclass(frozen=True, slots=True)
class CordonNode:
    """The node takes nobody, and says for which window."""

    node: str
    window: str  # uid


@dataclass(frozen=True, slots=True)
class UncordonNode:
    """The node takes pods again, and no longer names a window."""

    node: str
    window: str  # uid of the window that it named


@dataclass(frozen=True, slots=True)
class TaintNode:
    """The node has the taint of this queue and of no other, or of none: other schedulers stay off."""

    node: str
    queue: str  # "": none


@dataclass(frozen=True, slots=True)
class Tell:
    """An event about an object of ours."""

    about: str  # the job's key, the window's or the reservation's name
    reason: str
    words: str
    is_warning: bool = False


Action = (
    DeletePod
    | CreatePod
    | EvictPod
    | MarkDisrupted
    | AnnotatePod
    | SetActiveDeadline
    | ResumeJob
    | CordonNode
    | UncordonNode
    | TaintNode
    | Tell
)
