"""What is to be written to objects of ours: sent with a version check, in an order that may be cut off anywhere.

In: `put`, the status that an object shall have, and what has to be on the server before it. Out: the same status on the
server, sooner or later, and word of it (`on_confirmed`). Only the latest status of an object is sent; one that is not
urgent waits for its turn among fifty a second. Nothing is sent while we may not write. A write whose outcome is not
known is asked for. If somebody else has written to a status meanwhile, what we believe is not true any more:
`on_conflict` is told, and nothing more is sent. So what a process that was killed leaves behind is what it has put, up
to some moment for each object, and never an object before those that it rests on.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.api.rate_limit import RateLimit
from fairway.live.batch.objects import API_VERSION, BatchObject, object_path
from fairway.live.batch.releases import FINALIZER, Releases

__all__ = ["ObjectKey", "Outbox", "Written"]

logger = logging.getLogger(__name__)

NUM_WORKERS: Final = 8
RATE: Final = 50.0  # a second, of what is not urgent
RETRY_SECONDS: Final = (0.05, 0.2, 1.0, 5.0)
OK, CREATED, NOT_FOUND, CONFLICT, INVALID = 200, 201, 404, 409, 422


class _Head(msgspec.Struct, rename="camel"):
    resource_version: str
    finalizers: tuple[str, ...] = ()


class _Headed(msgspec.Struct):
    metadata: _Head


HEADS: Final = msgspec.json.Decoder(_Headed)  # an answer repeats all that was sent

Status = dict[str, Any] | Callable[[], dict[str, Any]]
"""What to write; or what makes it, when it is sent: most letters are replaced before."""


class ObjectKey(NamedTuple):
    """Which object."""

    kind: type[BatchObject]
    name: str
    namespace: str = ""

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.kind().kind} {'/'.join(filter(None, (self.namespace, self.name)))}"


@dataclass(slots=True)
class Written:
    """An object as the server has it."""

    uid: str
    version: str
    status: dict[str, Any] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()


@dataclass(slots=True)
class _Letter:
    """What is to be written to one object."""

    status: Status
    payload: Any
    number: int
    after: frozenset[tuple[ObjectKey, int]]
    not_before: float
    is_urgent: bool


class Outbox:
    """Writes statuses of objects, and makes records."""

    def __init__(self, api: ApiServer, clock: Clock, may_write: Callable[[], bool], *, sends: bool = True) -> None:
        """`sends` False: everything is as if it had been written, and nothing is."""
        self._api = api
        self._clock = clock
        self._may_write = may_write
        self._sends = sends
        self._releases = Releases(api, clock, may_write)
        self._limit = RateLimit(RATE, int(RATE), clock)
        self._letters: dict[ObjectKey, _Letter] = {}
        self._sending: dict[ObjectKey, _Letter] = {}
        self._urgent: dict[ObjectKey, None] = {}  # that may be sent now, in their order
        self._patient: dict[ObjectKey, None] = {}  # the same, as the limit allows
        self._later: list[tuple[float, int, ObjectKey]] = []  # a heap: when they may
        self._blocked: dict[ObjectKey, set[ObjectKey]] = {}  # by what they rest on
        self._confirmed: dict[ObjectKey, int] = {}  # numbers of letters
        self._number = 0
        self._news = asyncio.Event()
        self.known: dict[ObjectKey, Written] = {}
        self.heads: dict[ObjectKey, dict[str, Any]] = {}  # of objects that have to be made: owners and the like
        self.on_confirmed: Callable[[ObjectKey, Any], None] = lambda key, payload: None
        self.on_conflict: Callable[[str], None] = logger.warning
        self.on_gone: Callable[[ObjectKey], None] = lambda key: None
        self.num_sent = 0
        self._is_stopped = False

    @property
    def backlog(self) -> int:
        """Objects that are still to be written."""
        return len(self._letters) + len(self._sending) + self._releases.backlog

    def number_of(self, key: ObjectKey) -> int:
        """Of the latest letter to that object that was put; 0: none is on its way."""
        letter = self._letters.get(key) or self._sending.get(key)
        return 0 if letter is None else letter.number

    def put(
        self,
        key: ObjectKey,
        status: Status,
        payload: Any = None,
        *,
        after: Iterable[ObjectKey] = (),
        delay: float = 0.0,
        is_urgent: bool = True,
    ) -> None:
        """The object shall have this status; `after`: not before what was put of these is written."""
        self._number += 1
        if not self._sends:
            self.known[key] = Written("", "", status() if callable(status) else status)
            self.on_confirmed(key, payload)
            return
        rests_on = frozenset((each, self.number_of(each)) for each in after if self.number_of(each))
        not_before = self._clock.monotonic() + delay
        if (former := self._letters.get(key)) is not None:
            rests_on |= former.after
            not_before = min(not_before, former.not_before)
            is_urgent = is_urgent or former.is_urgent
        self._letters[key] = _Letter(status, payload, self._number, rests_on, not_before, is_urgent)
        self._sort(key)

    def forget(self, key: ObjectKey) -> None:
        """There is no such object any more, or nobody has to write to it."""
        self._letters.pop(key, None)
        self.known.pop(key, None)
        self.heads.pop(key, None)
        self._confirmed.pop(key, None)
        self._sort(key)
        self._free(key)

    async def written(self) -> None:
        """Wait until all that was put by now is on the server, or is replaced by something newer that is."""
        number = self._number
        for key, letter in self._letters.items():
            letter.not_before = 0.0
            letter.is_urgent = True
            self._sort(key)
        while any(each.number <= number for each in (*self._letters.values(), *self._sending.values())):
            await self._clock.sleep(0.005)

    # -- sending -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._releases.run())
            for _ in range(NUM_WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = self._next() if self._may_write() and not self._is_stopped else None
            if key is None:
                await self._rest()
                continue
            letter = self._sending[key] = self._letters.pop(key)
            is_done = False
            try:
                is_done = await self._deliver(key, letter)
            finally:
                del self._sending[key]
                self._sort(key)
            if is_done:
                self._confirmed[key] = letter.number
                self.num_sent += 1
                self.on_confirmed(key, letter.payload)
            self._free(key)

    def _sort(self, key: ObjectKey) -> None:
        """Put a letter where it belongs now: it may be sent, or waits for its time or for others."""
        self._urgent.pop(key, None)
        self._patient.pop(key, None)
        letter = self._letters.get(key)
        if letter is None or key in self._sending:
            return
        for other, number in letter.after:
            if self._confirmed.get(other, 0) < number and (other in self.known or self.number_of(other)):
                self._blocked.setdefault(other, set()).add(key)
                return
        if letter.not_before > self._clock.monotonic():
            heapq.heappush(self._later, (letter.not_before, letter.number, key))
        else:
            (self._urgent if letter.is_urgent else self._patient)[key] = None
        self._news.set()

    def _free(self, key: ObjectKey) -> None:
        """Something was written, or is gone: who rested on it?"""
        for each in self._blocked.pop(key, ()):
            self._sort(each)

    def _next(self) -> ObjectKey | None:
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            self._sort(heapq.heappop(self._later)[-1])
        for waiting in (self._urgent, self._patient):
            if waiting and (waiting is self._urgent or self._limit.take()):
                key = next(iter(waiting))
                del waiting[key]
                return key
        return None

    async def _rest(self) -> None:
        """Until there is news, or somebody's time has come."""
        self._news.clear()
        seconds = 1.0
        if self._may_write():
            seconds = 1.0 / RATE if self._patient else seconds
            if self._later:
                seconds = min(seconds, self._later[0][0] - self._clock.monotonic())
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _deliver(self, key: ObjectKey, letter: _Letter) -> bool:
        """Send it until its outcome is known; False: it was not written, and need not be."""
        tries = 0
        status = letter.status() if callable(letter.status) else letter.status
        while True:
            if not self._may_write():
                self._letters.setdefault(key, letter)
                return False
            try:
                outcome = await self._try(key, status)
            except LiveProblem as problem:
                logger.info("%s was not written: %s; trying again", key.title, problem.why)
                outcome = None
            if outcome is not None:
                return outcome
            await self._clock.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1

    async def _try(self, key: ObjectKey, status: dict[str, Any]) -> bool | None:
        """One attempt; None: another one is needed."""
        known = self.known.get(key)
        if known is None:
            return await self._make(key)
        metadata = {"name": key.name, "uid": known.uid, "resourceVersion": known.version}
        if key.namespace:
            metadata["namespace"] = key.namespace
        body = {"apiVersion": API_VERSION, "kind": key.kind().kind, "metadata": metadata, "status": status}
        if not key.namespace:
            body["spec"] = {}  # which such a write leaves as it is; but it has to be there
        answer = await self._api.request("PUT", _path(key, "status"), body=msgspec.json.encode(body))
        if answer.status == OK:
            _learn_head(known, answer.body)
            known.status = status
            return True
        if answer.status in (NOT_FOUND, CONFLICT):
            return await self._look(key, known, status)
        if answer.status == INVALID:
            logger.error("%s: the server refuses what we write: %s", key.title, status_message(answer.body))
            return False
        return None

    async def _look(self, key: ObjectKey, known: Written, status: dict[str, Any]) -> bool | None:
        """Somebody wrote to the object, or it is gone: is what we know of its status still true?"""
        answer = await self._api.request("GET", _path(key))
        if answer.status == NOT_FOUND:
            self.known.pop(key, None)
            self.on_gone(key)
            return None if key in self.heads else False
        if answer.status != OK:
            return None
        there = msgspec.json.decode(answer.body)
        uid, found = there["metadata"]["uid"], there.get("status", {})
        if uid == known.uid and found == status:
            _learn_head(known, answer.body)
            known.status = status
            return True  # the answer to an earlier attempt was lost
        if uid != known.uid or found != known.status:
            return self._stop(f"somebody else has written to {key.title}")
        _learn_head(known, answer.body)  # which is other, or its spec
        return None

    async def _make(self, key: ObjectKey) -> bool | None:
        head = self.heads.get(key)
        if head is None:
            return False  # not ours to make: it is gone
        metadata = {"name": key.name, "namespace": key.namespace, "finalizers": [FINALIZER], **head}
        body = {"apiVersion": API_VERSION, "kind": key.kind().kind, "metadata": metadata, "spec": {}}
        path = object_path(key.kind, namespace=key.namespace)
        answer = await self._api.request("POST", path, body=msgspec.json.encode(body))
        if answer.status == CONFLICT:
            answer = await self._api.request("GET", _path(key))
        if answer.status == NOT_FOUND:
            return False  # its namespace is gone
        if answer.status not in (OK, CREATED):
            logger.info("%s was not made: %s", key.title, status_message(answer.body))
            return None
        made = msgspec.json.decode(answer.body)
        if made.get("status"):
            return self._stop(f"somebody else has made {key.title}")
        known = self.known[key] = Written(made["metadata"]["uid"], "")
        _learn_head(known, answer.body)
        return None

    def _stop(self, why: str) -> bool:
        """What else waits may rest on what is not so."""
        self._is_stopped = True
        self.on_conflict(why)
        return False

    def let_go(self, key: ObjectKey) -> None:
        """Take our finalizer away: the record may go when its owner does."""
        known = self.known.get(key)
        if known is not None and self._sends:
            self._releases.let_go(_path(key), known)


def _learn_head(known: Written, body: bytes) -> None:
    head = HEADS.decode(body).metadata
    known.version, known.finalizers = head.resource_version, head.finalizers


def _path(key: ObjectKey, subresource: str = "") -> str:
    return object_path(key.kind, key.name, key.namespace, subresource)
