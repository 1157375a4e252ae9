"""The plugin API: everything a scheduling policy may do, in one file.

A plugin judges *all nodes at once*: `filter` returns a mask, `score` integers, over the rows of the `Nodes` it gets
(columns of the cluster, such as `nodes.free("cpu")` and `nodes.label("zone")`). Override what you need:

    class PreferGreen(Plugin):
        def score(self, pod, nodes, state):
            return np.where(nodes.label("power") == "green", 100, 0)

The cycle asks in the order below, remembers the answers per `PodClass` (pods with equal specs, labels, annotations,
namespace and owner) and asks again about changed rows alone. Two declarations keep that exact: `reads` (what the answer
depends on) and `locality` (does it depend on that row alone?). `fairway.testing.check_plugin` tests both.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol

import numpy as np

from fairway.cluster import Action, Aspect, Change, Cluster, ClusterEvent, Nodes, PodClass, Resource
from fairway.model import Node, Pod
from fairway.model.writes import Create, Patch, Write, patch_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_SCORE",
    "SKIP",
    "Action",
    "Aspect",
    "Attempt",
    "Candidate",
    "Change",
    "Cluster",
    "ClusterEvent",
    "Code",
    "Create",
    "Hint",
    "Locality",
    "Nodes",
    "Patch",
    "Plugin",
    "PodClass",
    "PostFilterResult",
    "Preparation",
    "Refusal",
    "Resource",
    "Restriction",
    "Skip",
    "Wait",
    "Waiting",
    "Write",
    "overrides",
    "patch_of",
    "per_node",
]

MAX_SCORE: Final = 100
"""Scores, after normalisation, lie between 0 and this."""


class Code(enum.Enum):
    """What a refusal means for what happens next, with kube-scheduler's words for it."""

    UNSCHEDULABLE = "Unschedulable"  # removing pods (preemption) may help
    UNRESOLVABLE = "UnschedulableAndUnresolvable"  # it can not
    ERROR = "Error"  # something is broken; the pod is retried after a back-off
    PENDING = "Pending"  # the plugin itself will say when to try again


@dataclass(frozen=True, slots=True)
class Refusal:
    """A no, with the words that a person reads."""

    reasons: tuple[str, ...]
    code: Code = Code.UNSCHEDULABLE


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


