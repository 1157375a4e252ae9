"""Reading one pod, when the answer to a write has left open what became of it.

In: a pod as we know it. Out: the same pod as the API server has it now, or None if that pod is no more (gone, or
another one has its name). What was read goes to the watch's store as well, so the scheduler hears of it before the
caller does. Called by `binding` and `assumed`.
"""

from __future__ import annotations

import logging

import msgspec

from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.watch import Reflector
from fairway.live.watches.watched_kinds import pod_path
from fairway.model import DecodeError, Pod, decode_object

__all__ = ["PodReader"]

logger = logging.getLogger(__name__)
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0


class PodReader:
    """Reads pods and lets the reflector know."""

    def __init__(self, api: ApiServer, pods: Reflector, clock: Clock) -> None:
        self._api = api
        self._pods = pods
        self._clock = clock

    def known(self, pod: Pod) -> Pod | None:
        """The newest version that we have heard of; None if the pod is no more."""
        found = self._pods.store.find(pod.key)
        return found if isinstance(found, Pod) and found.metadata.uid == pod.metadata.uid else None

    async def read(self, pod: Pod) -> Pod | None:
        """Ask until there is an answer."""
        delay = FIRST_DELAY
        while True:
            wait = delay
            try:
                answer = await self._api.request("GET", pod_path(pod))
            except LiveProblem as problem:
                logger.info("pod %s can not be read: %s", pod.key, problem.why)
            else:
                if answer.status == 404:
                    self._pods.offer_gone(pod)
                    return None
                if answer.status == 200:
                    try:
                        return self._take(pod, answer.body)
                    except (DecodeError, msgspec.DecodeError) as error:
                        logger.error("pod %s can not be read: %s", pod.key, error)
                else:
                    logger.info("pod %s: %s %s", pod.key, answer.status, status_message(answer.body))
                    wait = answer.retry_after or delay
            await self._clock.sleep(wait)
            delay = min(delay * 2, LONGEST_DELAY)

    def _take(self, pod: Pod, body: bytes) -> Pod | None:
        found = decode_object(body, "pod")
        assert isinstance(found, Pod)
        if found.is_finished and self._pods.watched.field_selector:
            self._pods.offer_gone(found)  # the watch will call it deleted, and not speak of it again
        else:
            self._pods.offer(found)
        return found if found.metadata.uid == pod.metadata.uid else None
