"""The words a run has for what happened to nodes, pods and objects: these and no others, in both worlds.

In: nothing. Out: enumerations, whose values are what the tables hold and whose docstrings are what `docs/run-schema.md`
says about them (`schema_page`). `EventTranslator` finds the word for what a cluster tells; a `Recorder` takes them.
"""

from __future__ import annotations

import enum
from typing import NamedTuple, Self

__all__ = [
    "BlockedNote",
    "DataRead",
    "DeadlockNote",
    "HoldEnd",
    "HoldNote",
    "HoldWhy",
    "IntervalEnd",
    "NodeChange",
    "NodeEnd",
    "ObjectVerb",
    "PlanKind",
    "PodEnd",
    "PoolNote",
    "Word",
]


class Word(enum.StrEnum):
    """A word of a closed list, and what it means."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        """The word is the text itself."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class NodeChange(Word):
    """What led to a node's state."""

    ADDED = "Added", "it joined the cluster, or was there when the run began"
    CORDONED = "Cordoned", "it was made unschedulable"
    UNCORDONED = "Uncordoned", "it was made schedulable again"
    READY = "Ready", "its condition Ready became True"
    NOT_READY = "NotReady", "its condition Ready became False or Unknown"
    RESIZED = "Resized", "its allocatable amounts changed"
    CHANGED = "Changed", "labels, taints, images or something else that is kept of it changed"


class NodeEnd(Word):
    """Why a node went."""

    DELETED = "Deleted", "it was deleted"


class PodEnd(Word):
    """How a pod ended."""

    SUCCEEDED = "Succeeded", "all its containers ended well"
    FAILED = "Failed", "a container ended badly"
    DELETED = "Deleted", "somebody deleted it"
    EVICTED = "Evicted", "it was evicted: by the eviction API, by a taint, or by its kubelet"
    PREEMPTED = "Preempted", "a scheduler evicted it for a more important pod"
    NODE_LOST = "NodeLost", "its node was lost or deleted"
    REJECTED = "Rejected", "its kubelet did not take it"


class IntervalEnd(Word):
    """Why a pod that goes on no longer holds what it held; a pod that ended says how."""

    NODE_LOST = "NodeLost", "its node is lost"
    RESIZED = "Resized", "it holds something else from now on"


class ObjectVerb(Word):
    """What happened to an object that is no pod and no node."""

    APPLIED = "Applied", "it was made or changed"
    DELETED = "Deleted", "it was deleted"


class HoldNote(Word):
    """What is told about a pod that permit plugins hold (the `reason` of an event)."""

    HELD = "Held", "it has its node, and waits for them"
    ALLOWED = "Allowed", "they let it go: it is bound next"
    NOT_ALLOWED = "NotAllowed", "one of them rejected it, or lost its patience: it goes back to the queue"


class DeadlockNote(Word):
    """What is told about jobs that wait for each other's room (the `reason` of an event of a simulation)."""

    BEGUN = "Deadlock", "jobs that have not started hold room, none can complete, and one could without the others"
    OVER = "DeadlockOver", "that is so no longer"


class BlockedNote(Word):
    """What is told about jobs that fit and are not tried (the `reason` of an event of a simulation)."""

    BEGUN = "BlockedAhead", "the job has stood ready for ten seconds and fits, but others are tried before it"
    OVER = "BlockedAheadOver", "that is so no longer"


class PoolNote(Word):
    """What is told about gangs of mode `pfnet` that are ready (the `reason` of an event of a simulation)."""

    BEGUN = "GangPooled", "all members are ready, and wait for the next pod of any kind that gets a node"
    OVER = "GangPooledOver", "that is so no longer"


class HoldWhy(Word):
    """What room on a node is kept for."""

    PERMIT = "permit", "permit plugins wait with the pod's binding"
    BINDING = "binding", "the pod is being bound"
    EARMARK = "earmark", "pods leave the node to make room for the pod's job"


class HoldEnd(Word):
    """How that ended."""

    BOUND = "bound", "the pod was bound, or may be: it is being bound next"
    REJECTED = "rejected", "the pod went back to the queue, or its job gave the room up"
    TIMEOUT = "timeout", "a permit plugin lost its patience"
    DELETED = "deleted", "the pod ended before it was bound"


class PlanKind(Word):
    """What queues were planned for."""

    PASS = "pass", "who may start now, and who is promised a date"
    FORECAST = "forecast", "when the others will start"


class DataRead(NamedTuple):
    """From where a pod reads one of its datasets while it runs."""

    dataset: str  # namespace/name
    source: str  # the node with the nearest copy; "": there is none
    rung: str  # the label that both nodes share, the nearest of the ladder; "": none
    size: int | None  # bytes
    factor: float  # how many times as long the pod would run if it read nothing else
    extra_share: float  # the part of the pod's run that is only due to this distance
