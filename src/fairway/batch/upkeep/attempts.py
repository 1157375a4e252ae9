"""Attempts of the scheduler for pods of queues: the room that each has, and what comes of it.

In: who is tried next (`begin`), and the decision (`end`). Out: the plugin ReservedTime has the room in time of whoever
is tried; who was placed takes the place of what was booked. Who was refused by plugins that the plan does not see is
told so (`refused`), and has another try when something has happened since, or after a while (`VainJobs`). Called by the
desk, which is the scheduler's attendant; plugins ask whose pod it is, and whether it may be tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.lodgers import Lodgers
from fairway.batch.preemption.victims import is_protected
from fairway.batch.upkeep.attempt_rooms import AttemptRooms
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import Pod
from fairway.queue import QueuedGroup, QueuedPod

__all__ = ["Attempts", "VainJobs"]


class Attempts:
    """Of one scheduler."""

    def __init__(
        self, desk: DutyDesk, rooms: AttemptRooms, lodgers: Lodgers, refused: Callable[[BatchJob], None]
    ) -> None:
        """`refused` is called with a job that goes back."""
        self._desk = desk
        self._rooms = rooms
        self._lodgers = lodgers
        self._refused = refused

    # -- `fairway.cluster.promises.Planner` ----------------------------------------------------------------------------

    def gate(self, pod: Pod) -> str:
        """Why the pod may not be tried yet; "": it may."""
        job = self._desk.book.of(pod.metadata.uid)
        return "" if job is None else job.gate

    def plans(self, pod: Pod) -> bool:
        """Is the pod of a queue, or bound by what queues were promised?"""
        return self._desk.book.of(pod.metadata.uid) is not None or self._rooms.bind_all

    def is_queued(self, pod: Pod) -> bool:
        """Is the pod of a queue?"""
        return self._desk.book.of(pod.metadata.uid) is not None

    def protects(self, pod: Pod) -> bool:
        """Is the pod of a job that no group may make room with, now or ever?"""
        desk = self._desk
        job = desk.book.of(pod.metadata.uid)
        return job is not None and is_protected(
            desk.settings.spec_of(job.queue).preemption, job.started, desk.world.now()
        )

    # -- attempts ------------------------------------------------------------------------------------------------------

    def begin(self, queued: QueuedPod) -> None:
        """A pod or job is tried next: this is its room in time."""
        pod = next(iter(queued.members.values())).pod if isinstance(queued, QueuedGroup) else queued.pod
        job = self._desk.book.of(pod.metadata.uid)
        self._desk.cluster.promises.begin(self._rooms.room(pod, job))

    def end(self, decision: Decision | GroupDecision) -> None:
        """Whoever was placed takes the place of what was booked; whoever was not goes back."""
        book = self._desk.book
        self._desk.cluster.promises.begin(None)
        members = decision.members if isinstance(decision, GroupDecision) else [decision]
        if isinstance(decision, GroupDecision):
            members = [*members, *(each for other in decision.companions for each in other.members)]
        self._rooms.attempted(members)
        placed: dict[str, list[Decision]] = {}
        for each in members:
            job = book.of(each.pod.metadata.uid)
            if job is not None:
                placed.setdefault(job.key, [])
                if each.outcome is Outcome.SCHEDULED:
                    placed[job.key].append(each)
        for key, decisions in placed.items():
            job = book.jobs[key]
            for each in decisions:  # they take the place of the job's booking
                self._lodgers.occupy(job, each.pod, each.node, each.pod_class)
            if decisions:
                self._desk.machine.calendar.remove(job.key)
                job.num_vain = 0
            elif job.started is None:
                self._refused(job)


class VainJobs:
    """Jobs that were refused by plugins that the plan does not see."""

    def __init__(self) -> None:
        self._jobs: dict[str, BatchJob] = {}  # by key
        self._looked = -math.inf  # when they were last given another try
        self.has_news = False  # has anything happened that may help them?

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: BatchJob) -> None:
        """The job was refused."""
        job.is_released, job.is_vain = False, True
        job.num_vain += 1
        self._jobs[job.key] = job

    def drop(self, key: str) -> None:
        """It is over, or waits again."""
        self._jobs.pop(key, None)

    def try_again(self, now: float, interval: float) -> None:
        """All of them, if something happened since, or for a long time nothing did."""
        if self._jobs and (self.has_news or now >= self._looked + interval):
            self.has_news, self._looked = False, now
            for job in self._jobs.values():
                job.is_vain = False
            self._jobs.clear()
