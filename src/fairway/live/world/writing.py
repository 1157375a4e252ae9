"""What plugins ask to be written, sent to the API server.

In: a `Write`, for `send`; or several, in order, for `Writer.submit`, which does not wait. Out: of `send` the object's
resource version after it, or `WriteError`, in the server's words, if it refuses or does not answer; `Writer` logs that.
The scheduler's own service account has to be allowed to do it. Called by `pre_bind` and `LiveWorld`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from fairway.live.api.api_server import MERGE_PATCH, ApiServer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.object_store import version_number
from fairway.live.world.worker_pool import WorkerPool
from fairway.model import Pod
from fairway.model.writes import Create, Write, collection_path

__all__ = ["WriteError", "Writer", "send"]

logger = logging.getLogger(__name__)

NUM_WORKERS = 4


class WriteError(Exception):
    """It is not written, as far as we know."""


async def send(api: ApiServer, write: Write) -> int:
    """Do it; returns the resource version of the object then."""
    path = collection_path(write.api_version, write.kind, write.namespace)
    try:
        if isinstance(write, Create):
            answer = await api.request("POST", path, body=msgspec.json.encode(write.manifest))
        else:
            body = msgspec.json.encode(write.document())
            path = "/".join(filter(None, (path, write.name, write.subresource)))
            answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    except LiveProblem as problem:
        raise WriteError(problem.why) from problem
    if answer.status not in (200, 201):
        raise WriteError(status_message(answer.body) or f"the server answers {answer.status}")
    return version_number(msgspec.json.decode(answer.body)["metadata"]["resourceVersion"])


class Writer:
    """Writes for post-filters, some pods at a time."""

    def __init__(self, api: ApiServer, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._may_write = may_write
        self._pool: WorkerPool[tuple[Sequence[Write], Pod]] = WorkerPool(NUM_WORKERS, self._write)

    @property
    def backlog(self) -> int:
        """Pods whose writes wait or are under way."""
        return self._pool.backlog

    def submit(self, writes: Sequence[Write], pod: Pod) -> None:
        """Write it, up to the first that is refused, as soon as a worker is free."""
        self._pool.submit((writes, pod))

    async def run(self) -> None:
        """Work until cancelled."""
        await self._pool.run()

    async def _write(self, wanted: tuple[Sequence[Write], Pod]) -> None:
        writes, pod = wanted
        for write in writes:
            if not self._may_write():
                return
            try:
                await send(self._api, write)
            except WriteError as error:
                logger.warning("pod %s: %s: %s", pod.key, write.title, error)
                return
