"""Nodes whose promises bind all pods of our profiles: `nodes.protect: fairway`.

In: queues, the calendar, a pod of no queue that is tried next. Out: its room in time, for the plugin ReservedTime: on
protected nodes what is free for as long as it may run, which is for ever if it has no deadline; elsewhere whatever
there is. Pods that were refused are tried again after a pass, as promises may have moved. Called by the desk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.batch.duties.duty import DutyDesk
from fairway.cluster.promises import RoomInTime
from fairway.cycle import Decision, Outcome
from fairway.model import Pod

__all__ = ["Protection"]


class Protection:
    """What of the machine is kept from pods of no queue."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._version = -1
        self._rows: NDArray[np.bool_] = np.empty(0, np.bool_)  # (num_rows,)
        self._refused: dict[str, Pod] = {}  # by uid

    @property
    def is_on(self) -> bool:
        """Does any queue want it?"""
        return any(queue.nodes.protect == "fairway" for queue in self._desk.settings.queues.values())

    def room(self, pod: Pod, lifted: Sequence[str]) -> RoomInTime:
        """Where such a pod may go; `lifted` are closings that a pod without a limit does not see yet."""
        desk, now = self._desk, self._desk.world.now()
        desk.machine.refresh(now)
        deadline = pod.spec.active_deadline_seconds
        end = math.inf if deadline is None else now + float(deadline)
        least = desk.machine.calendar.least_free("", end, lifted if end == math.inf else ())
        protected = self._protected(len(least))
        least[~protected] = np.iinfo(np.int64).max // 2
        requested = desk.cluster.nodes.requested[: len(least), : least.shape[1] - 1]
        return RoomInTime(least[:, :-1], least[:, -1] >= 1, requested.copy())

    def _protected(self, num_rows: int) -> NDArray[np.bool_]:
        machine, nodes = self._desk.machine, self._desk.cluster.nodes
        if self._version != machine.num_changes or len(self._rows) != num_rows:
            self._version = machine.num_changes
            choices = [
                queue.nodes for queue in self._desk.settings.queues.values() if queue.nodes.protect == "fairway"
            ]
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
        for decision in decisions:
            pod = decision.pod
            self._refused.pop(pod.metadata.uid, None)
            if decision.outcome is not Outcome.SCHEDULED and self._desk.book.of(pod.metadata.uid) is None:
                self._refused[pod.metadata.uid] = pod

    def take_refused(self) -> list[Pod]:
        """Those who are worth another try now that promises may have moved."""
        refused, self._refused = list(self._refused.values()), {}
        return refused