class Plugin:
    """A scheduling policy. Every method has a default that does nothing; a plugin takes part where it overrides one."""

    name: ClassVar[str] = ""  # as in KubeSchedulerConfiguration; the class's own name when left empty
    locality: ClassVar[Locality] = Locality.NODE
    reads: ClassVar[Aspect] = Aspect.NODE | Aspect.PODS
    per_pod: ClassVar[bool] = False  # True: reads what pods of a class do not share (name, uid); gives up sharing

    def __init__(self, cluster: Cluster, args: Any = None) -> None:
        """`cluster` is the one the profile schedules; `args` this plugin's pluginConfig entry (a mapping), if any."""
        self.cluster = cluster
        self.args = args

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    # -- waiting -------------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """May the pod enter the active queue at all? A refusal gates it until one of `events` happens."""
        return None

    def queue_sort(self, waiting: Waiting) -> tuple[Any, ...]:
        """The pod's turn: of the pods that are ready, the one with the smallest key is tried next.

        A key is a tuple of numbers and texts, alike for all pods. One plugin sorts the queue that all profiles share.
        """
        return ()

    def events(self) -> Sequence[Hint]:
        """Which events may help a pod that this plugin refused. The default: any event."""
        return (Hint(ClusterEvent(Resource.ANY, Action.ALL)),)

    # -- which nodes ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any | Refusal | Restriction | Skip:
        """Once before `filter`: compile what the pod wants. What it returns is handed on as `state`.

        `nodes` are all nodes. A `Refusal` refuses the pod on every node, SKIP leaves this plugin out of `filter`.
        With `Locality.NODE` the result is kept for the class; `pod.kept` is the place for counters of wider plugins.
        """
        return None

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """A mask over `nodes`: True where the pod may run."""
        return np.ones(len(nodes), bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal | Sequence[Refusal]:
        """Why `filter` refused these nodes: one refusal for all of them, or one each."""
        return Refusal((f"node(s) were refused by {self.name}",))

    def may_fail(self, state: Any) -> bool:
        """May `explain` say `Code.ERROR` of some node? One such node fails the attempt, though others fit."""
        return False

    def add_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        """What-if: `other` now runs on `row`. Only plugins that count beyond one node need to adjust `state`."""

    def remove_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        """What-if: `other` no longer runs on `row`. The exact inverse of `add_pod`."""

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """No node fits. Make room (preemption), or say why that does not help either."""
        return PostFilterResult(Refusal(()))

    # -- which node ----------------------------------------------------------------------------------------------

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Any | Refusal | Skip:
        """Once before `score`, with the feasible nodes (`Locality.NODE`: all nodes, kept for the class).

        With `Locality.NODE` a `Refusal` fails the attempt, if there is more than one node to choose from.
        """
        return None

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """How good each of `nodes` is: integers, 0 to 100 after `normalize`."""
        return np.zeros(len(nodes), np.int64)

    normalize: ClassVar[Literal["none", "default", "reverse", "own"]] = "none"
    """How raw scores become 0..100 over the feasible nodes: not at all; as kube-scheduler's DefaultNormalizeScore
    (100 × score / highest), or its reverse (100 minus that); or by this plugin's `normalize_scores`."""

    def normalize_scores(self, pod: PodClass, nodes: Nodes, state: Any, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Final scores of the feasible nodes from their raw ones, for `normalize = "own"`."""
        return scores

    def explain_score(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[Sequence[str]]:
        """What lies behind `score`, for people who ask: for each of `nodes` some lines, or none. Decides nothing."""
        return [()] * len(nodes)

    # -- after the choice ----------------------------------------------------------------------------------------

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        """The pod was put on `row` (assumed, not yet bound): take what else it needs. A refusal undoes the choice."""
        return None

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Give back what `reserve` took; also called when `reserve` never ran."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        """Last word before binding: go, refuse, or wait."""
        return None

    def pre_bind(self, pod: Pod, pod_class: PodClass, row: int) -> Preparation | Refusal | None:
        """The pod may go; what has to be written, and to have happened, before it is bound? A refusal undoes all.

        Asked again when its turn comes, if plugins before it had something to do; None then leaves it as it was.
        """
        return None

    # -- in part -------------------------------------------------------------------------------------------------

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Who takes this plugin's part at `point` where a configuration leaves out `missing`, a point before it.

        Both are named as the configuration does. The default: the plugin itself, and it is prepared all the same.
        """
        return self


def overrides(plugin: Plugin, method: str) -> bool:
    """Does this plugin take part at that extension point?"""
    return getattr(type(plugin), method) is not getattr(Plugin, method)


Verdict = bool | str | int | float | None


def per_node(function: Callable[[Pod, Node], Verdict]) -> type[Plugin]:
    """A plugin from a plain function over one pod and one node: simple, and as slow as Python is.

    Annotated `-> int` or `-> float` it scores. Otherwise it filters: True or None means that the node fits, False or a
    string (why not) that it does not.
    """
    wanted = function.__annotations__.get("return")
    scores = wanted in (int, float, "int", "float")

    def judge(pod: PodClass, nodes: Nodes) -> list[Verdict]:
        # A row whose node is gone has no name, and nothing to judge.
        return [function(pod.pod, node) if node.name else None for node in nodes.objects]

    def filter_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        verdicts = judge(pod, nodes)
        if any(isinstance(v, int | float) and not isinstance(v, bool) for v in verdicts):
            raise TypeError(f"{function.__name__} returned a number: annotate it `-> int` if it is to score")
        return np.array([verdict is None or verdict is True for verdict in verdicts], bool)

    def explain_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[Refusal]:
        words = (v if isinstance(v, str) else f"node(s) were refused by {self.name}" for v in judge(pod, nodes))
        return [Refusal((word,)) for word in words]

    def score_rows(self: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        return np.array([int(verdict or 0) for verdict in judge(pod, nodes)], np.int64)

    methods: dict[str, Any] = {"score": score_rows} if scores else {"filter": filter_rows, "explain": explain_rows}
    name = "".join(part.capitalize() for part in function.__name__.split("_"))
    return type(name, (Plugin,), {"name": name, "__doc__": function.__doc__, "per_pod": True, **methods})
