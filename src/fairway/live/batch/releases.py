"""Records that nobody has to wait for any more: our finalizer is taken off them, so that they may go with their owners.

In: `let_go`, a record as it is known; those that were settled, and, after a start, those that somebody settled before
and was killed. Out: the same records without our finalizer, sooner or later; finalizers of others stay. A server that
does not answer is asked again until it does, or until the record is gone. Nothing is asked while we may not write: then
whoever leads does it. Called by `outbox`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairway.live.api.api_server import MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message

__all__ = ["FINALIZER", "Releases", "without_ours"]

logger = logging.getLogger(__name__)

FINALIZER: Final = "fairway.dev/accounting"
NUM_WORKERS: Final = 2
RETRY_SECONDS: Final = (0.05, 0.2, 1.0, 5.0)
OK, NOT_FOUND, CONFLICT, SERVER_ERRORS, BUSY = 200, 404, 409, 500, 429


class Held(Protocol):
    """An object as the server has it: what is known of it changes here, too."""

    uid: str
    version: str
    finalizers: tuple[str, ...]


def without_ours(finalizers: Sequence[str]) -> list[str] | None:
    """What stays; None: nothing."""
    return [each for each in finalizers if each != FINALIZER] or None


class Releases:
    """Takes finalizers off."""

    def __init__(self, api: ApiServer, clock: Clock, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._clock = clock
        self._may_write = may_write
        self._waiting: dict[str, Held] = {}  # by path
        self._num_sending = 0
        self._news = asyncio.Event()

    @property
    def backlog(self) -> int:
        """Records that still have it."""
        return len(self._waiting) + self._num_sending

    def let_go(self, path: str, held: Held) -> None:
        """The record may go when its owner does."""
        if FINALIZER in held.finalizers:
            self._waiting[path] = held
            self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(NUM_WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            if not self._waiting or not self._may_write():
                self._news.clear()
                try:
                    async with asyncio.timeout(1.0):
                        await self._news.wait()
                except TimeoutError:
                    pass
                continue
            path = next(iter(self._waiting))
            held = self._waiting.pop(path)
            self._num_sending += 1
            try:
                await self._release(path, held)
            finally:
                self._num_sending -= 1

    async def _release(self, path: str, held: Held) -> None:
        """Until its outcome is known."""
        tries = 0
        while True:
            if not self._may_write():
                self._waiting.setdefault(path, held)
                return
            try:
                if await self._try(path, held):
                    return
            except LiveProblem as problem:
                logger.info("%s keeps its finalizer for now: %s", path, problem.why)
            await self._clock.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1

    async def _try(self, path: str, held: Held) -> bool:
        """One attempt; False: another one is needed."""
        meta: dict[str, Any] = {"uid": held.uid, "resourceVersion": held.version}
        body = {"metadata": meta | {"finalizers": without_ours(held.finalizers)}}
        answer = await self._api.request("PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH)
        if answer.status == CONFLICT:  # somebody wrote to it, or it is another one by now
            answer = await self._api.request("GET", path)
            if answer.status == OK and msgspec.json.decode(answer.body)["metadata"]["uid"] != held.uid:
                return True
            is_done = False
        else:
            is_done = True
        if answer.status == OK:
            found = msgspec.json.decode(answer.body)["metadata"]
            held.version, held.finalizers = found["resourceVersion"], tuple(found.get("finalizers") or ())
            return is_done or FINALIZER not in held.finalizers
        if answer.status == NOT_FOUND:
            return True
        if answer.status == BUSY or answer.status >= SERVER_ERRORS:
            return False
        logger.warning("%s keeps its finalizer: %s %s", path, answer.status, status_message(answer.body))
        return True
