"""What is told on the stream: plain values, a type for each kind of event, with the fields that `decisions.proto` has.

They are made of notes (`telling`), and become bytes when somebody reads them (`encoding`). Nothing here refers to a
pod, a node or an array: an event that waits in the ring holds nothing but itself, and the garbage collector does not
look at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, get_args

import msgspec

__all__ = [
    "KINDS",
    "MEMBER",
    "PASSED_OVER",
    "Attempt",
    "Bound",
    "Event",
    "JobAttempt",
    "JobRef",
    "NodeSeen",
    "PluginTime",
    "PodRef",
    "PodSeen",
    "Preempted",
    "QueueMove",
    "Refused",
    "Scored",
    "Snapshot",
    "Told",
    "Unbound",
    "Victim",
]

NOTHING: Final[Mapping[str, int]] = {}
NO_TEXTS: Final[Mapping[str, str]] = {}
MEMBER: Final = "member"
PASSED_OVER: Final = "passed over"
"""What an attempt is within one for a whole job: a part of it that a run has a row for, or one that it only counts."""


class PodRef(msgspec.Struct, frozen=True, gc=False):
    """Which pod."""

    namespace: str
    name: str
    uid: str


class Refused(msgspec.Struct, frozen=True, gc=False):
    """So many nodes were refused for that; of one attempt they add up."""

    plugin: str
    code: str
    reason: str
    num_nodes: int


class Scored(msgspec.Struct, frozen=True, gc=False):
    """One of the best nodes of an attempt."""

    rank: int
    node: str
    total: int
    by_plugin: Mapping[str, int]


class PluginTime(msgspec.Struct, frozen=True, gc=False):
    """What a plugin used in an attempt."""

    plugin: str
    point: str
    num_calls: int
    cpu_seconds: float


class Attempt(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="attempt"):
    """A scheduler tried to place a pod."""

    pod: PodRef
    scheduler: str
    attempt: int
    outcome: str
    node: str = ""
    via: str = ""
    num_nodes: int = 0
    num_feasible: int = 0
    num_best: int = 0
    score: int | None = None
    refused: tuple[Refused, ...] = ()
    best: tuple[Scored, ...] = ()
    nominated_node: str = ""
    victims: tuple[PodRef, ...] = ()
    message: str = ""
    cycle_seconds: float = 0.0
    plugin_times: tuple[PluginTime, ...] = ()
    job_part: str = ""  # of an attempt for a whole job, which is told after its members'
    promised_node: str | None = None  # the node that it is promised while it waits; None: that has not changed


class JobRef(msgspec.Struct, frozen=True, gc=False):
    """Which job, and how its members say that they belong together."""

    spelling: str
    namespace: str
    name: str


class Victim(msgspec.Struct, frozen=True, gc=False):
    """A pod that has to leave its node for a job."""

    pod: PodRef
    node: str


class JobAttempt(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="job"):
    """A scheduler tried to place a job as a whole; its members' attempts were told right before."""

    job: JobRef
    scheduler: str
    attempt: int
    outcome: str
    num_members: int
    num_placed: int
    blocking: PodRef | None = None  # the member that kept it from starting
    missing: int | None = None
    resource: str = ""
    domain_key: str = ""
    domain: str = ""
    num_domains: int | None = None
    num_backtracks: int = 0
    is_exhausted: bool = False
    victims: tuple[Victim, ...] = ()
    message: str = ""
    cycle_seconds: float = 0.0


class QueueMove(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="queue"):
    """A waiting pod moved; an empty place is none: not in the queue."""

    pod: PodRef
    scheduler: str
    origin: str
    place: str
    event: str


class Bound(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="bound"):
    """A pod holds so much of a node from now on."""

    pod: PodRef
    node: str
    node_uid: str
    gpu_index: str
    held: Mapping[str, int]


class Unbound(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="unbound"):
    """It holds that no more: it closes the one `Bound` before it."""

    pod: PodRef
    node: str
    reason: str
    message: str
    held: Mapping[str, int]
    held_seconds: float


class PodSeen(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="pod"):
    """Something happened to a pod."""

    pod: PodRef
    change: str
    scheduler: str = ""
    owner: str = ""
    priority: int = 0
    requests: Mapping[str, int] = NOTHING
    annotations: Mapping[str, str] = NO_TEXTS  # those of its own
    start_seconds: float | None = None  # when its kubelet took it, by the kubelet's clock


class NodeSeen(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="node"):
    """Something happened to a node."""

    node: str
    uid: str
    change: str
    is_ready: bool
    is_unschedulable: bool
    allocatable: Mapping[str, int]
    labels: Mapping[str, str] = NO_TEXTS


class Preempted(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="preempted"):
    """A pod has to go, for another."""

    pod: PodRef
    node: str
    by: PodRef


class Snapshot(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag="snapshot"):
    """How things stand, a part of it; the last part says so."""

    nodes: tuple[NodeSeen, ...]
    bound: tuple[Bound, ...]
    queue: tuple[QueueMove, ...]
    is_last: bool


Told: TypeAlias = Attempt | JobAttempt | QueueMove | Bound | Unbound | PodSeen | NodeSeen | Preempted | Snapshot
KINDS: Final[dict[str, type[Told]]] = {kind.__struct_config__.tag: kind for kind in get_args(Told)}
"""By the word that commands have for it."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that was told, and when by the run's clock."""

    time_seconds: float
    what: Told
