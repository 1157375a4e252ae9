"""List and watch one kind: what the API server has, then what happens to it, for ever.

In: a `Connection` and a `WatchedKind`. Out: `cluster.Event`s, a batch at a time, to `deliver`; `synced` is set once
the first list is complete. The list is streamed where the server can (WatchList), else read in pages. A watch that
ends, breaks, falls silent or is too old (410) is taken up again, from the last version or from a new list; what was
missed comes out as events all the same. `service` runs one `Reflector` for each kind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.live.api.clock import Clock
from fairway.live.api.connection import Answer, Connection, StreamError
from fairway.live.api.problems import LiveProblem, Unreachable, problem_of, status_message
from fairway.live.watches.object_store import UNKNOWN, ObjectStore, version_number
from fairway.live.watches.watch_lines import Mark, Page, WatchEvent
from fairway.live.watches.watched_kinds import WatchedKind, object_key
from fairway.model import ApiObject, DecodeError, decode_object, json_decoder

__all__ = ["Reflector"]

logger = logging.getLogger(__name__)
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
SILENCE_SECONDS = 90.0  # servers send bookmarks every minute
PAGE = 500
INITIAL_END = "k8s.io/initial-events-end"
NOT_FOUND, GONE = 404, 410
PREPARING = (429, 503)  # while a definition has just come


class _ExpiredError(Exception):
    """The version we know is too old to go on from."""


class _WatchError(Exception):
    """The server ended the watch with an error."""


LineObserver = Callable[[str, ApiObject, bytes], None]
"""Told of every object that was read: the event's type, the object, and the line it was in (empty: there was none)."""


