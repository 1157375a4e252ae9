"""What one attempt to place a pod came to.

In: filled by the cycle. Out: read by the scheduler loop (what to do next), the recorder and the commands (what
happened and why). Numbers are always there; words (`message`) are made when somebody asks.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import UNSET, UnsetType

from fairway.cluster.datasets.data_step import DataStep
from fairway.model import Pod
from fairway.plugin import Candidate, Code, PodClass, Refusal, Write, with_spec

if TYPE_CHECKING:
    from fairway.cycle.diagnosis import Diagnosis

Point = Literal["Reserve", "Permit", "PreBind"]
Via = Literal["scores", "single", "nominated"]
EVENT_LIMIT = 1024
NO_NODES = "no nodes available to schedule pods"


class Outcome(enum.Enum):
    """How an attempt ended."""

    SCHEDULED = "scheduled"  # a node was chosen
    UNSCHEDULABLE = "unschedulable"  # no node fits now
    GATED = "gated"  # the pod may not be tried yet
    ERROR = "error"  # something is broken; try again later


class Stop(NamedTuple):
    """A plugin that said no to the node that was chosen; what had been reserved there is given back."""

    point: Point
    plugin: str
    refusal: Refusal

    @property
    def error(self) -> str:
        """The words for a plugin that broke rather than refused."""
        return f'running {self.point} plugin "{self.plugin}": {", ".join(self.refusal.reasons)}'


class Hold(NamedTuple):
    """Plugins that keep a decided pod from being bound for now; its room is kept."""

    seconds: dict[str, float]  # by plugin, in the order they were asked: how long it may take at most
    reasons: tuple[str, ...] = ()  # what the last of them waits for, if it says so

    @property
    def shortest(self) -> tuple[str, float]:
        """The plugin whose patience ends first, and after how many seconds."""
        return min(self.seconds.items(), key=lambda wait: wait[1])


@dataclass(slots=True)
class Preemption:
    """What `post_filter` tried when no node fitted."""

    attempted: bool  # was there a node on which removing pods could help at all?
    code: Code | None  # None: it succeeded
    reasons: tuple[str, ...]
    candidates: tuple[Candidate, ...] = ()
    chosen: Candidate | None = None
    ties: int = 0  # how many candidates were equally good
    nominated_node: str = ""
    cleared: tuple[Pod, ...] = ()  # other pods that waited for a node, such as the chosen one, and no longer do
    clear_nomination: bool = False
    num_potential: int = 0  # on how many nodes removing pods could have helped
    writes: tuple[Write, ...] = ()  # what the post-filters ask the world to write


@dataclass(slots=True)
class Decision:
    """One attempt's result."""

    pod: Pod
    pod_class: PodClass
    outcome: Outcome
    row: int = -1
    node: str = ""
    attempt: int = 0  # the how-manieth of this pod, where a queue counts them
    via: Via | None = "scores"  # None: nobody told
    num_feasible: int = 0
    score: int | None = None  # the best total, where nodes were scored
    num_best: int = 0  # how many nodes share it
    diagnosis: Diagnosis | None = None  # why nodes were refused, when none fitted
    is_diagnosed: bool = True  # False: nobody wanted to know why
    preemption: Preemption | None = None
    gate: tuple[str, Refusal] | None = None  # who gated the pod, and why
    error: str = ""
    words: str = ""  # what is said of a member because of its group, in the place of all below
    promise: str | UnsetType | None = UNSET  # what it is promised because of its group: see `nomination`
    other_errors: tuple[str, ...] = ()  # met on other nodes; kube-scheduler names whichever it meets first
    unschedulable_plugins: frozenset[str] = frozenset()
    data: tuple[DataStep, ...] = ()  # where the pod was placed: how near that is to the datasets it uses

    @property
    def message(self) -> str:
        """The sentence kube-scheduler writes into the pod's condition; empty when the pod was placed."""
        if self.error or self.words:
            return self.error or self.words
        if self.outcome is not Outcome.UNSCHEDULABLE or not self.is_diagnosed:
            return ""
        if self.diagnosis is None:
            return NO_NODES
        return self.diagnosis.message(", ".join(self.preemption.reasons) if self.preemption else "")

    @property
    def pod_there(self) -> Pod:
        """The pod as it is, or would have been, on its node."""
        return with_spec(self.pod, node_name=self.node)

    @property
    def nomination(self) -> str | None:
        """The node that a pod which was not placed is promised; "" for none, None for what its status says."""
        if self.promise is not UNSET:
            return self.promise
        preemption = self.preemption
        if preemption is not None and preemption.chosen is not None:
            return preemption.nominated_node
        is_over = preemption is None or preemption.clear_nomination or self.outcome is Outcome.ERROR
        return "" if is_over else None

    @property
    def event(self) -> str:
        """The same for an event, which has a limit of 1,024 bytes."""
        return cut_message(self.message)


def cut_message(message: str) -> str:
    """Messages over 1,024 bytes end in an ellipsis there, as kube-scheduler cuts them."""
    data = message.encode()
    if len(data) <= EVENT_LIMIT:
        return message
    return data[: EVENT_LIMIT - 4].decode(errors="ignore") + " ..."
