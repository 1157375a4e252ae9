"""Whoever stands in the door, a probe gets through it."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from aiohttp import web

from fairway.live.api.certificates import serving_context
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.serving.authorization import LoopbackAccess
from fairway.live.serving.front_door import DoorLimits, FrontDoor
from fairway.live.serving.health import checks_of
from fairway.live.serving.http_server import HttpServer
from tests.live.virtual_clock import VirtualClock, settle

HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"


class House(NamedTuple):
    """A server, and what happens around it."""

    port: int
    clock: VirtualClock
    released: asyncio.Event
    callers: list[Caller]
    slow: list[str]  # requests that wait to be released

    async def connect(self, data: bytes = b"") -> Caller:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.callers.append(Caller(reader, writer))
        writer.write(data)
        await writer.drain()
        return self.callers[-1]

    async def probe(self, path: str = "/livez") -> int:
        timeout = aiohttp.ClientTimeout(total=20)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"http://127.0.0.1:{self.port}{path}") as answer,
        ):
            return answer.status


class Caller(NamedTuple):
    """A connection of somebody's."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def was_sent_away(self) -> bool:
        """Once the server has had a chance to do so."""
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(self.reader.read(1), 5)
            return self.reader.at_eof()
        return True

    @property
    def is_inside(self) -> bool:
        return not self.reader.at_eof() and self.reader.exception() is None


@contextlib.asynccontextmanager
async def house(limits: DoorLimits) -> AsyncIterator[House]:
    clock, released = VirtualClock(), asyncio.Event()
    waiting: list[str] = []

    async def slow(request: web.BaseRequest) -> web.Response:
        waiting.append(request.path)
        await released.wait()
        return web.Response(text="done")

    server = HttpServer(
        checks_of(None, lambda: True, lambda: False),
        SchedulerMetrics(),
        LoopbackAccess(),
        routes={("GET", "/slow"): slow},
        clock=clock,
        limits=limits,
    )
    port = await server.start("127.0.0.1", 0, None)
    callers: list[Caller] = []
    try:
        yield House(port, clock, released, callers, waiting)
    finally:
        released.set()
        for caller in callers:
            caller.writer.close()
        await server.stop()


def test_a_head_that_does_not_end_is_not_waited_for() -> None:
    async def story() -> None:
        async with house(DoorLimits(head_seconds=10)) as home:
            slow, fast = await home.connect(HEAD), await home.connect(HEAD)
            await settle()
            fast.writer.write(b"\r\n")
            assert (await fast.reader.readline()).startswith(b"HTTP/1.1 200")
            await home.clock.advance(9)
            slow.writer.write(b"X-Slow: yes\r\n")
            await home.clock.advance(2)
            assert await slow.was_sent_away()
            assert fast.is_inside
            assert await home.probe() == 200

    asyncio.run(story())


def test_who_says_nothing_at_all_is_sent_away_as_soon() -> None:
    async def story() -> None:
        async with house(DoorLimits(head_seconds=10)) as home:
            silent = await home.connect()
            await settle()
            await home.clock.advance(12)
            assert await silent.was_sent_away()

    asyncio.run(story())


def test_idle_connections_end() -> None:
    async def story() -> None:
        async with house(DoorLimits(idle_seconds=30)) as home:
            caller = await home.connect(HEAD + b"\r\n")
            await caller.reader.readuntil(b"ok")
            await home.clock.advance(29)
            assert caller.is_inside
            await home.clock.advance(3)
            assert await caller.was_sent_away()

    asyncio.run(story())


def test_a_crowd_that_just_stands_there_makes_room_for_a_probe() -> None:
    async def story() -> None:
        async with house(DoorLimits(connections=20)) as home:
            crowd = [await home.connect(HEAD) for _ in range(100)]
            assert await home.probe() == 200
            assert await crowd[0].was_sent_away()
            assert sum(caller.is_inside for caller in crowd) <= 20

    asyncio.run(story())


def test_a_burst_of_connections_is_no_more_than_the_limit() -> None:
    async def story() -> None:
        server = FrontDoor(asyncio.Protocol, VirtualClock(), DoorLimits(connections=8, accepts_per_second=1000))
        port = await server.open("127.0.0.1", 0, None)
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as stack:
            callers = [stack.enter_context(socket.socket()) for _ in range(100)]
            for caller in callers:
                caller.setblocking(False)
            await asyncio.gather(*(loop.sock_connect(caller, ("127.0.0.1", port)) for caller in callers))
            async with asyncio.timeout(60):
                while server.num_turned_away < 92:
                    assert server.num_connections <= 8
                    await asyncio.sleep(0)
            assert 0 < server.num_connections <= 8
            await server.close()

    asyncio.run(story())


def test_who_is_being_served_is_not_sent_away_for_somebody_new() -> None:
    async def story() -> None:
        async with house(DoorLimits(connections=10)) as home:
            served = await home.connect(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await settle()
            crowd = [await home.connect() for _ in range(50)]
            home.released.set()
            assert (await asyncio.wait_for(served.reader.readline(), 5)).startswith(b"HTTP/1.1 200")
            assert crowd

    asyncio.run(story())


def test_only_so_many_requests_at_once_and_probes_do_not_count() -> None:
    async def story() -> None:
        async with house(DoorLimits(requests=3)) as home:
            waiting = [asyncio.create_task(home.probe("/slow")) for _ in range(3)]
            while len(home.slow) < 3:
                await settle()
            assert await home.probe("/slow") == 429
            assert await home.probe("/livez") == 200
            home.released.set()
            assert await asyncio.gather(*waiting) == [200] * 3
            assert await home.probe("/slow") == 200

    asyncio.run(story())


def test_a_request_that_takes_too_long_is_given_up() -> None:
    async def story() -> None:
        async with house(DoorLimits(request_seconds=0.1)) as home:
            assert await home.probe("/slow") == 504

    asyncio.run(story())


def test_only_so_many_are_accepted_a_second() -> None:
    async def story() -> None:
        async with house(DoorLimits(accepts_per_second=5)) as home:
            callers = [await home.connect(HEAD + b"\r\n") for _ in range(8)]
            first = [await caller.reader.readline() for caller in callers[:5]]
            assert all(line.startswith(b"HTTP/1.1 200") for line in first)
            await settle()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(callers[7].reader.readline(), 0.1)
            await home.clock.advance(1)
            assert (await callers[7].reader.readline()).startswith(b"HTTP/1.1 200")

    asyncio.run(story())


def test_a_handshake_that_does_not_come_is_not_waited_for() -> None:
    async def story() -> None:
        door = FrontDoor(asyncio.Protocol, VirtualClock(), DoorLimits(handshake_seconds=0.05))
        port = await door.open("127.0.0.1", 0, serving_context())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(1), 5) == b""
        writer.close()
        await door.close()

    asyncio.run(story())


def first_free_file() -> int:
    with Path("/dev/null").open("rb") as file:
        return file.fileno()


def test_running_out_of_files_is_told_now_and_then_and_got_over(caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def story() -> None:
        async with house(DoorLimits()) as home:
            with socket.socket() as caller:
                caller.setblocking(False)
                resource.setrlimit(resource.RLIMIT_NOFILE, (first_free_file(), hard))
                try:
                    await asyncio.get_running_loop().sock_connect(caller, ("127.0.0.1", home.port))
                    await home.clock.advance(5)
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                await home.clock.advance(1)
                assert await home.probe() == 200

    asyncio.run(story())
    assert len([record for record in caplog.records if "can not be accepted" in record.message]) == 1
