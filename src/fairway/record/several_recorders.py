"""Several recorders as one: a world that is recorded and followed at the same time tells it once.

In: the calls of `Recorder`, which says what each means. Out: the same calls, to each of them in turn; the first one
numbers the pods.
"""
# ruff: noqa: D102 - `Recorder` documents them

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
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
from fairway.record.recorder import Recorder, Scored
from fairway.record.vocabulary import DataRead, HoldEnd, HoldWhy, NodeChange, NodeEnd, PlanKind, PodEnd

__all__ = ["SeveralRecorders"]


class SeveralRecorders:
    """Tells all of them."""

    def __init__(self, *recorders: Recorder) -> None:
        self._recorders = recorders
        self._stack = ExitStack()

    @property
    def is_recording(self) -> bool:
        return any(recorder.is_recording for recorder in self._recorders)

    @property
    def keeps_estimates(self) -> bool:
        return any(recorder.keeps_estimates for recorder in self._recorders)

    def __enter__(self) -> Self:
        for recorder in self._recorders:
            self._stack.enter_context(recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def node_added(self, t: float, node: Node) -> None:
        for recorder in self._recorders:
            recorder.node_added(t, node)

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        for recorder in self._recorders:
            recorder.node_changed(t, node, what)

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        for recorder in self._recorders:
            recorder.node_gone(t, name, why)

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        first, *_ = [recorder.pod_created(t, pod, scheduler) for recorder in self._recorders]
        return first

    def changed(self, t: float, pod: Pod) -> None:
        for recorder in self._recorders:
            recorder.changed(t, pod)

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        for recorder in self._recorders:
            recorder.decided(t, scheduler, attempt, decision, cycle_seconds, best)

    def group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        for recorder in self._recorders:
            recorder.group_decided(t, scheduler, decision, cycle_seconds)

    def held(self, t: float, uid: str, node: str, why: HoldWhy) -> None:
        for recorder in self._recorders:
            recorder.held(t, uid, node, why)

    def released(self, t: float, uid: str, ended: HoldEnd) -> None:
        for recorder in self._recorders:
            recorder.released(t, uid, ended)

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        for recorder in self._recorders:
            recorder.queue_moved(t, scheduler, uid, origin, place, event)

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        for recorder in self._recorders:
            recorder.bound(t, uid, node, gpu_index)

    def started(self, t: float, uid: str) -> None:
        for recorder in self._recorders:
            recorder.started(t, uid)

    def acknowledged(self, t: float, uid: str, start: float) -> None:
        for recorder in self._recorders:
            recorder.acknowledged(t, uid, start)

    def leaves(self, t: float, uid: str) -> None:
        for recorder in self._recorders:
            recorder.leaves(t, uid)

    def data_read(self, t: float, uid: str, reads: Sequence[DataRead]) -> None:
        for recorder in self._recorders:
            recorder.data_read(t, uid, reads)

    def resized(self, t: float, pod: Pod) -> None:
        for recorder in self._recorders:
            recorder.resized(t, pod)

    def lost(self, t: float, uid: str) -> None:
        for recorder in self._recorders:
            recorder.lost(t, uid)

    def regained(self, t: float, uid: str) -> None:
        for recorder in self._recorders:
            recorder.regained(t, uid)

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        for recorder in self._recorders:
            recorder.ended(t, uid, reason)

    def object_applied(self, t: float, thing: ApiObject) -> None:
        for recorder in self._recorders:
            recorder.object_applied(t, thing)

    def object_deleted(self, t: float, thing: ApiObject) -> None:
        for recorder in self._recorders:
            recorder.object_deleted(t, thing)

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None:
        for recorder in self._recorders:
            recorder.event(t, kind, subject, reason, message)

    def job_stands(self, t: float, job: BatchJob, account: str, limit: float) -> None:
        for recorder in self._recorders:
            recorder.job_stands(t, job, account, limit)

    def job_dated(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        for recorder in self._recorders:
            recorder.job_dated(job, estimate, nodes, factors)

    def planned(self, t: float, scheduler: str, kind: PlanKind, report: PassReport) -> None:
        for recorder in self._recorders:
            recorder.planned(t, scheduler, kind, report)

    def closing_stands(self, t: float, scheduler: str, status: ClosingStatus) -> None:
        for recorder in self._recorders:
            recorder.closing_stands(t, scheduler, status)

    def charged(self, line: ChargeLine) -> None:
        for recorder in self._recorders:
            recorder.charged(line)

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None:
        kept = list(times)
        for recorder in self._recorders:
            recorder.plugin_times(t, scheduler, kept, is_of_attempt=is_of_attempt)

    def close(self, t_end: float) -> None:
        for recorder in self._recorders:
            recorder.close(t_end)

    def interrupt(self, t_end: float | None, why: str) -> None:
        for recorder in self._recorders:
            recorder.interrupt(t_end, why)
