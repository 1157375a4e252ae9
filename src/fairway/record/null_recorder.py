"""The recorder that keeps nothing, for a world that nobody records.

In: the calls of `Recorder`, which says what each means. Out: nothing.
"""
# ruff: noqa: D102 - `Recorder` documents them

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from fairway.batch.accounts import ChargeLine
from fairway.batch.batch_world import PassReport
from fairway.batch.job import BatchJob
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.cycle import Decision, Spent
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import ApiObject, Node, Pod
from fairway.plan import StartEstimate
from fairway.queue import Place
from fairway.record.recorder import Scored
from fairway.record.vocabulary import DataRead, HoldEnd, HoldWhy, NodeChange, NodeEnd, PlanKind, PodEnd

__all__ = ["NullRecorder"]


class NullRecorder:
    """Takes everything, keeps nothing."""

    is_recording = False
    keeps_estimates = False

    def __init__(self) -> None:
        self._num_pods = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def node_added(self, t: float, node: Node) -> None: ...

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None: ...

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None: ...

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        self._num_pods += 1
        return self._num_pods - 1

    def changed(self, t: float, pod: Pod) -> None: ...

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None: ...

    def group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        members = [member for one in (decision, *decision.companions) for member in one.members]
        for member in members:  # who knows nothing of groups hears of pods
            self.decided(t, scheduler, member.attempt, member, cycle_seconds / len(members))

    def held(self, t: float, uid: str, node: str, why: HoldWhy) -> None: ...

    def released(self, t: float, uid: str, ended: HoldEnd) -> None: ...

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None: ...

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None: ...

    def started(self, t: float, uid: str) -> None: ...

    def acknowledged(self, t: float, uid: str, start: float) -> None: ...

    def leaves(self, t: float, uid: str) -> None: ...

    def data_read(self, t: float, uid: str, reads: Sequence[DataRead]) -> None: ...

    def resized(self, t: float, pod: Pod) -> None: ...

    def lost(self, t: float, uid: str) -> None: ...

    def regained(self, t: float, uid: str) -> None: ...

    def ended(self, t: float, uid: str, reason: PodEnd) -> None: ...

    def object_applied(self, t: float, thing: ApiObject) -> None: ...

    def object_deleted(self, t: float, thing: ApiObject) -> None: ...

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None: ...

    def job_stands(self, t: float, job: BatchJob, account: str, limit: float) -> None: ...

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None: ...

    def planned(self, t: float, scheduler: str, kind: PlanKind, report: PassReport) -> None: ...

    def closing_stands(self, t: float, scheduler: str, status: ClosingStatus) -> None: ...

    def charged(self, line: ChargeLine) -> None: ...

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None: ...

    def close(self, t_end: float) -> None: ...

    def interrupt(self, t_end: float | None, why: str) -> None: ...
