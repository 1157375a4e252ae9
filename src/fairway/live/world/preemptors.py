"""Pods for which room is being made, as the scheduler knows them: what the evictor has to ask and to tell.

In: how far evictions have got, from `Evictor`. Out: the scheduler does not try such a pod again until its victims know,
and tries it when there is something new. `LiveWorld` holds it.
"""

from __future__ import annotations

from collections.abc import Callable

from fairway.live.world.pod_reader import PodReader
from fairway.model import Pod
from fairway.scheduler import Scheduler

__all__ = ["Preemptors"]


class Preemptors:
    """What `Evictor` works for."""

    def __init__(self, reader: PodReader, may_write: Callable[[], bool]) -> None:
        self._reader = reader
        self.may_write = may_write
        self._scheduler: Scheduler | None = None
        self._progress: Callable[[], None] | None = None

    def attach(self, scheduler: Scheduler, progress: Callable[[], None]) -> None:
        """The scheduler whose pods these are; `progress` is called when there is something to do for it."""
        self._scheduler = scheduler
        self._progress = progress

    def newest(self, pod: Pod) -> Pod | None:
        """The pod as the watch has it."""
        return self._reader.known(pod)

    def waits_for(self, preemptor: Pod, node: str) -> bool:
        """Is the room still wanted?"""
        return self._here().cluster.nominations.node_of(preemptor.metadata.uid) == node

    def making_room(self, preemptor: Pod, last: Pod | None) -> None:
        """The pod need not be tried again until its victims know."""
        preemptions, uid = self._here().cluster.preemptions, preemptor.metadata.uid
        if last is None:
            preemptions.begin(uid)
        else:
            preemptions.wait_for_last(uid, last.metadata.uid)

    def made_room(self, preemptor: Pod, tries_again: bool) -> None:
        """They know, or can not be told."""
        self._here().cluster.preemptions.end(preemptor.metadata.uid)
        if tries_again:
            self._here().queue.activate((preemptor,))
            if self._progress is not None:
                self._progress()

    def _here(self) -> Scheduler:
        if self._scheduler is None:
            raise RuntimeError("attach a scheduler first")
        return self._scheduler
