"""The contract: everything a scheduling policy may do, in one class.

`Plugin` is what built-in plugins and users' own derive from. The package `fairway.plugin` says what it is about; the
values that the methods take and return are in `verdicts`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
import numpy as np

from fairway.cluster import TIME_PASSED, Action, Aspect, Cluster, ClusterEvent, Nodes, PodClass, Resource
from fairway.cluster.datasets.data_step import DataStep
from fairway.model import Pod, Toleration
from fairway.plugin.smaller_requests import smaller_requests
from fairway.plugin.verdicts import (
    Attempt,
    Hint,
    Locality,
    Notice,
    PostFilterResult,
    Preparation,
    Refusal,
    Refused,
    Relaxation,
    Restriction,
    Skip,
    Supply,
    Wait,
    Waiting,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairway.cluster.groups import GroupBook

__all__ = ["Plugin", "overrides"]


class Plugin:
    """A scheduling policy. Every method has a default that does nothing; a plugin takes part where it overrides one."""

    name: ClassVar[str] = ""  # as in KubeSchedulerConfiguration; the class's own name when left empty
    locality: ClassVar[Locality] = Locality.NODE
    reads: ClassVar[Aspect] = Aspect.NODE | Aspect.PODS
    per_pod: ClassVar[bool] = False  # True: reads what pods of a class do not share (name, uid); gives up sharing
    annotations: ClassVar[tuple[str, ...] | None] = None
    """The annotations of pods that it reads: their names, or with a "/" at the end all under that prefix. Pods that
    differ in none that any plugin reads share a class. None: it may read any, so nothing is shared among such pods."""

    judged_taints: ClassVar[tuple[str, ...]] = ()
    """Keys of taints that it judges better than they tell: the other plugins of its profile do not look at them."""

    borne: tuple[Toleration, ...] = ()
    """Tolerations that every pod is taken to have, because another plugin of the profile judges such taints."""

    time_step: int = 60
    """For those that read `Aspect.TIME`: the clock that `now` shows moves in steps of so many whole seconds. It may be
    set in `__init__`. Within a step answers are remembered; when it is over, all are asked for again."""

    Args: ClassVar[type[msgspec.Struct] | None] = None
    """What it can be told: a struct, such as a `PluginArgs`. None: whatever mapping its pluginConfig entry holds."""

    acts: ClassVar[frozenset[str]] = frozenset()
    """Extension points, as configurations write them, where it may be listed though the world acts, not this class."""

    def __init__(self, cluster: Cluster, args: Any = None) -> None:
        """`cluster` is the one the profile schedules; `args` are `Args`, its defaults if nothing is said."""
        self.cluster = cluster
        self.args: Any = self.Args() if args is None and self.Args is not None else args

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def now(self) -> dt.datetime:
        """What time it is, in UTC: the beginning of the current `time_step` of the real clock, or the simulated one.

        For plugins that declare to read `Aspect.TIME`, at any point. Other clocks are not for plugins.
        """
        if not self.reads & Aspect.TIME:
            raise TypeError(f"{self.name} asks what time it is: add Aspect.TIME to its `reads`")
        return self.cluster.clock.now(self.time_step)

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
        """Which events may help a pod that this plugin refused.

        The default: any event and, for who reads it, the time (TIME_PASSED), at every step.
        """
        any_event = Hint(ClusterEvent(Resource.ANY, Action.ALL))
        return (any_event, Hint(TIME_PASSED)) if self.reads & Aspect.TIME else (any_event,)

    def class_key(self, pod: Pod) -> Hashable:
        """What tells the pod from others of the same spec, if anything does: answers are shared among equals alone.

        Such as a digest of what its claim says, or a limit it was granted; made of None, numbers, text, bytes and
        tuples. Asked before every attempt, so it may change; `filter` and the others find it as `pod.extra[self.name]`
        (`pod.pod` is any pod of the class, and what was true of it may be so no more).
        """
        return None

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
        """May `explain` say `Code.ERROR` of some node, that it can not be judged? `filter` refuses such a node.

        One of them fails the attempt, though others fit, as an error of kube-scheduler's filters does; the pod is tried
        again after a back-off. Who never says so lets the cycle spare the question.
        """
        return False

    def add_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        """What-if: `other` now runs on `row`. Only plugins that count beyond one node need to adjust `state`."""

    def remove_pod(self, pod: PodClass, state: Any, other: Pod, other_class: PodClass, row: int) -> None:
        """What-if: `other` no longer runs on `row`. The exact inverse of `add_pod`."""

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """No node fits. Make room (preemption), or say why that does not help either."""
        return PostFilterResult(Refusal(()))

    # -- for people who ask why ----------------------------------------------------------------------------------

    def supply(self, nodes: Nodes, resource: str) -> Supply:
        """How much the nodes have of something that its refusals say is short. The default: what their status says."""
        return Supply(nodes.allocatable(resource), nodes.requested(resource))

    refused_word: ClassVar[str] = ""
    """One word for all nodes that it refuses, in a funnel: "tainted"; what is wrong with each follows in brackets."""

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[str]:
        """For each of the nodes that `filter` refused, in a few words, what is wrong with it; none: its reasons."""
        return ()

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterable[Relaxation]:
        """What the pod could ask for less of, given what this plugin refused. The default: less of what is short.

        Whether it helps need not be known: each is tried, and proposed as a fix only if some node fits then.
        """
        return smaller_requests(self.supply, pod, pod_class, refused)

    def notices(self, pod: Pod, pod_class: PodClass, row: int | None) -> Sequence[Notice]:
        """What people should be told about this attempt besides how it ends: events about the pod.

        `row` is that of the node it goes to, None if it goes nowhere now. Nothing is told of a pod twice. Decides
        nothing, and is asked at every attempt: it has to be fast.
        """
        return ()

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

    def data_steps(self, pod: PodClass, row: int) -> Sequence[DataStep]:
        """For records, where the plugin knows of datasets: how near that row is to each one that the pod uses."""
        return ()

    def placement_score(self, group: GroupBook, nodes: Nodes, pods: Sequence[PodClass]) -> int:
        """How good `nodes` are as the place of a whole group, if these of its members went there.

        From 0 to 100 once set against the best place, where `normalize` is "default". Asked only about groups whose
        members have to be near each other, and of places where enough of them have room.
        """
        return 0

    # -- after the choice ----------------------------------------------------------------------------------------

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        """The pod was put on `row` (assumed, not yet bound): take what else it needs. A refusal undoes the choice."""
        return None

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Give back what `reserve` took; also called when `reserve` never ran."""

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        """Last word before binding: go, refuse, or wait.

        `self.cluster.held` has all pods that wait so; any plugin may `allow` or `reject` them there, at any time. Pods
        that wait in the queue for their siblings are woken by `self.cluster.activations`.
        """
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


def overrides(plugin: Plugin | type[Plugin], method: str) -> bool:
    """Does this plugin have that method itself?"""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return getattr(kind, method) is not getattr(Plugin, method)
