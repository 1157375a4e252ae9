"""What plugins answer: refusals and what they are for want of, waits, hints, candidates, and ways to ask for less.

Values alone, which the methods of `Plugin` take and return.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Change, ClusterEvent, Nodes, PodClass
from fairway.model import Pod
from fairway.model.writes import Write

if TYPE_CHECKING:
    from fairway.plugin.contract import Plugin

__all__ = [
    "MAX_SCORE",
    "PASSES",
    "SKIP",
    "Attempt",
    "Candidate",
    "Code",
    "Hint",
    "Locality",
    "Notice",
    "PostFilterResult",
    "Preparation",
    "Refusal",
    "Refused",
    "Relaxation",
    "Restriction",
    "Shortage",
    "Skip",
    "Supply",
    "Wait",
    "Waiting",
    "with_spec",
]

MAX_SCORE: Final = 100
"""Scores, after normalisation, lie between 0 and this."""
PASSES: Final = np.ones(1, bool)  # (1,)
"""What a filter may answer about one row that passes: the very array spares those who ask a look at it."""
PASSES.setflags(write=False)


class Code(enum.Enum):
    """What a refusal means for what happens next, with kube-scheduler's words for it."""

    UNSCHEDULABLE = "Unschedulable"  # removing pods (preemption) may help
    UNRESOLVABLE = "UnschedulableAndUnresolvable"  # it can not
    ERROR = "Error"  # something is broken; the pod is retried after a back-off
    PENDING = "Pending"  # the plugin itself will say when to try again


@dataclass(frozen=True, slots=True)
class Shortage:
    """Of something that pods use up: how much the pod needs, which is more than is left.

    How much each node has, and how much of it is taken, `Plugin.supply` says when somebody wants to know.
    """

    resource: str
    needed: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A no, with the words that a person reads.

    Where it is for want of something that can be counted, `shortages` says of what: then the funnel shows how much is
    needed and the most that any node has left, and smaller requests are proposed as a fix.
    """

    reasons: tuple[str, ...]
    code: Code = Code.UNSCHEDULABLE
    shortages: tuple[Shortage, ...] = ()


@dataclass(frozen=True, slots=True)
class Supply:
    """How much of a resource some nodes have, and how much of it is taken."""

    capacity: NDArray[np.int64]  # (num_rows,)
    used: NDArray[np.int64]  # (num_rows,)

    @property
    def free(self) -> NDArray[np.int64]:  # (num_rows,)
        """What is left; less than nothing where more is taken than there is."""
        return self.capacity - self.used


class Refused(NamedTuple):
    """A refusal that a plugin gave, and the nodes it was for; none where `pre_filter` refused the pod outright."""

    refusal: Refusal
    nodes: Nodes


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A demand given up, in the user's words, and the pod without it."""

    words: str
    pod: Pod
    binds_siblings: bool = False  # a demand that pods of the same controller make of each other


def with_spec(pod: Pod, **changes: Any) -> Pod:
    """The pod with other values in these fields of its spec."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **changes))


class Skip(enum.Enum):
    """What `pre_filter` and `pre_score` return when the plugin has nothing to say about this pod."""

    SKIP = enum.auto()


SKIP: Final = Skip.SKIP


@dataclass(frozen=True, slots=True)
class Restriction:
    """What `pre_filter` returns to confine a pod to a few nodes by name; `state` reaches `filter` as usual."""

    names: frozenset[str]
    state: Any = None


@dataclass(frozen=True, slots=True)
class Wait:
    """What `permit` returns to hold a decided pod back, at most so long, before it is bound."""

    timeout_seconds: float
    reasons: tuple[str, ...] = ()  # what for, where somebody wants to know


@dataclass(frozen=True, slots=True)
class Preparation:
    """What `pre_bind` returns: what is to be written, in this order, and then to be waited for, before the binding.

    Plugins know no API client: the world, real or simulated, writes. `until` is asked after that, and again whenever
    one of the objects in `about` changes: True lets the pod go, False waits on, a Refusal gives it back to the queue.
    It gets the resource versions that the writes led to, to tell whether `cluster` shows them already.
    """

    writes: tuple[Write, ...] = ()
    until: Callable[[Sequence[int]], bool | Refusal] | None = None  # None: nothing but the writing
    timeout_seconds: float = 600.0
    about: frozenset[str] = frozenset()  # such as "Pod default/web-0", "Node n1"; empty: asked at every event
    doing: str = ""  # what is waited for, in the words about a time-out


@dataclass(frozen=True, slots=True)
class Notice:
    """What `notices` returns: an event about the pod, for people to read."""

    reason: str  # one word, in CamelCase, the same whenever the same is meant
    note: str  # a sentence
    is_warning: bool = True


class Locality(enum.Enum):
    """How far a plugin looks when it judges one node."""

    NODE = "node"  # at that node's own row alone: answers are cached per row
    CLUSTER = "cluster"  # at other nodes too: asked about every node in every cycle in which something it reads changed


@dataclass(frozen=True, slots=True)
class Hint:
    """An event that may make a pod refused by this plugin schedulable.

    `helps(pod, change)` looks at the pod and the old and new object; None means any such event may help.
    """

    event: ClusterEvent
    helps: Callable[[Pod, Change], bool] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would have room if these pods, most important first, were gone."""

    row: int
    victims: tuple[Pod, ...]
    pdb_violations: int


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What `post_filter` achieved: a candidate to clear for the pod, or a refusal whose words join the message."""

    refusal: Refusal | None
    chosen: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()  # every node where clearing would have helped
    clear_nomination: bool = False  # the pod's own nominated node no longer makes sense
    writes: tuple[Write, ...] = ()  # what the world is asked to write, in this order, whether it helps now or later
    cleared: tuple[Pod, ...] = ()  # other pods, whose nominated nodes no longer make sense either


class Waiting(Protocol):
    """A pod in the queue, as `queue_sort` sees it. Times are seconds of the scheduler's clock."""

    pod: Pod
    timestamp: float  # when it came, or came back after an attempt
    attempts: int  # how often it was tried
    initial_attempt_timestamp: float | None  # when it was first ready


class Attempt(Protocol):
    """The failed attempt, as `post_filter` sees it (`fairway.cycle` provides it)."""

    pod: Pod
    pod_class: PodClass

    def codes(self) -> Sequence[Code | None]:
        """Per row of the cluster: the code of the refusal; None where there was none."""

    def state_of(self, plugin: Plugin) -> Any:
        """What that plugin's `pre_filter` returned in this attempt; KeyError when it never got so far."""

    def preempt(self, min_candidates_percentage: int, min_candidates_absolute: int) -> PostFilterResult:
        """Look for nodes that would fit without some less important pods, and choose the best."""
