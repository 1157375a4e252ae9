"""Events: series, patience, and giving way."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable

import msgspec

from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Answer
from fairway.live.world.events import LIMIT, EventWriter
from fairway.model import ObjectMeta, Pod
from tests.live.fake_api_server import Tree


class Listener:
    """An API server that takes every event, or answers what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, Tree]] = []
        self.answers: list[int] = []
        self.news = asyncio.Event()
        self.open = asyncio.Event()  # answers are held back while it is clear
        self.open.set()

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_: object) -> Answer:
        assert body is not None
        self.heard.append((method, path, msgspec.json.decode(body)))
        self.news.set()
        await self.open.wait()
        return Answer(self.answers.pop(0) if self.answers else 201, {"Retry-After": "0"}, b"")

    async def until(self, number: int) -> None:
        async with asyncio.timeout(60):
            while len(self.heard) < number:
                self.news.clear()
                await self.news.wait()


def pod(version: str = "1") -> Pod:
    return Pod(metadata=ObjectMeta(name="p", namespace="default", uid="u", resource_version=version))


def play(
    story: Callable[[EventWriter, Listener], Awaitable[None]], is_busy: bool = False
) -> list[tuple[str, str, Tree]]:
    async def run() -> list[tuple[str, str, Tree]]:
        api = Listener()
        writer = EventWriter(api, SystemClock(), may_write=lambda: True, is_busy=lambda: is_busy)
        working = asyncio.ensure_future(writer.run())
        try:
            await story(writer, api)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return api.heard

    return asyncio.run(run())


def test_the_second_time_is_a_series_and_then_there_is_silence() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        for number in range(4):
            writer.failed(pod(), "no room")
            await api.until(min(number + 1, 2))
        writer.failed(pod("2"), "no room")  # another version of the pod, another event
        await api.until(3)

    heard = play(story)
    first = heard[0][2]["metadata"]["name"]
    assert [(method, path.rsplit("/", 1)[1]) for method, path, _ in heard] == [
        ("POST", "events"),
        ("PATCH", first),
        ("POST", "events"),
    ]
    assert heard[1][2]["series"]["count"] == 2
    assert heard[2][2]["regarding"]["resourceVersion"] == "2"


def test_what_happens_again_before_the_first_event_is_written_is_a_series_too() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        api.open.clear()
        for _ in range(3):
            writer.failed(pod(), "no room")
        await api.until(1)
        async with asyncio.timeout(60):
            while writer.backlog > 1:  # noqa: ASYNC110 - until the others have been counted, which nobody announces
                await asyncio.sleep(0)
        api.open.set()
        await api.until(2)

    heard = play(story)
    assert [method for method, _, _ in heard] == ["POST", "PATCH"]
    assert heard[1][2]["series"]["count"] == 3


def test_an_event_that_is_gone_is_written_anew() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        api.answers = [201, 404]
        for number in range(1, 3):
            writer.failed(pod(), "no room")
            await api.until(number)
        await api.until(3)

    assert [method for method, _, _ in play(story)] == ["POST", "PATCH", "POST"]


def test_a_busy_server_gets_the_event_later_and_a_refused_one_is_dropped() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        api.answers = [429, 201, 403]
        writer.scheduled(pod(), "n1")
        await api.until(2)
        writer.scheduled(pod(), "n2")
        await api.until(3)
        writer.scheduled(pod(), "n3")
        await api.until(4)

    notes = [body["note"].rsplit(" ", 1)[1] for _, _, body in play(story)]
    assert notes == ["n1", "n1", "n2", "n3"]


def test_long_notes_are_cut_and_names_are_never_the_same() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        writer.failed(pod("1"), "x" * 2000)
        writer.failed(pod("2"), "y")
        await api.until(2)

    heard = play(story)
    assert max(len(body["note"]) for _, _, body in heard) == 1024
    assert len({body["metadata"]["name"] for _, _, body in heard}) == 2


def test_what_is_too_much_is_given_up_oldest_first() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        for number in range(LIMIT + 3):
            writer.scheduled(pod(), f"n{number}")
        assert writer.backlog == LIMIT
        assert writer.num_dropped == 3

    play(story)


def test_an_event_that_waits_holds_what_it_says_and_not_the_pod() -> None:
    size, num_events = 1_000_000, 50

    async def story(writer: EventWriter, api: Listener) -> None:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(num_events):
            meta = ObjectMeta(name=f"p{number}", namespace="default", uid=f"u{number}", labels={"all": "x" * size})
            writer.failed(Pod(metadata=meta), "no room")
        assert writer.backlog == num_events
        after, _ = tracemalloc.get_traced_memory()
        assert after - before < 2 * size

    tracemalloc.start()
    try:
        play(story, is_busy=True)
    finally:
        tracemalloc.stop()


def test_what_plugins_have_to_say_is_an_event_of_its_own_reason() -> None:
    async def story(writer: EventWriter, api: Listener) -> None:
        writer.told(pod(), "DataIgnored", "Ignored: label dataset.x.id", is_warning=True)
        writer.told(pod(), "DataNear", "as near as can be", is_warning=False)
        await api.until(2)

    told = [(body["type"], body["reason"], body["note"]) for _, _, body in play(story)]
    assert sorted(told) == [
        ("Normal", "DataNear", "as near as can be"),
        ("Warning", "DataIgnored", "Ignored: label dataset.x.id"),
    ]
