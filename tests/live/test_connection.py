"""Connections: who we are, what is answered, what is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from fairway.live.api.clock import SystemClock
from fairway.live.api.connection import Connection, StreamError
from fairway.live.api.problems import BrokenKubeconfig, NoKubeconfig, Unauthorized, Unreachable, UnsupportedServer
from fairway.live.api.rate_limit import RateLimit
from tests.live.fake_api_server import FakeApiServer
from tests.live.served import write_kubeconfig
from tests.live.virtual_clock import VirtualClock


def play(story: Callable[[FakeApiServer], Awaitable[None]]) -> None:
    async def run() -> None:
        api = FakeApiServer()
        await api.start()
        try:
            await story(api)
        finally:
            await api.stop()

    asyncio.run(run())


def test_a_token_in_a_file_is_read_again_when_it_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"

    async def story(api: FakeApiServer) -> None:
        async def check(request: web.Request, go_on: object) -> web.StreamResponse | None:
            known = request.headers.get("Authorization") == "Bearer new"
            return None if known else web.Response(status=401)

        api.fault("GET", "/version", check, times=10**6)
        token.write_text("old")
        path = write_kubeconfig(tmp_path / "config", api.url, tokenFile=str(token))
        connection = await Connection.open(path)
        with pytest.raises(Unauthorized):
            await connection.check()
        token.write_text("new")
        assert await connection.check() == (1, 36)
        await connection.close()

    play(story)


def test_an_exec_plugin_gives_the_token(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    plugin.chmod(0o755)

    async def story(api: FakeApiServer) -> None:
        seen = []

        async def look(request: web.Request, go_on: object) -> web.StreamResponse | None:
            seen.append(request.headers.get("Authorization"))
            return None

        api.fault("GET", "/version", look)
        exec_plugin = {"command": str(plugin), "apiVersion": "client.authentication.k8s.io/v1"}
        connection = await Connection.open(write_kubeconfig(tmp_path / "config", api.url, exec=exec_plugin))
        await connection.check()
        await connection.close()
        assert seen == ["Bearer t"]

    play(story)


def test_every_status_is_an_answer_and_requests_are_counted() -> None:
    async def story(api: FakeApiServer) -> None:
        connection = await Connection.open(master=api.url)
        counted = []
        connection.on_request = lambda verb, host, code, seconds: counted.append((verb, code))
        api.answer("GET", "/api/v1/nodes/x", 418, "no tea", Retry_After="7")
        answer = await connection.request("GET", "/api/v1/nodes/x", query={"a": "b c"})
        assert (answer.status, answer.retry_after) == (418, 7.0)
        assert api.requests[-1][1] in ("/api/v1/nodes/x?a=b+c", "/api/v1/nodes/x?a=b%20c")
        assert counted == [("GET", 418)]
        await connection.close()

    play(story)


def test_no_answer_is_a_problem() -> None:
    async def story(api: FakeApiServer) -> None:
        async def hang(request: web.Request, go_on: object) -> web.StreamResponse | None:
            await asyncio.Event().wait()
            return None

        api.fault("GET", "/version", hang)
        connection = await Connection.open(master=api.url)
        with pytest.raises(Unreachable, match=r"no answer within 0\.1 seconds"):
            await connection.request("GET", "/version", timeout=0.1)
        await connection.close()
        nobody = await Connection.open(master="http://127.0.0.1:1")
        with pytest.raises(Unreachable):
            await nobody.check()
        await nobody.close()

    play(story)


def test_an_old_server_is_refused() -> None:
    async def story(api: FakeApiServer) -> None:
        async def old(request: web.Request, go_on: object) -> web.StreamResponse | None:
            return web.json_response({"major": "1", "minor": "21", "gitVersion": "v1.21.0"})

        api.fault("GET", "/version", old)
        connection = await Connection.open(master=api.url)
        with pytest.raises(UnsupportedServer, match=r"v1\.21\.0"):
            await connection.check()
        await connection.close()

    play(story)


def test_a_stream_that_is_refused_says_so() -> None:
    async def story(api: FakeApiServer) -> None:
        api.answer("GET", "/api/v1/pods", 403, "not you")
        connection = await Connection.open(master=api.url)
        with pytest.raises(StreamError, match="not you"):
            async for _ in connection.stream("/api/v1/pods", {"watch": "true"}):
                pass
        await connection.close()

    play(story)


BROKEN = {
    "not there": (None, NoKubeconfig, "no kubeconfig"),
    "not YAML": ("{", BrokenKubeconfig, "can not be used"),
    "another format": ("kind: Pod", BrokenKubeconfig, "can not be used"),
    "a failing plugin": ("exec", BrokenKubeconfig, "exec: sh returned 3"),
}


@pytest.mark.parametrize(("content", "problem", "words"), BROKEN.values(), ids=list(BROKEN))
def test_a_kubeconfig_that_does_not_work_is_named(
    tmp_path: Path, content: str | None, problem: type[Exception], words: str
) -> None:
    path = tmp_path / "config"
    if content == "exec":
        plugin = {"command": "sh", "args": ["-c", "exit 3"], "apiVersion": "client.authentication.k8s.io/v1"}
        write_kubeconfig(path, "https://127.0.0.1:1", exec=plugin)
    elif content is not None:
        path.write_text(content)

    async def run() -> None:
        await Connection.open(path)

    with pytest.raises(problem, match=words):
        asyncio.run(run())


def test_a_rate_limit_lets_a_burst_through_and_then_so_many_a_second() -> None:
    async def run() -> list[float]:
        clock = VirtualClock()
        limit = RateLimit(10, 3, clock)
        begun = clock.monotonic()
        times = []
        for _ in range(6):
            turn = asyncio.ensure_future(limit.turn())
            while not turn.done():
                await asyncio.sleep(0)
                if not turn.done():
                    await clock.advance(0.05)
            times.append(round(clock.monotonic() - begun, 2))
        return times

    times = asyncio.run(run())
    assert times[:3] == [0.0, 0.0, 0.0]
    assert times[3:] == [0.1, 0.2, 0.3]


def test_a_rate_limit_has_to_make_sense() -> None:
    with pytest.raises(ValueError, match="positive rate"):
        RateLimit(0, 3, SystemClock())
