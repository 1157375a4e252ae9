"""Kinds that a cluster may lack: they come, go, are mixed and refused, and nothing else is disturbed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from aiohttp import web

from fairway.cluster import Event
from fairway.live.api.connection import Connection
from fairway.live.api.problems import Forbidden, Unreachable
from fairway.live.watches.cluster_watch import ClusterWatch, read_objects
from fairway.live.watches.optional_kinds import OPTIONAL, RECORDED, OptionalKind
from fairway.model import Dataset, DatasetInternal
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node
from tests.live.virtual_clock import settle

OLD, NEW = "com.ie.ibm.hpsys", "datashim.io"
KINDS = {"datasets": "Dataset", "datasetsinternal": "DatasetInternal"}


class QuickClock:
    """Real time, but for long waits, which are over at once when a test says so."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng(0)
        self._skips = asyncio.Event()

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    monotonic = now

    async def sleep(self, seconds: float) -> None:
        if seconds < 10:
            await asyncio.sleep(seconds)
            return
        await self._skips.wait()

    def skip(self) -> None:
        """Whoever waits long has waited long enough."""
        skips, self._skips = self._skips, asyncio.Event()
        skips.set()


class Heard:
    """What is delivered, in short: verb, group and name."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, events: Sequence[Event]) -> None:
        self.words += [
            f"{event.verb.value} {event.object.api_version.partition('/')[0]} {event.object.metadata.name}"
            for event in events
            if isinstance(event.object, Dataset | DatasetInternal)
        ]


class Stage(asyncio.Event):
    """A watch with what it told, and the clock that a test moves."""

    def __init__(self, watch: ClusterWatch, heard: Heard, clock: QuickClock) -> None:
        super().__init__()
        self.watch, self.heard, self.clock = watch, heard, clock


@asynccontextmanager
async def watching(api: FakeApiServer, optional: tuple[OptionalKind, ...] = OPTIONAL) -> AsyncIterator[Stage]:
    connection = await Connection.open(master=api.url)
    heard, clock, stop = Heard(), QuickClock(), asyncio.Event()
    watch = ClusterWatch(connection, clock, heard, patience_seconds=5.0, optional=optional)
    stage = Stage(watch, heard, clock)

    async def story() -> None:
        await watch.sync(asyncio.Event())
        await stop.wait()

    task = asyncio.ensure_future(watch.run_with(story()))
    try:
        await api.until(lambda: watch.is_synced or task.done())
        if task.done():
            task.result()
        await settle()  # everybody who waits long does so by now
        yield stage
        assert not task.done()
    finally:
        stop.set()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()


def play(story: Callable[[FakeApiServer], Awaitable[None]]) -> None:
    async def run() -> None:
        api = FakeApiServer()
        await api.start()
        api.put("nodes", node("n1"))
        try:
            await story(api)
        finally:
            await api.stop()

    asyncio.run(run())


def install(api: FakeApiServer, group: str) -> None:
    for plural, kind in KINDS.items():
        api.serve(f"{plural}.{group}", kind)


def dataset(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"local": {"type": "COS"}}}


def test_what_is_not_served_is_no_error_and_is_watched_once_it_is(caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer) -> None:
        async with watching(api) as stage:
            assert stage.heard.words == []
            install(api, NEW)
            api.put(f"datasets.{NEW}", dataset("early"))
            stage.clock.skip()
            await api.until(lambda: stage.heard.words == [f"ADDED {NEW} early"])
            api.put(f"datasets.{NEW}", dataset("late"))
            await api.until(lambda: stage.heard.words[1:] == [f"ADDED {NEW} late"])
            assert len(stage.watch.objects()) == 3  # and the node

    with caplog.at_level(logging.WARNING):
        play(story)
    assert caplog.text == ""


@pytest.mark.parametrize("tells", [True, False], ids=["objects first", "all at once"])
def test_what_is_withdrawn_is_gone_and_may_come_again(tells: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer) -> None:
        install(api, NEW)
        api.put(f"datasets.{NEW}", dataset("a"))
        api.put(f"datasetsinternal.{NEW}", dataset("a"))
        async with watching(api) as stage:
            before = len(stage.heard.words)
            for plural in KINDS:
                api.withdraw(f"{plural}.{NEW}", tells)
            await api.until(lambda: len(stage.heard.words) == before + 2)
            assert stage.heard.words[before:] == [f"DELETED {NEW} a"] * 2
            asked = len(api.requests)
            await api.until(lambda: not [stream for stream in api.streams if NEW in stream.resource])
            assert len(stage.watch.objects()) == 1
            install(api, NEW)
            api.put(f"datasets.{NEW}", dataset("b"))
            stage.clock.skip()
            await api.until(lambda: stage.heard.words[-1] == f"ADDED {NEW} b")
            assert len(api.requests) - asked < 20  # nobody asks in circles

    with caplog.at_level(logging.WARNING):
        play(story)
    assert caplog.text == ""


def test_a_server_that_prepares_a_kind_is_waited_for_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def story(api: FakeApiServer) -> None:
        install(api, NEW)
        api.put(f"datasets.{NEW}", dataset("a"))
        api.answer("GET", "/datasets", 429, "storage is (re)initializing", times=2, Retry_After="0")
        async with watching(api) as stage:
            assert stage.heard.words == [f"ADDED {NEW} a"]

    with caplog.at_level(logging.INFO):
        play(story)
    assert "initializing" not in caplog.text


def test_both_groups_are_told_apart() -> None:
    async def story(api: FakeApiServer) -> None:
        for group in (OLD, NEW):
            install(api, group)
            api.put(f"datasets.{group}", dataset("same"))
        async with watching(api) as stage:
            assert sorted(stage.heard.words) == [f"ADDED {OLD} same", f"ADDED {NEW} same"]
            for plural in KINDS:
                api.withdraw(f"{plural}.{OLD}")
            await api.until(lambda: stage.heard.words[2:] == [f"DELETED {OLD} same"])
            api.put(f"datasets.{NEW}", dataset("more"))
            await api.until(lambda: stage.heard.words[3:] == [f"ADDED {NEW} more"])

    play(story)


@pytest.mark.parametrize("is_closed", [False, True], ids=["told", "to be found out"])
def test_of_several_versions_one_is_watched_for_as_long_as_it_is_served(is_closed: bool) -> None:
    """The first that the server has; who watches does not change to another while that is there."""
    kinds = (OptionalKind(Dataset, f"{NEW}/v1", "datasets", frozenset(), older=(f"{NEW}/v1alpha1",)),)

    async def story(api: FakeApiServer) -> None:
        api.serve(f"datasets.{NEW}", "Dataset")
        api.put(f"datasets.{NEW}", dataset("a"))
        if is_closed:
            api.answer("GET", f"/apis/{NEW}/v1(alpha1)?$", 403, "closed", times=20)
            api.answer("GET", f"/apis/{NEW}/v1/datasets", 404, "there is no such kind", times=20)
        async with watching(api, kinds) as stage:
            await api.until(lambda: stage.heard.words == [f"ADDED {NEW} a"])
            stage.clock.skip()
            await settle()
            api.put(f"datasets.{NEW}", dataset("b"))
            await api.until(lambda: stage.heard.words[1:] == [f"ADDED {NEW} b"])

    play(story)


def test_one_kind_of_a_group_may_be_missing() -> None:
    async def story(api: FakeApiServer) -> None:
        api.serve(f"datasets.{NEW}", "Dataset")
        api.put(f"datasets.{NEW}", dataset("a"))
        async with watching(api) as stage:
            api.serve(f"datasetsinternal.{NEW}", "DatasetInternal")
            api.put(f"datasetsinternal.{NEW}", dataset("a"))
            stage.clock.skip()
            await api.until(lambda: stage.heard.words == [f"ADDED {NEW} a"] * 2)

    play(story)


def test_a_server_that_shows_nobody_what_it_serves_is_asked_for_the_objects() -> None:
    async def story(api: FakeApiServer) -> None:
        api.answer("GET", r"^/apis/[^/]+/v1alpha1$", 403, "not for you", times=10**6)
        install(api, OLD)
        api.put(f"datasets.{OLD}", dataset("a"))
        async with watching(api) as stage:
            await api.until(lambda: stage.heard.words == [f"ADDED {OLD} a"])
            install(api, NEW)
            api.put(f"datasets.{NEW}", dataset("b"))
            stage.clock.skip()
            await api.until(lambda: stage.heard.words[1:] == [f"ADDED {NEW} b"])

    play(story)


def test_a_right_that_is_missing_is_an_error_only_where_a_plugin_reads() -> None:
    async def story(api: FakeApiServer) -> None:
        install(api, NEW)
        api.answer("GET", r"^/apis/datashim.io/v1alpha1/datasets", 403, "not for you", times=10**6)
        with pytest.raises(Forbidden, match=r"datasets\.datashim\.io"):
            async with watching(api):
                pass
        async with watching(api, RECORDED) as stage:
            assert len(stage.watch.objects()) == 1

    play(story)


def test_a_right_that_is_missing_for_what_does_not_exist_is_no_error() -> None:
    async def story(api: FakeApiServer) -> None:
        api.answer("GET", r"^/apis/datashim.io/v1alpha1/datasets", 403, "not for you", times=10**6)
        async with watching(api):
            assert not api.sent("GET", "datasets")

    play(story)


def test_a_discovery_that_fails_is_asked_again_and_ends_in_a_clear_problem() -> None:
    async def garbage(request: web.Request, go_on: object) -> web.StreamResponse:
        return web.Response(text="<html>")

    async def story(api: FakeApiServer) -> None:
        install(api, NEW)
        api.put(f"datasets.{NEW}", dataset("a"))
        api.answer("GET", r"^/apis/datashim.io/v1alpha1$", 503, "not yet", times=2)
        api.fault("GET", r"^/apis/datashim.io/v1alpha1$", garbage)
        async with watching(api) as stage:
            assert stage.heard.words == [f"ADDED {NEW} a"]
        api.answer("GET", r"^/apis/datashim.io/v1alpha1$", 500, "no idea", times=10**6)
        connection = await Connection.open(master=api.url)
        with pytest.raises(Unreachable, match=r"(?s)it answers 500 for /apis/datashim.io/v1alpha1.*no idea"):
            await read_objects(connection, QuickClock(), patience_seconds=0.5, optional=OPTIONAL)
        await connection.close()

    play(story)


def test_it_is_read_once_for_commands() -> None:
    async def story(api: FakeApiServer) -> None:
        install(api, OLD)
        for number in range(3):
            api.put(f"datasets.{OLD}", dataset(f"d{number}"))
        connection = await Connection.open(master=api.url)
        found = await read_objects(connection, QuickClock(), optional=OPTIONAL)
        await connection.close()
        assert [thing.metadata.name for thing in found if isinstance(thing, Dataset)] == ["d0", "d1", "d2"]

    play(story)


@pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed", "paged"])
def test_thousands_are_read_with_their_groups(streams_lists: bool) -> None:
    async def story(api: FakeApiServer) -> None:
        api.streams_lists = streams_lists
        for group in (OLD, NEW):
            install(api, group)
        for number in range(5000):
            api.put(f"datasets.{OLD if number % 2 else NEW}", dataset(f"d{number}"))
        async with watching(api) as stage:
            things = [thing for thing in stage.watch.objects() if isinstance(thing, Dataset)]
            groups = [thing.api_version.partition("/")[0] for thing in things]
            assert (groups.count(OLD), groups.count(NEW)) == (2500, 2500)
            assert len(stage.heard.words) == 5000

    play(story)


def test_kinds_that_nobody_reads_are_not_asked_for() -> None:
    async def story(api: FakeApiServer) -> None:
        install(api, NEW)
        async with watching(api, ()):
            assert not [path for _, path, _ in api.requests if NEW in path]

    play(story)
