"""What it means that pods belong together: one form for every spelling that people use.

In: a pod, and what its users wrote on it. Out: `membership`, the group it belongs to, by the first spelling that it
uses; `GroupSpec`, how many start together and where, which `group_reading` makes of the group's object or of the
members' annotations; `Misconfigured`, what is wrong instead, with the object and the field. Kept by `cluster.groups`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from fairway.model.meta import OwnerReference
from fairway.model.pod import Pod

__all__ = [
    "FAIRWAY",
    "KOORDINATOR",
    "MOST_NAMED",
    "START_TOGETHER",
    "After",
    "AfterMode",
    "Disruption",
    "GroupKey",
    "GroupReading",
    "GroupSpec",
    "GroupTopology",
    "Membership",
    "Misconfigured",
    "Spelling",
    "membership",
    "naming_annotations",
]

FAIRWAY: Final = "fairway.dev/"
KOORDINATOR: Final = "gang.scheduling.koordinator.sh/"
START_TOGETHER: Final = f"{FAIRWAY}start-together"
COSCHEDULING_LABEL: Final = "scheduling.x-k8s.io/pod-group"
VOLCANO_NAMES: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
JOB_SET_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
WORKER_SET_LABEL: Final = "leaderworkerset.sigs.k8s.io/name"
WORKER_GROUP_LABEL: Final = "leaderworkerset.sigs.k8s.io/group-index"

Disruption = Literal["Pod", "PodGroup"]
"""Who goes when one member has to make room: it alone, or all."""


class Spelling(enum.StrEnum):
    """A way to say that pods belong together. On one pod, the first in this order counts."""

    KUBE = "scheduling.k8s.io"
    COSCHEDULING = "scheduling.x-k8s.io"
    VOLCANO = "scheduling.volcano.sh"
    KOORDINATOR = "gang.scheduling.koordinator.sh"
    PFNET = "pfnet"
    FAIRWAY = "fairway.dev"
    CONTROLLER = "controller"


MOST_NAMED: Final = 256
"""So many others a job may name: what it says of them is looked at again whenever one of them changes."""
WITH_OBJECT: Final = frozenset((Spelling.KUBE, Spelling.COSCHEDULING, Spelling.VOLCANO))
"""Those whose group is an object of the API, a PodGroup."""


class GroupKey(NamedTuple):
    """Which group."""

    spelling: Spelling
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Membership(NamedTuple):
    """The group of a pod, and the spellings that it uses besides, which are not looked at."""

    key: GroupKey
    ignored: tuple[Spelling, ...] = ()


class GroupTopology(NamedTuple):
    """All members on nodes with one value of a label; of several, the tightest comes first."""

    is_required: bool
    keys: tuple[str, ...]


AfterMode = Literal["after-started", "after-any", "after-ok"]


class After(NamedTuple):
    """A job that comes first, and how far it has to have got."""

    mode: AfterMode
    job: str  # namespace/name


class GroupSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods of a group start."""

    key: GroupKey
    min_count: int  # how many start together; 0: each may start without the others
    size: int | None = None  # how many are expected, if that is known
    priority: int | None = None  # None: the highest of its members'
    disruption: Disruption = "Pod"
    topology: GroupTopology | None = None
    has_constraints: bool = False  # does its object speak of constraints, if only of none?
    one_per_node: bool = False
    min_resources: Mapping[str, int] = msgspec.field(default_factory=dict)  # cpu in thousandths
    task_minimums: Mapping[str, int] = msgspec.field(default_factory=dict)  # by what members say they are for
    timeout_seconds: float | None = None
    together: tuple[str, ...] = ()  # jobs, as namespace/name, that start with this one
    near: tuple[str, ...] = ()
    after: tuple[After, ...] = ()

    @property
    def spelling(self) -> Spelling:
        """How people say it."""
        return self.key.spelling

    @property
    def is_gang(self) -> bool:
        """Does it take several to start?"""
        return self.min_count > 0


class Misconfigured(NamedTuple):
    """What can not be meant: where it stands, and what is wrong with it."""

    subject: str  # such as `PodGroup ml/train`
    field: str
    problem: str

    @property
    def message(self) -> str:
        """One sentence, for the members that wait."""
        return f"Misconfigured: {self.subject}: {self.field}: {self.problem}"


class GroupReading(NamedTuple):
    """How pods are read."""

    prefixes: tuple[str, ...] = ()  # of pfnet's annotations; none: that spelling is not read


Asks = Callable[[Pod], bool]
"""Does the controller of this pod ask that its pods start together?"""


def membership(pod: Pod, reading: GroupReading, asks: Asks) -> Membership | None:
    """The group that a pod belongs to; None if it says nothing of any."""
    meta = pod.metadata
    group, owner = pod.spec.scheduling_group, meta.controller
    if group is None and not meta.annotations and owner is None and COSCHEDULING_LABEL not in meta.labels:
        return None  # as most pods
    found: list[tuple[Spelling, str]] = []
    if group is not None and group.pod_group_name:
        found.append((Spelling.KUBE, group.pod_group_name))
    if name := meta.labels.get(COSCHEDULING_LABEL):
        found.append((Spelling.COSCHEDULING, name))
    if meta.annotations:
        found += _annotated(meta.annotations, reading)
    if meta.annotations.get(START_TOGETHER) == "true" or (owner is not None and asks(pod)):
        found.append((Spelling.CONTROLLER, _controlled(pod, owner)))
    if not found:
        return None
    spelling, name = found[0]
    return Membership(GroupKey(spelling, meta.namespace, name), tuple(other for other, _ in found[1:]))


def naming_annotations(reading: GroupReading) -> frozenset[str]:
    """The annotations that make a pod belong to a group: without them, only its label, spec or controller may."""
    own = (*VOLCANO_NAMES, f"{KOORDINATOR}name", f"{FAIRWAY}gang", START_TOGETHER)
    return frozenset((*own, *(f"{prefix}-name" for prefix in reading.prefixes)))


def _annotated(annotations: Mapping[str, str], reading: GroupReading) -> list[tuple[Spelling, str]]:
    found = []
    if name := next((annotations[key] for key in VOLCANO_NAMES if annotations.get(key)), ""):
        found.append((Spelling.VOLCANO, name))
    if name := annotations.get(f"{KOORDINATOR}name", ""):
        found.append((Spelling.KOORDINATOR, name))
    if name := next((annotations[key] for key in (f"{p}-name" for p in reading.prefixes) if annotations.get(key)), ""):
        found.append((Spelling.PFNET, name))
    if name := annotations.get(f"{FAIRWAY}gang", ""):
        found.append((Spelling.FAIRWAY, name))
    return found


def _controlled(pod: Pod, owner: OwnerReference | None) -> str:
    """What the pods of a controller that start together are called."""
    labels = pod.metadata.labels
    if workers := labels.get(WORKER_SET_LABEL):
        return f"{workers}-{labels.get(WORKER_GROUP_LABEL, '')}"
    if job_set := labels.get(JOB_SET_LABEL):
        return job_set
    return owner.name if owner is not None else pod.metadata.name
