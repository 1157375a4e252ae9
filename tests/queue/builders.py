"""Pods, a clock and queues for the tests of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.cluster.intents.nominations import Nominations
from fairway.model import Container, ObjectMeta, Pod, PodSchedulingGate, PodSpec, PodStatus, ResourceRequirements
from fairway.model.quantity import parse_quantity
from fairway.plugin import Hint, Refusal
from fairway.queue import Observer, PreEnqueue, QueuedPod, QueueRules, QueueSettings, SchedulingQueue, SortKey

NODE_ADDED = ClusterEvent(Resource.NODE, Action.ADD)
NODE_LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
POD_DELETED = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE)
EVERYTHING = ClusterEvent(Resource.ANY, Action.ALL)


class VirtualClock:
    """A clock that stands still until told."""

    def __init__(self, time: float = 0.0) -> None:
        self.time = time

    def now(self) -> float:
        return self.time


def pod(
    name: str,
    *,
    priority: int = 0,
    profile: str = "",
    cpu: str = "",
    labels: Mapping[str, str] | None = None,
    gates: Sequence[str] = (),
    nominated: str = "",
    uid: str = "",
) -> Pod:
    requests = {"cpu": parse_quantity(cpu)} if cpu else {}
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid or name, labels=dict(labels or {})),
        spec=PodSpec(
            priority=priority,
            scheduler_name=profile,
            scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in gates),
            containers=(Container(name="main", resources=ResourceRequirements(requests=requests)),),
        ),
        status=PodStatus(nominated_node_name=nominated),
    )


def change(event: ClusterEvent, old: object = None, new: object = None) -> Change:
    return Change(event, old, new)


def gate_plugin(waiting: Pod) -> Refusal | None:
    """What the plugin SchedulingGates does."""
    names = [gate.name for gate in waiting.spec.scheduling_gates]
    return Refusal((f"waiting for scheduling gates: [{' '.join(names)}]",)) if names else None


def is_own_update(waiting: Pod, happened: Change) -> bool:
    return isinstance(happened.new, Pod) and happened.new.metadata.uid == waiting.metadata.uid


GATES_GONE = Hint(
    ClusterEvent(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
    is_own_update,
)

RULES = QueueRules(
    pre_enqueue={"SchedulingGates": gate_plugin},
    hints={
        "SchedulingGates": (GATES_GONE,),
        "Fit": (Hint(ClusterEvent(Resource.POD, Action.DELETE)), Hint(NODE_ADDED), Hint(NODE_TAINT, lambda *_: False)),
        "Labels": (Hint(NODE_LABEL),),
        "Callback": (Hint(NODE_ADDED),),
    },
)


def queue_of(
    clock: VirtualClock,
    *,
    rules: Mapping[str, QueueRules] | None = None,
    settings: QueueSettings | None = None,
    nominations: Nominations | None = None,
    observer: Observer | None = None,
) -> SchedulingQueue:
    return SchedulingQueue(
        {"default-scheduler": RULES} if rules is None else rules,
        clock,
        settings=settings,
        nominations=nominations,
        observer=observer,
    )


def gates(pre_enqueue: Mapping[str, PreEnqueue], hints: Mapping[str, Sequence[Hint]]) -> Mapping[str, QueueRules]:
    return {"default-scheduler": QueueRules(pre_enqueue=pre_enqueue, hints=hints)}


def hinted(**hints: Hint | Sequence[Hint]) -> Mapping[str, QueueRules]:
    """Rules of one profile with these plugins' hints only."""
    return {
        "default-scheduler": QueueRules(
            hints={plugin: (given,) if isinstance(given, Hint) else given for plugin, given in hints.items()}
        )
    }


def ordered(sort_key: SortKey) -> Mapping[str, QueueRules]:
    return {"default-scheduler": QueueRules(sort_key=sort_key)}


def waiting(
    name: str = "a",
    *,
    priority: int = 0,
    timestamp: float = 0.0,
    sequence: int = 0,
    refused: Sequence[str] = (),
    pending: Sequence[str] = (),
    unschedulable_count: int = 0,
    consecutive_errors: int = 0,
    gated_by: str = "",
    profile: str = "default-scheduler",
) -> QueuedPod:
    """A queued pod as some history left it."""
    return QueuedPod(
        pod=pod(name, priority=priority),
        profile=profile,
        timestamp=timestamp,
        sequence=sequence,
        unschedulable_plugins=frozenset(refused),
        pending_plugins=frozenset(pending),
        unschedulable_count=unschedulable_count,
        consecutive_errors=consecutive_errors,
        gating_plugin=gated_by,
    )


def popped(queue: SchedulingQueue) -> QueuedPod:
    """The next pod, which must be there."""
    queued = queue.pop()
    assert queued is not None
    return queued


def drain(queue: SchedulingQueue) -> list[str]:
    """The names of all pods that are ready now, in their order; they stay in flight."""
    names = []
    while (queued := queue.pop()) is not None:
        names.append(queued.pod.metadata.name)
    return names


def names(pods: Sequence[QueuedPod]) -> list[str]:
    return [queued.pod.metadata.name for queued in pods]