class Reflector:
    """Keeps a store of one kind like the API server's."""

    def __init__(
        self,
        connection: Connection,
        watched: WatchedKind,
        deliver: Callable[[list[Event]], None],
        clock: Clock,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self.watched = watched
        self.store = ObjectStore()
        self.synced = asyncio.Event()
        self.line_observers: list[LineObserver] = []
        self.on_missing: Callable[[], None] | None = None  # told when the server does not know the kind, if it need not
        self.problem: LiveProblem | None = None  # why there is no list yet, or no watch any more
        self._connection = connection
        self._deliver = deliver
        self._clock = clock
        self._silence = silence_seconds
        self._decoder = json_decoder(WatchEvent[watched.kind])  # type: ignore[name-defined]
        self._pages = json_decoder(Page[watched.kind])  # type: ignore[name-defined]
        self._streams_lists = True
        self._version = ""  # "": a list is needed
        self._number = UNKNOWN
        self._delay = FIRST_DELAY
        self._refusal = (0, "")  # the server's last, in status and words
        self._watching: asyncio.Future[None] | None = None
        self._is_selecting = False  # does a watch end because others are to be watched?

    @property
    def is_settled(self) -> bool:
        """Is everything known that there is?"""
        return self.synced.is_set()

    @property
    def path(self) -> str:
        """Where the objects are."""
        return self.watched.path

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            wait: float | None = None
            begun = self._clock.monotonic()
            try:
                if not self._version and not self._streams_lists:
                    await self._list_pages()
                await self._watch_selected()
                if self._clock.monotonic() - begun > 1.0:
                    continue  # it ended in its time
            except _ExpiredError:
                logger.info("watch of %s: too old, listing again", self.watched.path)
                self._version = ""
                if self._delay == FIRST_DELAY:
                    self._delay *= 2
                    continue
            except StreamError as error:
                wait = self._refused(error.answer)
            except Unreachable as problem:
                self.problem = problem
                # A watch of a kind of which nothing ever happens is silent: servers have no bookmark to send then.
                level = logging.INFO if self._clock.monotonic() - begun < self._silence else logging.DEBUG
                logger.log(level, "watch of %s: %s", self.watched.path, problem.why)
            except _WatchError as error:
                logger.info("watch of %s: %s", self.watched.path, error)
            if wait is None:
                wait = self._delay * self._clock.chance.uniform(0.8, 1.2)
                self._delay = min(self._delay * 2, LONGEST_DELAY)
            await self._clock.sleep(wait)

    def select(self, field_selector: str) -> None:
        """Watch those that the selector says, from a new list on; `synced` is set again when that is complete."""
        if field_selector != self.watched.field_selector:
            self.watched = self.watched._replace(field_selector=field_selector)
            self._version, self._is_selecting = "", True
            self.synced.clear()
            if self._watching is not None:
                self._watching.cancel()

    # -- objects read besides the watch --------------------------------------------------------------------------------

    def offer(self, thing: ApiObject) -> None:
        """Somebody read this object; it may be newer than what the watch has told."""
        if UNKNOWN < version_number(thing.metadata.resource_version) <= self._number:
            return  # the answer was late: we know of this version, or that the object has gone since
        events = self.store.put(thing)
        if events:
            self._deliver(events)

    def offer_gone(self, thing: ApiObject) -> None:
        """Somebody asked for this object, and it is no more."""
        events = self.store.remove(thing, is_final=False)
        if events:
            self._deliver(events)

    def correct(self, thing: ApiObject, is_gone: bool) -> None:
        """The store is wrong about this object, which has been made sure of; the watch will not put it right."""
        events = self.store.remove(thing) if is_gone else self.store.correct(thing)
        if events:
            self._deliver(events)

    def clear(self) -> None:
        """The kind is no more, and so are its objects."""
        events = self.store.replace((), "")
        if events:
            self._deliver(events)

    # -- lists -------------------------------------------------------------------------------------------------------

    async def _list_pages(self) -> None:
        """Read the collection in pages, for servers that do not stream lists."""
        found: list[ApiObject] = []
        query: dict[str, Any] = {"limit": PAGE, "resourceVersion": "0"} | self._selector()
        while True:
            answer = await self._connection.request("GET", self.watched.path, query=query)
            if answer.status != 200:
                raise StreamError(answer)
            page = self._read_page(answer.body)
            found += page.items or ()
            if not page.metadata.continue_:
                break
            query = {"limit": PAGE, "continue": page.metadata.continue_} | self._selector()
        self._listed(found, page.metadata.resource_version)

    def _read_page(self, body: bytes) -> Page[Any]:
        try:
            page: Page[Any] = self._pages.decode(body)
        except msgspec.ValidationError:
            raw = msgspec.json.decode(body, type=Page[msgspec.Raw])
            items = [self._read_object(bytes(item)) for item in raw.items or ()]
            return Page(raw.metadata, [item for item in items if item is not None])
        if version := self.watched.api_version:
            page.items = [msgspec.structs.replace(item, api_version=version) for item in page.items or ()]
        if self.line_observers:
            raws = msgspec.json.decode(body, type=Page[msgspec.Raw]).items or ()
            for item, raw_item in zip(page.items or (), raws, strict=True):
                self._tell_line("ADDED", item, b'{"type":"ADDED","object":' + bytes(raw_item) + b"}")
        return page

    def _listed(self, things: list[ApiObject], version: str) -> None:
        events = self.store.replace(things, version)
        for event in events if self.line_observers else ():
            if event.verb is Verb.DELETED:  # while we were not watching: no line says so
                self._tell_line("DELETED", event.object, b"")
        self._went_on(version)
        if events:
            self._deliver(events)
        self.synced.set()

    # -- watches -----------------------------------------------------------------------------------------------------

    async def _watch_selected(self) -> None:
        """Watch until the watch ends, or others are to be watched (`select`)."""
        self._is_selecting = False
        self._watching = asyncio.ensure_future(self._watch())
        try:
            await self._watching
        except asyncio.CancelledError:
            self._watching.cancel()
            task = asyncio.current_task()
            if not self._is_selecting or (task is not None and task.cancelling()):
                raise

    async def _watch(self) -> None:
        query: dict[str, Any] = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": int(self._clock.chance.integers(300, 600)),
        } | self._selector()
        listing: dict[str, ApiObject] | None = None
        if self._version:
            query["resourceVersion"] = self._version
        else:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
            listing = {}
        async with aclosing(self._connection.stream(self.watched.path, query, self._silence)) as stream:
            async for lines in stream:
                listing = self._read_lines(lines, listing)

    def _read_lines(self, lines: list[bytes], listing: dict[str, ApiObject] | None) -> dict[str, ApiObject] | None:
        """Take in some lines; `listing` is what was listed so far, None once the list is complete."""
        events: list[Event] = []
        for line in lines:
            event = self._read_line(line)
            if event is None:
                continue
            if event.type == "BOOKMARK":
                meta = event.object.metadata
                if listing is None:
                    self._went_on(meta.resource_version)
                elif meta.annotations.get(INITIAL_END) == "true":
                    self._listed(list(listing.values()), meta.resource_version)
                    listing = None
            elif listing is None:
                events += self._happened(event)
            elif event.type == "DELETED":
                listing.pop(object_key(event.object), None)
            else:
                listing[object_key(event.object)] = event.object
        if events:
            self._deliver(events)
        return listing

    def _happened(self, event: WatchEvent[Any]) -> list[Event]:
        """What a line of the watch amounts to, if it is not one that we have heard before."""
        version = event.object.metadata.resource_version
        number = version_number(version)
        if number != UNKNOWN and number <= self._number:
            return []
        self._went_on(version)
        if event.type == "DELETED":
            return self.store.remove(event.object)
        return self.store.put(event.object)

    def _went_on(self, version: str) -> None:
        self._version, self._number = version, version_number(version)
        self._delay = FIRST_DELAY
        self.problem = None

    def _read_line(self, line: bytes) -> WatchEvent[Any] | None:
        """A line, decoded; None for an object that can not be read, which is logged. Raises what the server reports."""
        try:
            event: WatchEvent[Any] = self._decoder.decode(line)
        except msgspec.ValidationError:
            pass
        except msgspec.DecodeError as error:
            raise _WatchError(f"not JSON: {error}") from None
        else:
            if event.type != "ERROR":
                if event.type != "BOOKMARK":
                    self._tell_line(event.type, event.object, line)
                return event
        raw = msgspec.json.decode(line, type=WatchEvent[msgspec.Raw])
        if raw.type in ("BOOKMARK", "ERROR"):
            mark = json_decoder(Mark).decode(raw.object)
            if raw.type == "BOOKMARK":
                return WatchEvent(raw.type, mark)
            if mark.code == GONE:
                raise _ExpiredError
            raise _WatchError(f"{mark.code} {mark.message}")
        thing = self._read_object(bytes(raw.object))
        return None if thing is None else WatchEvent(raw.type, thing)

    def _tell_line(self, verb: str, thing: ApiObject, line: bytes) -> None:
        for observer in self.line_observers:
            observer(verb, thing, line)

    def _read_object(self, data: bytes) -> ApiObject | None:
        """The slow way, which takes nulls, and says what is wrong."""
        tree = msgspec.json.decode(data)
        default: ApiObject = self.watched.kind()
        version = self.watched.api_version or default.api_version
        try:
            return decode_object({"apiVersion": version, "kind": default.kind} | tree, "watch")
        except DecodeError as error:
            logger.error("an object can not be read, and is ignored: %s", error)
            return None

    # -- when it does not go on --------------------------------------------------------------------------------------

    def _refused(self, answer: Answer) -> float | None:
        """The server does not want to stream; returns how long it wants to be left alone, if it says so."""
        if answer.status == GONE:
            self._version = ""
        elif answer.status == NOT_FOUND and self.on_missing is not None:
            self.on_missing()
            return None
        elif answer.status in (400, 404, 422) and not self._version and self._streams_lists:
            self._streams_lists = False
            return 0.0
        url, path = self._connection.url, self.watched.path
        self.problem = problem_of(url, "GET", f"{path}?watch=true", answer.status, answer.body)
        words = status_message(answer.body)
        if self.problem is None:
            self.problem = Unreachable(url, f"it answers {answer.status} for {path}: {words}")
        logger.log(self._level((answer.status, words)), "watch of %s: %s %s", path, answer.status, words)
        return answer.retry_after

    def _level(self, refusal: tuple[int, str]) -> int:
        """How loudly to tell of it: of a kind that need not be there once, and a server that prepares it is no news."""
        before, self._refusal = self._refusal, refusal
        if self.on_missing is None:
            return logging.WARNING
        return logging.DEBUG if refusal == before or refusal[0] in PREPARING else logging.WARNING

    def _selector(self) -> dict[str, str]:
        return {"fieldSelector": self.watched.field_selector} if self.watched.field_selector else {}
