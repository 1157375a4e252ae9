"""Bindings of a whole job: all are asked for in one go, when what has to come before has come for all.

In: the members of a job with their nodes, from the scheduler. Out: bindings, by the binder, one request a pod, since
the API server knows no other; each comes to its own end. A member whose volumes can not be had keeps all others back.
`recall` takes those back that no worker has taken up yet. `LiveWorld` holds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from fairway.live.world.binding import Binder
from fairway.live.world.conditions import StatusWriter, WantedStatus
from fairway.live.world.pre_bind import PodPreparations
from fairway.model import Pod
from fairway.queue import QueuedPod
from fairway.world import GroupBinding

__all__ = ["JobBindings"]


class BindingBooks(Protocol):
    """Who keeps the books of bindings."""

    def begin(self, pod: Pod, queued: QueuedPod | None) -> None:
        """A binding begins."""

    def is_under_way(self, pod: Pod) -> bool:
        """Has it not come to its end?"""

    def preparation_failed(self, pod: Pod, plugin: str, why: str) -> None:
        """What has to come before it did not."""

    def binding_failed(self, pod: Pod, why: str) -> None:
        """The pod has no node."""

    def left_alone(self, pod: Pod) -> None:
        """There is nothing more to do about the pod."""

    def keep(self, task: asyncio.Task[None]) -> None:
        """Cancel it when all comes to an end."""


class JobBindings:
    """Binds jobs."""

    def __init__(
        self, books: BindingBooks, binder: Binder, statuses: StatusWriter, preparations: PodPreparations
    ) -> None:
        self._books = books
        self._binder = binder
        self._statuses = statuses
        self._preparations = preparations
        self._leaving: dict[str, QueuedPod] = {}  # by uid: members that left the queue, and are bound next

    def leaves(self, queued: QueuedPod) -> None:
        """A member has left the queue."""
        self._leaving[queued.uid] = queued

    def bind(self, bindings: Sequence[GroupBinding]) -> None:
        """Ask for all of them."""
        for binding in bindings:
            self._books.begin(binding.pod, self._leaving.pop(binding.pod.metadata.uid, None))
        self._leaving.clear()
        if any(binding.before for binding in bindings):
            self._books.keep(asyncio.get_running_loop().create_task(self._prepare(bindings)))
            return
        for binding in bindings:
            self._binder.submit(binding.pod, binding.node)

    async def _prepare(self, bindings: Sequence[GroupBinding]) -> None:
        waiting = [each for each in bindings if each.before]
        for binding in waiting:
            self._statuses.write(binding.pod, WantedStatus(nominated=binding.node))
        failures = await asyncio.gather(*(self._preparations.carry_out(each.pod, each.before) for each in waiting))
        for binding, failure in zip(waiting, failures, strict=True):
            if failure is not None:
                self._books.preparation_failed(binding.pod, failure.plugin, failure.why)
                self._call_off(bindings, f"{binding.pod.key} could not be prepared: {failure.why}")
                return
        for binding in bindings:
            if self._books.is_under_way(binding.pod):
                self._binder.submit(binding.pod, binding.node)

    def _call_off(self, bindings: Sequence[GroupBinding], why: str) -> None:
        for binding in bindings:
            if self._books.is_under_way(binding.pod):
                self._books.binding_failed(binding.pod, why)

    def recall(self, pods: Sequence[Pod]) -> list[str]:
        """Do not bind those that no worker has taken up yet; returns their uids."""
        recalled = self._binder.recall({pod.metadata.uid for pod in pods})
        for pod in recalled:
            self._books.left_alone(pod)
        return [pod.metadata.uid for pod in recalled]
