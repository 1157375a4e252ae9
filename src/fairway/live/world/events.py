"""What people are told: Events (events.k8s.io/v1) about pods, aggregated, bounded, and never in anybody's way.

In: what happened, from the world (`scheduled`, `failed`, ...). Out: Events as kube-scheduler writes them: first a new
one, the second time a series with its count, after that silence until the series has ended; a sweep every six minutes
then writes the final count. Events wait while bindings do; when too many wait, the oldest are given up and counted.
kube-scheduler 1.36: client-go tools/events/event_broadcaster.go.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import msgspec

from fairway.cycle.decision import cut_message
from fairway.live.api.api_server import STRATEGIC_MERGE_PATCH, ApiServer
from fairway.live.api.clock import Clock, micro_time
from fairway.live.api.connection import Answer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.model import Pod
from fairway.model.tenant import job_name
from fairway.queue import profile_name

__all__ = ["EventWriter", "Subject"]

logger = logging.getLogger(__name__)

LIMIT = 50_000
NUM_WORKERS = 4
DEFERENCE_SECONDS = 0.1  # for so long an event gives way to bindings
NUM_TRIES, RETRY_SECONDS = 12, 10.0
SWEEP_SECONDS = 360.0


class Subject(NamedTuple):
    """What an event says of what it is about: pods may be a megabyte each, and thousands of events wait."""

    namespace: str
    name: str
    uid: str
    version: str
    profile: str
    kind: str = "Pod"
    api_version: str = "v1"

    @classmethod
    def of(cls, pod: Pod) -> Self:
        """That of a pod."""
        meta = pod.metadata
        return cls(meta.namespace, meta.name, meta.uid, meta.resource_version, profile_name(pod))


class PendingEvent(NamedTuple):
    """One thing to tell about a pod."""

    subject: Subject
    type: str
    reason: str
    action: str
    note: str
    time: float


@dataclass(slots=True)
class Told:
    """An event that was written, and how often it would have been since."""

    path: str
    count: int
    last: float
    written: int  # the count that the API server knows


class EventWriter:
    """Writes events."""

    def __init__(
        self, api: ApiServer, clock: Clock, *, may_write: Callable[[], bool], is_busy: Callable[[], bool]
    ) -> None:
        """`is_busy`: is there something more important to send?"""
        self._api = api
        self._clock = clock
        self._may_write = may_write
        self._is_busy = is_busy
        self._host = socket.gethostname()
        self._waiting: deque[PendingEvent] = deque()
        self._news = asyncio.Event()
        self._told: dict[tuple[str, ...], Told] = {}
        self._last_stamp = 0
        self._num_sending = 0
        self.num_dropped = 0

    @property
    def backlog(self) -> int:
        """Events that are still to be written."""
        return len(self._waiting) + self._num_sending

    # -- what happened -------------------------------------------------------------------------------------------------

    def scheduled(self, pod: Pod, node: str) -> None:
        """A pod has its node."""
        self._tell(pod, "Normal", "Scheduled", "Binding", f"Successfully assigned {pod.key} to {node}")

    def failed(self, pod: Pod, message: str) -> None:
        """An attempt failed."""
        self._tell(pod, "Warning", "FailedScheduling", "Scheduling", cut_message(message))

    def preempted(self, victim: Pod, preemptor_uid: str, node: str) -> None:
        """A pod had to make room."""
        self._tell(victim, "Normal", "Preempted", "Preempting", f"Preempted by pod {preemptor_uid} on node {node}")

    def exclusivity_broken(self, pod: Pod, other: Pod, node: str) -> None:
        """A pod does not have its node to itself, though it should."""
        note = f"pod {other.key} of {profile_name(other)} is on node {node} too, which {job_name(pod)} has exclusively"
        self._tell(pod, "Warning", "ExclusivityBroken", "Guarding", cut_message(note))

    def told(self, pod: Pod, reason: str, note: str, *, is_warning: bool) -> None:
        """A plugin has something to say."""
        self._tell(pod, "Warning" if is_warning else "Normal", reason, "Scheduling", cut_message(note))

    def about(self, subject: Subject, kind: str, reason: str, note: str) -> None:
        """Something about what need not be a pod."""
        self._tell_of(subject, kind, reason, "Scheduling", cut_message(note))

    def _tell(self, pod: Pod, kind: str, reason: str, action: str, note: str) -> None:
        self._tell_of(Subject.of(pod), kind, reason, action, note)

    def _tell_of(self, subject: Subject, kind: str, reason: str, action: str, note: str) -> None:
        if len(self._waiting) >= LIMIT:
            self._waiting.popleft()
            self.num_dropped += 1
            if self.num_dropped == 1 or self.num_dropped % 1000 == 0:
                logger.warning(
                    "%d events were given up: the API server does not take them fast enough", self.num_dropped
                )
        self._waiting.append(PendingEvent(subject, kind, reason, action, note, self._clock.now()))
        self._news.set()

    # -- sending -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(NUM_WORKERS):
                group.create_task(self._work())
            group.create_task(self._sweep())

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._news.clear()
                await self._news.wait()
            if self._is_busy():
                await self._clock.sleep(DEFERENCE_SECONDS)
                if not self._waiting:
                    continue
            word = self._waiting.popleft()
            self._num_sending += 1
            try:
                await self._write(word)
            finally:
                self._num_sending -= 1

    async def _write(self, word: PendingEvent) -> None:
        if not self._may_write():
            return
        if word.reason == "Scheduled":  # happens once: nothing to count
            await self._post(word)
            return
        subject = word.subject
        key = (word.type, word.action, word.reason, subject.profile, subject.uid, subject.version)
        told = self._told.get(key)
        if told is None:
            told = self._told[key] = Told("", 1, word.time, 1)
            told.path = await self._post(word)
            if not told.path:
                self._told.pop(key, None)
            elif told.count > 1:  # it happened again while the first was being written
                await self._patch(told)
            return
        told.count += 1
        told.last = word.time
        if told.count == 2 and told.path and not await self._patch(told):
            self._told.pop(key, None)
            await self._write(word)

    async def _post(self, word: PendingEvent) -> str:
        """Write a new event; returns its path, "" if it could not be written."""
        stamp = max(int(word.time * 1e9), self._last_stamp + 1)
        self._last_stamp = stamp
        path = f"/apis/events.k8s.io/v1/namespaces/{word.subject.namespace}/events"
        name = f"{word.subject.name}.{stamp:x}"
        answer = await self._request("POST", path, event_body(word, name, self._host), "application/json")
        if answer is None or answer.status not in (200, 201):
            return ""
        return f"{path}/{name}"

    async def _patch(self, told: Told) -> bool:
        """Write the count; False if the event is no more."""
        body = {"series": {"count": told.count, "lastObservedTime": micro_time(told.last)}}
        told.written = told.count
        answer = await self._request("PATCH", told.path, body, STRATEGIC_MERGE_PATCH)
        return answer is None or answer.status != 404

    async def _request(self, method: str, path: str, body: dict[str, Any], content_type: str) -> Answer | None:
        """Send until there is an answer; None if there is none for too long. What is refused is not sent again."""
        data = msgspec.json.encode(body)
        for _ in range(NUM_TRIES):
            wait = RETRY_SECONDS
            try:
                answer = await self._api.request(method, path, body=data, content_type=content_type)
            except LiveProblem as problem:
                logger.info("an event was not written: %s", problem.why)
            else:
                if answer.status != 429:
                    if answer.status >= 400 and answer.status != 404:
                        logger.info("an event was refused: %s %s", answer.status, status_message(answer.body))
                    return answer
                wait = answer.retry_after or 1.0
            if not self._may_write():
                return None
            await self._clock.sleep(wait)
        return None

    async def _sweep(self) -> None:
        """Write the final counts of series that have ended, and forget what is long past."""
        while True:
            await self._clock.sleep(SWEEP_SECONDS)
            past = self._clock.now() - SWEEP_SECONDS
            for key, told in list(self._told.items()):
                if told.last < past:
                    del self._told[key]
                    if told.count > told.written and self._may_write():
                        await self._patch(told)


def event_body(word: PendingEvent, name: str, host: str) -> dict[str, Any]:
    """An Event as kube-scheduler writes it, without the fields that are there for history only."""
    subject = word.subject
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": name, "namespace": subject.namespace},
        "eventTime": micro_time(word.time),
        "type": word.type,
        "reason": word.reason,
        "action": word.action,
        "note": word.note,
        "reportingController": subject.profile,
        "reportingInstance": f"{subject.profile}-{host}",
        "regarding": {
            "kind": subject.kind,
            "apiVersion": subject.api_version,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
            "resourceVersion": subject.version,
        },
    }
