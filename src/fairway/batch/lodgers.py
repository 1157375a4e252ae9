"""Who is on which node, and until when: pods as they are placed and leave, told to the machine.

In: pods of jobs and others, with their nodes. Out: occupants of the `Machine`: members of a job until its limit, pods
of no queue until their own deadline, if they have one. Called by the desk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.limits import time_account, time_left
from fairway.cluster import PodClass
from fairway.cluster.known_classes import keeps_class
from fairway.model import Pod
from fairway.model.tenant import is_aside

__all__ = ["Lodgers"]


class Lodgers:
    """Tells the machine who is there."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk

    def end(self, job: BatchJob) -> float:
        """When a job has to leave that runs, or begins now."""
        now, limits = self._desk.world.now(), self._desk.settings.spec_of(job.queue).limits
        if job.is_counting:
            return time_account(job, limits, now).end_at
        return now + time_left(job, limits, now)

    def occupy(self, job: BatchJob, pod: Pod, node: str, pod_class: PodClass | None = None) -> None:
        """A member is there until the job's limit; `pod_class`: its own, if that is known."""
        desk, machine = self._desk, self._desk.machine
        row = desk.cluster.nodes.row_of.get(node)
        if row is None or not desk.settings.binds(job):
            return
        if row >= machine.calendar.timeline.num_rows:
            machine.refresh(desk.world.now())  # a node that came just now
        known = machine.occupant(pod.metadata.uid)
        if known is not None and known.row == row and job.started is None:
            return
        end = self.end(job)
        if known is not None and known.row == row and known.end == end:
            return
        need = machine.need(pod_class or self._class_of(pod), job.wishes.is_exclusive)
        # Mostly it is where it was planned, and nobody else's room changes.
        if known is not None or not machine.inherit(job.key, pod.metadata.uid, row, need, end):
            machine.occupy(pod.metadata.uid, row, need, end)

    def _class_of(self, pod: Pod) -> PodClass:
        cluster = self._desk.cluster
        placed = cluster.pods.by_uid.get(pod.metadata.uid)
        if placed is not None and keeps_class(placed.pod, pod):
            return placed.pod_class
        return cluster.classify(pod, bound=True)

    def vacate_unplaced(self, jobs: Iterable[BatchJob]) -> None:
        """Bindings fail, and permits are refused: members of these that have no node any more hold nothing."""
        placed = self._desk.cluster.pods.by_uid
        for uid in [uid for job in jobs for uid in job.members if uid not in placed]:
            self._desk.machine.vacate(uid)

    def observe_other(self, pod: Pod, gone: bool) -> bool:
        """A pod of no queue is on a node, or is no more; True: that changes what is free."""
        desk, uid = self._desk, pod.metadata.uid
        known = desk.machine.occupant(uid)
        if gone:
            desk.machine.vacate(uid)
            return known is not None
        row = desk.cluster.nodes.row_of.get(pod.spec.node_name)
        if row is None or known is not None:
            return False
        now, deadline = desk.world.now(), pod.spec.active_deadline_seconds
        desk.machine.refresh(now)
        wishes = desk.cluster.wishes
        is_alone = wishes.is_followed and wishes.is_exclusive(pod)
        need = desk.machine.need(desk.cluster.classify(pod, bound=True), is_alone)
        if is_aside(pod):
            need = need.copy()
            need[-1] = 0  # it is nobody's company
        desk.machine.occupy(uid, row, need, math.inf if deadline is None else now + float(deadline))
        return True
