"""Bindings: many at a time, and for each an outcome that is certain.

In: `submit(pod, node)` from the world. Out: to the same world, `bound` for pods that have their node, `binding_failed`
for those that do not, with kube-scheduler's words, so that they are tried again. Whatever leaves the outcome open (a
conflict, a server error, no answer at all) is settled by reading the pod: one that is bound is never called failed, one
that somebody else bound or deleted is left alone. A binding whose answer was lost is sent again, for the same node: the
API server binds a pod only once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple, Protocol

import msgspec

from fairway.cycle import ExtenderError
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Answer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.watched_kinds import pod_path
from fairway.live.world.pod_reader import PodReader
from fairway.live.world.worker_pool import WorkerPool
from fairway.model import Pod
from fairway.model.device_need import binding_annotations

__all__ = ["Binder", "BindingSettings", "Bindings", "binding_body"]

logger = logging.getLogger(__name__)


class BindingSettings(NamedTuple):
    """How bindings are sent."""

    num_workers: int = 48
    timeout_seconds: float = 20.0
    num_resends: int = 3  # of a binding whose answer was lost
    patience_seconds: float = 60.0  # with a server that says it is busy


class Bindings(Protocol):
    """Whom the binder works for."""

    def may_write(self) -> bool:
        """Are we, at this moment, the one who may?"""

    def has_node(self, name: str) -> bool:
        """Does that node still exist, as far as we know?"""

    async def bind_by_extender(self, pod: Pod, node: str) -> bool:
        """Let an extender bind the pod, if that is its business. Raises `ExtenderError`."""

    def bound(self, pod: Pod, node: str) -> None:
        """The API server has bound the pod."""

    def binding_failed(self, pod: Pod, why: str) -> None:
        """The pod exists, and has no node."""

    def left_alone(self, pod: Pod) -> None:
        """The pod is gone, or somebody else bound it."""


class Binder:
    """Sends bindings."""

    def __init__(
        self,
        api: ApiServer,
        reader: PodReader,
        clock: Clock,
        world: Bindings,
        settings: BindingSettings | None = None,
    ) -> None:
        self._api = api
        self._reader = reader
        self._clock = clock
        self._world = world
        self._settings = settings or BindingSettings()
        self._pool: WorkerPool[tuple[Pod, str]] = WorkerPool(self._settings.num_workers, self._bind)
        self.idle = self._pool.idle

    @property
    def backlog(self) -> int:
        """Bindings that wait or are under way."""
        return self._pool.backlog

    def submit(self, pod: Pod, node: str) -> None:
        """Bind the pod to the node as soon as a worker is free."""
        self._pool.submit((pod, node))

    def recall(self, uids: Collection[str]) -> list[Pod]:
        """Do not bind those of these pods that no worker has taken up; returns them."""
        return [pod for pod, _ in self._pool.recall(lambda wanted: wanted[0].metadata.uid in uids)]

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    # -- one binding -------------------------------------------------------------------------------------------------

    async def _bind(self, wanted: tuple[Pod, str]) -> None:
        pod, node = wanted
        if await self._leave_to_extender(pod, node):
            return
        path, body = pod_path(pod, "binding"), binding_body(pod, node)
        give_up_at = self._clock.monotonic() + self._settings.patience_seconds
        resends = self._settings.num_resends
        while True:
            if not self._world.may_write():
                logger.warning("pod %s is not bound: we are no longer the leader", pod.key)
                self._world.binding_failed(pod, "we are no longer the leader")  # in case we become it again
                return
            if not self._world.has_node(node):
                self._world.binding_failed(pod, f'binding rejected: node "{node}" is gone')
                return
            answer: Answer | None = None
            why = ""
            try:
                answer = await self._api.request("POST", path, body=body, timeout=self._settings.timeout_seconds)
            except LiveProblem as problem:
                why = problem.why
            if answer is not None:
                if answer.status in (200, 201):
                    self._world.bound(pod, node)
                    return
                pause = answer.retry_after if answer.status in (429, 503) else None
                if pause is not None and self._clock.monotonic() + pause < give_up_at:
                    await self._clock.sleep(pause)
                    continue
                why = status_message(answer.body) or f"the server answers {answer.status}"
            if await self._is_settled(pod, node):
                return
            if answer is not None or not resends:
                self._world.binding_failed(pod, f'running Bind plugin "DefaultBinder": {why}')
                return
            resends -= 1

    async def _leave_to_extender(self, pod: Pod, node: str) -> bool:
        """Is an extender in charge of the binding? What it says is checked like any other answer."""
        try:
            if not await self._world.bind_by_extender(pod, node):
                return False
            self._world.bound(pod, node)
        except ExtenderError as error:
            if not await self._is_settled(pod, node):
                self._world.binding_failed(pod, str(error))
        return True

    async def _is_settled(self, pod: Pod, node: str) -> bool:
        """Has the matter ended, whatever we were told? What is read here the scheduler has heard already."""
        current = await self._reader.read(pod)
        if current is None:
            logger.info("pod %s is gone, and not bound", pod.key)
            self._world.left_alone(pod)
            return True
        if not current.spec.node_name:
            return False
        if current.spec.node_name == node:
            self._world.bound(pod, node)
        else:
            logger.info("pod %s was bound to %s by somebody else, not to %s", pod.key, current.spec.node_name, node)
            self._world.left_alone(pod)
        return True


def binding_body(pod: Pod, node: str) -> bytes:
    """The uid makes sure that no other pod of that name is bound; the API server copies annotations to the pod."""
    meta = pod.metadata
    annotations = binding_annotations(pod)
    devices = {"annotations": annotations} if annotations else {}
    return msgspec.json.encode(
        {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, **devices},
            "target": {"kind": "Node", "name": node},
        }
    )
