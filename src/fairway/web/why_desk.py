"""Questions why, asked of worker processes: two at a time, each kept once it was answered.

In: a `WhyQuestion`. Out: the document that `fairway why -o json` prints, as bytes. It is worked out on the cluster as
it was, which takes up to seconds of the processor, so it is done elsewhere; whoever leaves before the answer is there
ends the process, and the next question starts another. Called by `server`, in its loop.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Final

import msgspec

from fairway.web.page_error import PageError
from fairway.web.pods import no_such_pod
from fairway.web.questions import WhyQuestion
from fairway.web.sources import RunSource
from fairway.web.why_worker import DOCUMENT, AskedWhy

__all__ = ["WhyDesk", "check_why"]

AT_ONCE: Final = 2
MOST_WAITING: Final = 16


class _Wrong(msgspec.Struct):
    message: str
    hint: str


class WhyDesk:
    """Hands questions to workers."""

    def __init__(self) -> None:
        self._free: list[Process] = []
        self.busy: set[Process] = set()  # at work
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._num_waiting = 0

    async def prepare(self, source: RunSource) -> None:
        """Have a worker ready that has opened this run: the first question does not wait for that."""
        self._free.append(await _start(source.path))

    async def answer(self, source: RunSource, question: WhyQuestion) -> bytes:
        """The document."""
        key = (source.id, "why", msgspec.json.encode(question))
        kept: bytes | None = source.cache.get(key)
        if kept is not None:
            return kept
        if self._num_waiting >= MOST_WAITING:
            raise PageError(429, "too_busy", "too many questions why are waiting", "ask again in some seconds")
        self._num_waiting += 1
        try:
            async with self._turn:
                made = await self._asked(source, question)
        finally:
            self._num_waiting -= 1
        source.cache.put(key, made, len(made))
        return made

    async def close(self) -> None:
        """End all workers."""
        for worker in (*self._free, *self.busy):
            await _end(worker)
        self._free.clear()

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        return len(self._free) + len(self.busy)

    async def _asked(self, source: RunSource, question: WhyQuestion) -> bytes:
        pod = question.uid or f"{question.namespace}/{question.name}"
        line = msgspec.json.encode(
            AskedWhy(source.path, pod, question.at, question.attempt, question.node, question.all_nodes)
        )
        worker = self._free.pop() if self._free else await _start(source.path)
        self.busy.add(worker)
        is_fit = False
        try:
            sign, made = await _exchange(worker, line)
            is_fit = True
        except (OSError, EOFError) as error:
            raise PageError(503, "no_answer", "the process that was asked has ended", "ask again") from error
        finally:
            self.busy.discard(worker)
            if is_fit:
                self._free.append(worker)
            else:  # whoever asked has left, or it is broken
                await asyncio.shield(_end(worker))
        if sign != DOCUMENT:
            wrong = msgspec.json.decode(made, type=_Wrong)
            raise PageError(400, "no_answer", wrong.message, wrong.hint)
        return made


def check_why(source: RunSource, question: WhyQuestion) -> None:
    """What can be said without working anything out: is there such a pod, attempt, node?"""
    key = f"{question.namespace}/{question.name}"
    if question.at is not None and question.attempt is not None:
        raise PageError(400, "bad_parameter", "at and attempt exclude each other", "give one of them")
    source.time(question.at)
    uid = "" if question.uid is None else " AND uid = $uid"
    pods = source.rows(f"SELECT pod_id FROM pods WHERE pod = $key{uid} ORDER BY pod_id", key=key, uid=question.uid)
    if not pods:
        raise no_such_pod(source, f"{key} with uid {question.uid}" if uid else key)
    if question.attempt is not None:
        attempts = source.rows(
            "SELECT attempt FROM decisions WHERE pod_id = $pod ORDER BY decision_id", pod=pods[-1]["pod_id"]
        )
        numbers = [row["attempt"] for row in attempts]
        if question.attempt not in numbers:
            hint = f"it has: {', '.join(map(str, numbers[:20]))}" if numbers else "none were kept"
            raise PageError(404, "no_such_attempt", f"the run has no attempt {question.attempt} for {key}", hint)
    if question.node is not None and question.node not in source.nodes.subject.names:
        raise PageError(404, "no_such_node", f"the run has no node {question.node}")


async def _start(path: str) -> Process:
    # -P: what lies in the current folder is not put before the libraries.
    command = (sys.executable, "-P", "-m", "fairway.web.why_worker", path)
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)


async def _exchange(worker: Process, line: bytes) -> tuple[bytes, bytes]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(line + b"\n")
    await worker.stdin.drain()
    length = int.from_bytes(await worker.stdout.readexactly(4), "big")
    return await worker.stdout.readexactly(1), await worker.stdout.readexactly(length)


async def _end(worker: Process) -> None:
    if worker.returncode is None:
        worker.kill()
    await worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()
