"""`fairway run --extender`: a process that watches, answers, writes nothing, and ends when it is asked to."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest

from fairway.live.api.certificates import self_signed
from fairway.live.extender_service.process import AddressProblem, UnusableFile, callers_of, parse_address, run_extender
from fairway.live.extender_service.server import Callers
from fairway.live.process import RunOptions
from tests.kube.processes import free_port
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node, pod


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8888", ("127.0.0.1", 8888)),
        ("0.0.0.0:8888", ("0.0.0.0", 8888)),
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
        async with asyncio.timeout(60):
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
            async with asyncio.timeout(60):
                with pytest.raises(AddressProblem, match="in use"):
                    await run_extender(RunOptions(master=api.url), address)
        await api.stop()

    asyncio.run(story())


CERTIFICATE, KEY = self_signed()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "scheduler.example"])
def test_others_than_this_machine_are_not_answered_without_being_known(host: str) -> None:
    with pytest.raises(AddressProblem, match="--client-ca-file"):
        callers_of(RunOptions(), host)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_programs_of_this_machine_are(host: str) -> None:
    assert callers_of(RunOptions(), host) == Callers(None, "")


def test_others_show_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(CERTIFICATE)
    callers = callers_of(RunOptions(client_ca_file=str(tmp_path / "ca.crt")), "0.0.0.0")
    assert callers.tls is not None
    assert callers.tls.verify_mode is ssl.CERT_REQUIRED


def test_or_send_a_token_over_tls(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-that-is-long\n")
    callers = callers_of(RunOptions(token_file=str(tmp_path / "token")), "0.0.0.0")
    assert callers.tls is not None
    assert callers.token == "a-token-that-is-long"


@pytest.mark.parametrize(
    "content", [None, b"", b"short", b"\xff\xfe" * 20], ids=["missing", "empty", "short", "binary"]
)
def test_an_unusable_token_is_said(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnusableFile, match="--token-file"):
        callers_of(RunOptions(token_file=str(path)), "127.0.0.1")


def test_an_unusable_authority_is_said(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("nothing")
    with pytest.raises(UnusableFile, match="--client-ca-file"):
        callers_of(RunOptions(client_ca_file=str(tmp_path / "ca.crt")), "0.0.0.0")
