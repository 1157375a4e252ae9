"""Before a pod is bound: what plugins want written is written, and what they wait for is waited for.

In: a decided pod and the `PreBind`s that the scheduler collected for it. Out: `carry_out` comes back when all is done,
with None, or with the failure of one of them, in kube-scheduler's words; `saw` is told of every event, and those who
wait for that object have another look. Called by `LiveWorld`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fairway.cluster import Event, Verb
from fairway.cycle.pre_bind import PreBind, names_of
from fairway.live.api.api_server import ApiServer
from fairway.live.world.writing import WriteError, send
from fairway.model import Pod

__all__ = ["PodPreparations", "PreBindFailure"]


class PreBindFailure(NamedTuple):
    """Whose preparation failed, and why."""

    plugin: str
    why: str


class Pods(Protocol):
    """Whom the pods come from."""

    def newest(self, pod: Pod) -> Pod | None:
        """The pod as the watch has it; None if it is no more."""


class WaitingPod(NamedTuple):
    """A pod whose plugin waits, and for which objects; for any if there are none."""

    names: frozenset[str]
    news: asyncio.Event


class PodPreparations:
    """Prepares pods, many at a time."""

    def __init__(self, api: ApiServer, pods: Pods) -> None:
        self._api = api
        self._pods = pods
        self._waiting: dict[str, WaitingPod] = {}  # by the pod's uid

    def saw(self, event: Event) -> None:
        """Something has changed: those who wait for it have another look."""
        if not self._waiting:
            return
        item = event.object
        if isinstance(item, Pod) and event.verb is Verb.DELETED and item.metadata.uid in self._waiting:
            self._waiting[item.metadata.uid].news.set()
        names = names_of(item)
        for waiting in self._waiting.values():
            if not waiting.names or not waiting.names.isdisjoint(names):
                waiting.news.set()

    async def carry_out(self, pod: Pod, steps: Sequence[PreBind]) -> PreBindFailure | None:
        """All steps, each to its end; returns the failure, if there is one."""
        for number, planned in enumerate(steps):
            step = planned.at_its_turn() if number else planned
            problem = step if isinstance(step, str) else await self._step(pod, step)
            if problem:
                return PreBindFailure(planned.plugin, problem)
        return None

    async def _step(self, pod: Pod, step: PreBind) -> str:
        uid, preparation = pod.metadata.uid, step.preparation
        news = asyncio.Event()
        # From before the writing on: what it leads to may be seen before its answer is.
        self._waiting[uid] = WaitingPod(preparation.about, news)
        try:
            versions = [await send(self._api, write) for write in preparation.writes]
            async with asyncio.timeout(preparation.timeout_seconds):
                while not (progress := step.progress(versions)):
                    await news.wait()
                    news.clear()
                    if self._pods.newest(pod) is None:
                        return step.error(f'pod does not exist any more: pod "{pod.metadata.name}" not found')
        except WriteError as error:
            return step.error(str(error))
        except TimeoutError:
            return step.too_late
        finally:
            del self._waiting[uid]
        return progress if isinstance(progress, str) else ""
