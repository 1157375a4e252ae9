"""PfnetGang: members of a gang are let into the queue together, and each holds its node until all have one.

In: the books of groups (`cluster.groups`), in whatever spelling, and the keys of mode `pfnet`. Out: a gate that opens
for all members at once; a wait with the node taken until the last member has one; all who wait rejected when one member
fits nowhere. Each member has a position: it is *ready* when something happened that may help it, *active* when the gang
was let in (until its attempt is over, which is one step here), *waiting* on permit, or *unschedulable*.

As the gang plugin of pfnet/scheduler-plugins behaves (plugins/gang), for comparison. Its weaknesses: a gang whose
members are all ready is put in a pool, and **only the next pod that gets a node, of this gang or not, lets the pool
in**: where nobody else comes, a gang waits though there is room. And members hold their nodes up to the time-out. A
member that is being deleted takes all others with it (`deleted_with`); a simulation does so, and a live scheduler that
was allowed to (`deleteTogether`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from fairway.cluster.groups import GroupBook
from fairway.model import Pod
from fairway.model.group import GroupKey, GroupSpec
from fairway.plugin import (
    Action,
    Aspect,
    Attempt,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    PostFilterResult,
    Refusal,
    Resource,
    Wait,
)

__all__ = ["PfnetGang", "Position"]

NOT_READY: Final = Refusal(("the other pod(s) in the same gang isn't ready to schedule",))
POOLED: Final = Refusal(("This Pod will be soon activated along with other gang Pods",))
FULL: Final = Refusal(("the gang is fully scheduled",), Code.UNRESOLVABLE)
REJECTED: Final = "another pod of the gang gets rejected"
NOTHING_DONE: Final = PostFilterResult(Refusal(()))


class PfnetGangArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The keys of the mode; times in seconds."""

    timeout: float = 30.0
    timeout_limit: float = 100.0
    jitter: float = 30.0
    seed: int = 0


class Position(enum.Enum):
    """Where a member without a node is, as far as its gang is concerned."""

    READY = "ready"
    ACTIVE = "active"  # in the queue, or being tried
    WAITING = "waiting"  # on permit
    UNSCHEDULABLE = "unschedulable"


class GangMemory:
    """What is kept in mind about a gang while it has members."""

    __slots__ = ("patience", "positions", "straggler")

    def __init__(self) -> None:
        self.positions: dict[str, Position] = {}  # by uid; of members that went some may be left
        self.patience: float | None = None  # how long members wait in this attempt of the gang; None: not drawn yet
        self.straggler = ""  # uid of the member that was last found in the way: most often it still is


