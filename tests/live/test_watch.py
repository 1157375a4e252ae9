"""Lists and watches against a server that behaves, and one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from fairway.cluster import Event
from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection
from fairway.live.api.problems import Forbidden
from fairway.live.watches.watch import Reflector
from fairway.live.watches.watched_kinds import PODS, WatchedKind
from fairway.model import Node
from tests.live.fake_api_server import FakeApiServer


def node(name: str, cpu: str = "4") -> dict[str, object]:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu}}}


class Heard:
    """What a reflector delivers, in short."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.news = asyncio.Event()

    def __call__(self, events: list[Event]) -> None:
        self.words += [f"{event.verb.value} {event.object.metadata.name}" for event in events]
        self.news.set()

    async def until(self, number: int) -> list[str]:
        async with asyncio.timeout(60):
            while len(self.words) < number:
                self.news.clear()
                await self.news.wait()
        return self.words


@asynccontextmanager
async def reflecting(
    api: FakeApiServer, watched: WatchedKind, silence: float = 90.0
) -> AsyncIterator[tuple[Reflector, Heard]]:
    connection = await Connection.open(master=api.url)
    heard = Heard()
    reflector = Reflector(connection, watched, heard, SystemClock(), silence)
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector, heard
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()


Story = Callable[[FakeApiServer], Awaitable[None]]
NODES = WatchedKind(Node, "/api/v1/nodes")


def play(story: Story, streams_lists: bool = True) -> None:
    async def run() -> None:
        api = FakeApiServer(streams_lists)
        await api.start()
        try:
            await story(api)
        finally:
            await api.stop()

    asyncio.run(run())


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed", "paged"])
def test_lists_then_watches(streams_lists: bool) -> None:
    async def story(api: FakeApiServer) -> None:
        for number in range(1203):
            api.put("nodes", node(f"n{number}"))
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            assert len(reflector.store) == 1203
            api.put("nodes", node("late"))
            api.put("nodes", node("late", "8"))
            api.delete("nodes", "late")
            assert (await heard.until(1206))[1203:] == ["ADDED late", "MODIFIED late", "DELETED late"]

    play(story, streams_lists)


def test_goes_on_from_the_last_version_when_cut() -> None:
    async def story(api: FakeApiServer) -> None:
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.put("nodes", node("a"))
            await heard.until(1)
            api.streams[0].cut()
            await api.until(lambda: not api.streams)
            api.put("nodes", node("b"))
            assert await heard.until(2) == ["ADDED a", "ADDED b"]
        assert not [path for _, path, _ in api.requests[1:] if "sendInitialEvents" in path]

    play(story)


def test_a_version_too_old_means_a_new_list_with_deletions() -> None:
    async def story(api: FakeApiServer) -> None:
        for name in ("a", "b", "c"):
            api.put("nodes", node(name))
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.streams[0].mute()
            api.delete("nodes", "a")
            api.put("nodes", node("b", "8"))
            api.delete("nodes", "c")
            api.put("nodes", node("c"))  # another one of that name
            api.compact()
            api.streams[0].cut()
            words = await heard.until(7)
            assert sorted(words[3:]) == ["ADDED c", "DELETED a", "DELETED c", "MODIFIED b"]
            assert words.index("DELETED c") < words.index("ADDED c", 3)

    play(story)


def test_an_error_event_with_410_means_a_new_list() -> None:
    async def story(api: FakeApiServer) -> None:
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.streams[0].mute()
            api.put("nodes", node("a"))
            await api.streams[0].raw(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n')
            assert await heard.until(1) == ["ADDED a"]
        assert len([path for _, path, _ in api.requests if "sendInitialEvents" in path]) == 2

    play(story)


def test_a_silent_watch_is_given_up() -> None:
    async def story(api: FakeApiServer) -> None:
        async with reflecting(api, NODES, silence=0.2) as (reflector, heard):
            await reflector.synced.wait()
            api.streams[0].mute()
            api.put("nodes", node("a"))
            assert await heard.until(1) == ["ADDED a"]

    play(story)


def test_duplicates_and_stragglers_are_no_news() -> None:
    async def story(api: FakeApiServer) -> None:
        old = dict(api.put("nodes", node("a")))
        old["metadata"] = dict(old["metadata"])
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.put("nodes", node("a", "8"))
            await heard.until(2)
            await api.streams[0].send("MODIFIED", api.objects["nodes"]["a"])
            await api.streams[0].send("MODIFIED", old)
            await api.streams[0].send("DELETED", old)
            api.put("nodes", node("end"))
            assert await heard.until(3) == ["ADDED a", "MODIFIED a", "ADDED end"]
            stored = reflector.store.find("a")
            assert isinstance(stored, Node)
            assert stored.status.allocatable["cpu"].text == "8"

    play(story)


def test_a_line_cut_in_two_is_read_again() -> None:
    async def story(api: FakeApiServer) -> None:
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.streams[0].mute()
            api.put("nodes", node("a"))
            await api.streams[0].raw(b'{"type":"ADDED","object":{"kind":"No')
            api.streams[0].cut()
            assert await heard.until(1) == ["ADDED a"]

    play(story)


def test_an_object_with_nulls_is_read_and_a_broken_one_skipped(caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer) -> None:
        nulls = node("nulls") | {"spec": {"taints": None}}
        api.put("nodes", nulls)
        api.put("nodes", node("broken", "four"))
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            assert await heard.until(1) == ["ADDED nulls"]

    play(story)
    assert "Node broken" in caplog.text


def test_pods_that_finish_are_deleted() -> None:
    async def story(api: FakeApiServer) -> None:
        api.put("pods", {"metadata": {"name": "done"}, "status": {"phase": "Succeeded"}})
        pod = api.put("pods", {"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Running"}})
        async with reflecting(api, PODS) as (reflector, heard):
            await reflector.synced.wait()
            api.put("pods", pod | {"status": {"phase": "Failed"}})
            assert await heard.until(2) == ["ADDED p", "DELETED p"]

    play(story)


def test_what_was_read_besides_is_not_told_twice() -> None:
    async def story(api: FakeApiServer) -> None:
        async with reflecting(api, NODES) as (reflector, heard):
            await reflector.synced.wait()
            api.streams[0].mute()
            api.put("nodes", node("a"))
            api.streams[0].cut()
            assert await heard.until(1) == ["ADDED a"]
            found = reflector.store.find("a")
            assert found is not None
            reflector.offer(found)
            reflector.offer_gone(found)
            reflector.offer(found)
            api.put("nodes", node("b"))
            assert await heard.until(3) == ["ADDED a", "DELETED a", "ADDED b"]

    play(story)


def test_forbidden_is_told_by_verb_and_resource() -> None:
    async def story(api: FakeApiServer) -> None:
        api.answer("GET", "/api/v1/nodes", 403, 'User "system:x" cannot watch nodes', times=10**6)
        async with reflecting(api, NODES) as (reflector, _):
            await api.until(lambda: len(api.requests) > 1)
            problem = reflector.problem
            assert isinstance(problem, Forbidden)
            assert (problem.target.verb, problem.target.resource) == ("watch", "nodes")
            api.faults.clear()
            await reflector.synced.wait()
            assert reflector.problem is None

    play(story)
