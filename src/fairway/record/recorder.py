"""What a world tells whoever records it: the one seam between what happens and what is kept of it.

In: calls from `sim/` or `live/`, in order of time, one for each thing that happened; most of them are made by
`translation`, from the events of a cluster. `RunWriter` answers them by writing a file; with a `NullRecorder` in its
place a simulation records nothing and need not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from fairway.batch.accounts import ChargeLine
from fairway.batch.batch_world import PassReport
from fairway.batch.job import BatchJob
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.cycle import Decision, Inspection, Spent
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import ApiObject, Node, Pod
from fairway.plan import StartEstimate
from fairway.queue import Place
from fairway.record.vocabulary import DataRead, HoldEnd, HoldWhy, NodeChange, NodeEnd, PlanKind, PodEnd

__all__ = ["Recorder", "Scored", "best_nodes"]


class Scored(NamedTuple):
    """A node among the best of a decision."""

    node: str
    total: int
    shares: dict[str, int]  # plugin to normalised, weighted score


def best_nodes(inspection: Inspection, num_nodes: int) -> list[Scored]:
    """The best nodes of an attempt, as `decided` takes them; equals in the order of their names."""
    ranked = sorted(inspection.totals.items(), key=lambda item: (-item[1], item[0].encode()))
    return [
        Scored(node, total, {plugin: scores[node] for plugin, scores in inspection.scores.items()})
        for node, total in ranked[:num_nodes]
    ]


class Recorder(Protocol):
    """Who keeps what happens. Use it in a `with` block."""

    @property
    def is_recording(self) -> bool:
        """False: nothing is kept, so nothing has to be measured or worked out for it."""

    @property
    def keeps_estimates(self) -> bool:
        """Are dates of waiting jobs to be worked out for it?"""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaving by an exception before `close` interrupts the recording."""

    def node_added(self, t: float, node: Node) -> None:
        """A node is there from now on."""

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        """A node is different from now on: cordoned, not ready, resized."""

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        """A node is no more."""

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        """A pod is there, waiting for that scheduler (empty: for none). Returns its number in the run."""

    def changed(self, t: float, pod: Pod) -> None:
        """Gates, labels or annotations of a pod that waits are others."""

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        """An attempt was made; `best` are the best nodes with their scores, if somebody looked (`best_nodes`)."""

    def group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        """An attempt was made for a whole job, and its companions; their members are not told one by one."""

    def held(self, t: float, uid: str, node: str, why: HoldWhy) -> None:
        """Room on a node is kept for a pod that is not bound."""

    def released(self, t: float, uid: str, ended: HoldEnd) -> None:
        """It is kept no longer, and the pod was not bound; nothing if none was kept."""

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        """A waiting pod moved within, into (no origin) or out of (no place) the queue."""

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        """A pod is bound to a node, and holds what it asked for from now on."""

    def started(self, t: float, uid: str) -> None:
        """A bound pod runs."""

    def acknowledged(self, t: float, uid: str, start: float) -> None:
        """A pod's kubelet has taken it, at that time by its own clock; it may have done so before the run began."""

    def leaves(self, t: float, uid: str) -> None:
        """A pod was asked to go; it holds what it holds until it ends."""

    def data_read(self, t: float, uid: str, reads: Sequence[DataRead]) -> None:
        """A pod that begins to run reads its datasets from there."""

    def resized(self, t: float, pod: Pod) -> None:
        """A bound pod holds something else from now on."""

    def lost(self, t: float, uid: str) -> None:
        """A pod's node is lost: it holds nothing, but it may come back."""

    def regained(self, t: float, uid: str) -> None:
        """It came back on the same node."""

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        """A pod ended; the first end counts."""

    def object_applied(self, t: float, thing: ApiObject) -> None:
        """Something that is no pod and no node was made or changed."""

    def object_deleted(self, t: float, thing: ApiObject) -> None:
        """It was deleted."""

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None:
        """People were told something."""

    def job_stands(self, t: float, job: BatchJob, account: str, limit: float) -> None:
        """A job of a queue is somewhere else in its life, or something else that is written of it is."""

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """A waiting job is told when it will start, and where if nothing changes; `factors` are its priority's."""

    def planned(self, t: float, scheduler: str, kind: PlanKind, report: PassReport) -> None:
        """Queues were planned."""

    def closing_stands(self, t: float, scheduler: str, status: ClosingStatus) -> None:
        """A maintenance window or a reservation is in another phase, or something else that is written of it is."""

    def charged(self, line: ChargeLine) -> None:
        """A line of the books, of a job that is or was in a queue; each is told once."""

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None:
        """What plugins used in the attempt that was told last, or else between attempts, of all of the run."""

    def close(self, t_end: float) -> None:
        """The run is over."""

    def interrupt(self, t_end: float | None, why: str) -> None:
        """The run ends before its time; what is known is kept and marked as incomplete."""