class PfnetGang(Plugin):
    """Lets the members of a gang in together, and holds them back, on their nodes, until all have one."""

    annotations = ()
    reads = Aspect(0)

    Args: ClassVar[type[msgspec.Struct]] = PfnetGangArgs

    def __init__(self, cluster: Cluster, args: PfnetGangArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._random = np.random.default_rng(self.args.seed)
        self._pool: dict[GroupKey, None] = {}  # gangs whose members are all ready, in the order they became so

    @property
    def pool(self) -> tuple[GroupKey, ...]:
        """The gangs that wait for the next pod that gets a node."""
        return tuple(self._pool)

    def deleted_with(self, pod: Pod) -> list[Pod]:
        """Those of its gang that are to be deleted because the pod is being deleted."""
        group = self.cluster.groups.of(pod.metadata.uid) if pod.is_terminating else None
        spec = None if group is None else self.cluster.groups.spec_of(group)
        if group is None or not isinstance(spec, GroupSpec) or _is_lone(group, spec):
            return []
        return [other for other in group.pods.values() if not other.is_terminating and other is not pod]

    # -- the gate ----------------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """Were all members let in? Otherwise this one is ready, and perhaps was the last."""
        groups, uid = self.cluster.groups, pod.metadata.uid
        group = groups.of(uid) or groups.observe(pod)
        if group is None:
            return None
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):
            words = groups.missing_words(group) if spec is None else spec.message
            return Refusal((words,), Code.UNRESOLVABLE)
        if _is_lone(group, spec):
            return None
        memory = _memory(group)
        is_let_in = memory.positions.get(uid) is Position.ACTIVE
        if is_let_in and len(group) >= _size(group, spec) and not self._is_held_up(group, Position.ACTIVE):
            return None
        self._make_ready(group, spec, uid)
        return POOLED if group.key in self._pool else NOT_READY

    def _is_held_up(self, group: GroupBook, wanted: Position) -> bool:
        """Is a member without a node not where it should be? Those that wait on permit are past being active."""
        memory = _memory(group)
        allowed = (wanted, Position.WAITING) if wanted is Position.ACTIVE else (wanted,)
        if memory.straggler in group.pods and self._is_missing(group, memory.straggler, allowed):
            return True
        missing = (uid for uid in reversed(group.pods) if self._is_missing(group, uid, allowed))
        memory.straggler = next(missing, "")
        return memory.straggler != ""

    def _is_missing(self, group: GroupBook, uid: str, allowed: tuple[Position, ...]) -> bool:
        return _memory(group).positions.get(uid) not in allowed and not self._is_placed(group, uid)

    def _is_placed(self, group: GroupBook, uid: str) -> bool:
        """Is the member bound, or about to be?"""
        return uid in group.bound or (uid in group.assumed and _memory(group).positions.get(uid) is None)

    def _make_ready(self, group: GroupBook, spec: GroupSpec, uid: str) -> None:
        positions = _memory(group).positions
        positions[uid] = Position.READY
        for gone in [known for known in positions if known not in group.pods] if len(positions) > len(group) else ():
            del positions[gone]
        if len(group) >= _size(group, spec) and not self._is_held_up(group, Position.READY):
            self._pool[group.key] = None

    def _let_in(self) -> None:
        """All gangs of the pool, all members at once."""
        for key in self._pool:
            group = self.cluster.groups.find(key)
            if group is not None:
                waiting = [uid for uid in group.pods if not self._is_placed(group, uid)]
                _memory(group).positions.update(dict.fromkeys(waiting, Position.ACTIVE))
                self.cluster.activations.ask(group.pods[uid] for uid in waiting)
        self._pool.clear()

    def events(self) -> Sequence[Hint]:
        """Whatever happens to a pod or a node; and, as some spellings have one, to a group's object."""
        return tuple(
            Hint(ClusterEvent(resource, Action.ALL), self._is_not_ready)
            for resource in (Resource.NODE, Resource.POD, Resource.POD_GROUP)
        )

    def _is_not_ready(self, pod: Pod, change: Change) -> bool:
        """One that is ready would only become so again."""
        group = self.cluster.groups.of(pod.metadata.uid)
        return group is None or _memory(group).positions.get(pod.metadata.uid) is not Position.READY

    # -- the attempt -------------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> str | None:
        """A member that was let in is refused if another turned out to fit nowhere meanwhile."""
        group = self.cluster.groups.of(pod.metadata.uid)
        return NOT_READY.reasons[0] if group is not None and _unschedulable(group) else None

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Refusal | None:
        """Refuse it on all nodes then."""
        return None if pod.extra.get(self.name) is None else Refusal(NOT_READY.reasons, Code.UNRESOLVABLE)

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """A member fits nowhere: those that wait for it are ready again, and nothing is promised to the gang any more.

        It is unschedulable itself, unless it was refused because another is.
        """
        pod = attempt.pod
        group = self.cluster.groups.of(pod.metadata.uid)
        spec = None if group is None else self.cluster.groups.spec_of(group)
        if group is None or not isinstance(spec, GroupSpec) or _is_lone(group, spec):
            return NOTHING_DONE
        if not _unschedulable(group):
            _memory(group).positions[pod.metadata.uid] = Position.UNSCHEDULABLE
        self._reject_waiting(group, spec)
        if _memory(group).positions.get(pod.metadata.uid) is Position.ACTIVE:
            self._make_ready(group, spec, pod.metadata.uid)
        promised = tuple(other for other in group.pods.values() if self.cluster.nominations.node_of(other.metadata.uid))
        return PostFilterResult(Refusal(()), clear_nomination=True, cleared=promised)

    def _reject_waiting(self, group: GroupBook, spec: GroupSpec) -> None:
        """The attempt of the gang is over: who waits on permit gives its node back, and is ready."""
        _memory(group).patience = None
        for uid in self._waiting(group):
            self.cluster.held.reject(uid, self.name, REJECTED)
            self._make_ready(group, spec, uid)

    def _waiting(self, group: GroupBook) -> list[str]:
        return [uid for uid in group.assumed if uid in self.cluster.held]

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        """Do all have a node? A pod that may go, or wait, lets the gangs of the pool in."""
        answer = self._judge(pod)
        if not isinstance(answer, Refusal):
            self._let_in()
        return answer

    def _judge(self, pod: Pod) -> Refusal | Wait | None:
        groups, uid = self.cluster.groups, pod.metadata.uid
        group = groups.of(uid)
        if group is None:
            return None
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):
            return Refusal((groups.missing_words(group) if spec is None else spec.message,), Code.UNRESOLVABLE)
        if _is_lone(group, spec):
            return None
        memory, size = _memory(group), _size(group, spec)
        if len(group.bound) >= size:
            self._reject_waiting(group, spec)
            return FULL
        waiting = self._waiting(group)
        if group.bound or len(waiting) + 1 == size:
            memory.patience = None
            for other in waiting:
                self.cluster.held.allow(other, self.name)
                memory.positions.pop(other, None)
            memory.positions.pop(uid, None)
            return None
        memory.positions[uid] = Position.WAITING
        if memory.patience is None:
            memory.patience = self._draw(spec)
        return Wait(memory.patience)

    def _draw(self, spec: GroupSpec) -> float:
        """What the gang asks for, within the limit, and some whole seconds more."""
        args: PfnetGangArgs = self.args
        asked = args.timeout if spec.timeout_seconds is None else min(spec.timeout_seconds, args.timeout_limit)
        jitter = int(args.jitter)
        return asked + (int(self._random.integers(jitter)) if jitter else 0)

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """A member gives its node back: after the time-out the others do so too."""
        group = self.cluster.groups.named_by(pod)
        spec = None if group is None else self.cluster.groups.spec_of(group)
        if group is None or not isinstance(spec, GroupSpec) or _is_lone(group, spec):
            return
        if _memory(group).positions.get(pod.metadata.uid) is Position.WAITING:
            if pod.metadata.uid in group.pods:
                self._make_ready(group, spec, pod.metadata.uid)
            self._reject_waiting(group, spec)


def _memory(group: GroupBook) -> GangMemory:
    if not isinstance(group.remembered, GangMemory):
        group.remembered = GangMemory()
    return group.remembered


def _size(group: GroupBook, spec: GroupSpec) -> int:
    """How many start together: as many as are expected; where nobody says, all there are, but at least the minimum."""
    return max(spec.min_count, len(group)) if spec.size is None else spec.size


def _is_lone(group: GroupBook, spec: GroupSpec) -> bool:
    """One pod is no gang, nor are pods that need not start together."""
    return not spec.is_gang or _size(group, spec) <= 1


def _unschedulable(group: GroupBook) -> bool:
    positions = _memory(group).positions
    return any(positions.get(uid) is Position.UNSCHEDULABLE for uid in group.pods)
