"""`fairway run --extender`: a process that watches, answers, writes nothing, and ends when it is asked to."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from fairway.live.extender_process import AddressProblem, parse_address, run_extender
from fairway.live.process import RunOptions
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node, pod


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8888", ("0.0.0.0", 8888)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8888", ("::1", 8888)),
        ("host.example:1", ("host.example", 1)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8888", "host", "host:", "host:http", ":70000", ":-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(AddressProblem) as caught:
        parse_address(text)
    assert caught.value.exit_code == 2


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def ask(port: int, cpu: str) -> list[str]:
    """Which of the nodes a and b would do; asked again until somebody answers."""
    body = {"Pod": pod("asked", cpu), "NodeNames": ["a", "b"]}
    while True:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(f"http://127.0.0.1:{port}/filter", json=body) as answer,
            ):
                return list((await answer.json())["NodeNames"])
        except aiohttp.ClientConnectorError:
            continue


def test_process_follows_the_cluster_and_writes_nothing() -> None:
    async def story() -> None:
        api = FakeApiServer()
        await api.start()
        api.put("nodes", node("a", cpu="4"))
        api.put("nodes", node("b", cpu="2"))
        api.put("pods", pod("waiting", "4"))
        port, stop = free_port(), asyncio.Event()
        running = asyncio.ensure_future(run_extender(RunOptions(master=api.url), f"127.0.0.1:{port}", stop))
        async with asyncio.timeout(20):
            assert await ask(port, "3") == ["a"]
            api.put("pods", pod("running", "2", nodeName="a"))
            while await ask(port, "3"):
                pass  # until the watch has told
            assert await ask(port, "2") == ["a", "b"]
            stop.set()
            assert await running == 0
        assert {method for method, _, _ in api.requests} == {"GET"}
        await api.stop()

    asyncio.run(story())


def test_taken_port_is_a_clear_error() -> None:
    async def story() -> None:
        api = FakeApiServer()
        await api.start()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            async with asyncio.timeout(20):
                with pytest.raises(AddressProblem, match="in use"):
                    await run_extender(RunOptions(master=api.url), address)
        await api.stop()

    asyncio.run(story())
