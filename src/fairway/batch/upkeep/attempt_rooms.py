"""The room in time of whoever is tried next, for the plugin ReservedTime.

In: the calendar, a job of a queue or a pod of none. Out: of a job, what is free of its queue's nodes until its limit,
its own promise and what is not closed to it aside. Of a pod of no queue nothing, unless a queue protects its nodes
(`nodes.protect: fairway`): on those it has what is free for as long as it may run, which is for ever if it has no
deadline. Such pods that were refused are tried again after a pass, as promises may have moved. Called by the desk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.lodgers import Lodgers
from fairway.batch.planned_jobs import PlannedJobs
from fairway.batch.upkeep.upkeep import Upkeep
from fairway.cluster.promises import RoomInTime
from fairway.cycle import Decision, Outcome
from fairway.model import Pod

__all__ = ["AttemptRooms"]


class AttemptRooms:
    """What of the machine somebody may use who begins now."""

    def __init__(self, desk: DutyDesk, lodgers: Lodgers, planned: PlannedJobs, upkeep: Upkeep) -> None:
        self._desk = desk
        self._lodgers = lodgers
        self._planned = planned
        self._upkeep = upkeep
        self._version = -1
        self._rows: NDArray[np.bool_] = np.empty(0, np.bool_)  # (num_rows,)
        self._refused: dict[str, Pod] = {}  # by uid

    @property
    def bind_all(self) -> bool:
        """Do promises of any queue bind pods of no queue, too?"""
        return self._desk.settings.protects

    def room(self, pod: Pod, job: BatchJob | None) -> RoomInTime | None:
        """Where the pod may go, `job` being its own; None: anywhere."""
        if job is None and not self.bind_all:
            return None
        desk, now = self._desk, self._desk.world.now()
        desk.machine.refresh(now)
        if job is None:
            deadline = pod.spec.active_deadline_seconds
            end, key, least_access = math.inf if deadline is None else now + float(deadline), "", 1
        else:
            end, key, least_access = self._lodgers.end(job), job.key, 2 if job.wishes.is_exclusive else 1
        least = desk.machine.calendar.least_free(key, end, self._upkeep.lifted(job, end, now))
        if job is None:
            least[~self._protected(len(least))] = np.iinfo(np.int64).max // 2
        may_enter: NDArray[np.bool_] = least[:, -1] >= least_access
        if job is not None and (of_queue := self._planned.rows_of_queue(job.queue)) is not None:
            may_enter &= of_queue[: len(may_enter)]
        requested = desk.cluster.nodes.requested[: len(least), : least.shape[1] - 1]
        return RoomInTime(least[:, :-1], may_enter, requested.copy())

    def _protected(self, num_rows: int) -> NDArray[np.bool_]:
        machine, nodes = self._desk.machine, self._desk.cluster.nodes
        if self._version != machine.num_changes or len(self._rows) != num_rows:
            self._version = machine.num_changes
            choices = [queue.nodes for queue in self._desk.settings.queues.values() if queue.nodes.protect == "fairway"]
            self._rows = np.array(
                [
                    node is not None and any(choice.matches(node.metadata.labels) for choice in choices)
                    for node in nodes.objects[:num_rows]
                ],
                np.bool_,
            )
        return self._rows

    def attempted(self, decisions: Sequence[Decision]) -> None:
        """Remember whom promises may have kept out."""
        for decision in decisions if self.bind_all else ():
            pod = decision.pod
            self._refused.pop(pod.metadata.uid, None)
            if decision.outcome is not Outcome.SCHEDULED and self._desk.book.of(pod.metadata.uid) is None:
                self._refused[pod.metadata.uid] = pod

    def take_refused(self) -> list[Pod]:
        """Those who are worth another try now that promises may have moved."""
        refused, self._refused = list(self._refused.values()), {}
        return refused
