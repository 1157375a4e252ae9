"""How much the server does at once: crowds, those who leave, those who do not read."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from fairway.web.page_error import PageError
from fairway.web.questions import WhyQuestion
from fairway.web.server import PageLimits, PageServer
from fairway.web.sources import open_sources
from fairway.web.why_desk import MOST_WAITING, WhyDesk
from tests.explain.run_files import busy_run
from tests.web.served import Served

CROWD = 1000


def why(name: str, attempt: int | None = None) -> WhyQuestion:
    return WhyQuestion(run="busy", namespace="default", name=name, attempt=attempt)


async def until(holds: Callable[[], bool]) -> None:
    """Let the others go on until it does."""
    while True:
        if holds():
            return
        await asyncio.sleep(0)


async def one_of_a_crowd(port: int, token: str) -> int:
    """The status; 0 if the door was shut."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            asked = f"GET /fairway/api/v1/runs/busy/pods HTTP/1.1\r\nHost: localhost:{port}\r\n"
            writer.write(f"{asked}Authorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
        finally:
            writer.close()
    except OSError:
        return 0
    return int(answer.split(b" ")[1]) if answer else 0


def test_a_thousand_at_once_are_answered_or_told_to_come_later(api: Served) -> None:
    async def crowd() -> list[int]:
        return list(await asyncio.gather(*(one_of_a_crowd(api.port, api.token) for _ in range(CROWD))))

    found = asyncio.run(crowd())
    assert set(found) <= {0, 200, 429}
    assert found.count(200) >= 64
    assert api.ask("/runs").status == 200


def test_questions_why_are_asked_of_processes_and_kept(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def ask() -> None:
        desk, source = WhyDesk(), sources.find("busy")
        try:
            first = await asyncio.gather(*(desk.answer(source, why("never-huge-0", attempt)) for attempt in (1, 2, 3)))
            assert len({bytes(answer) for answer in first}) == 3
            assert 1 <= desk.num_workers <= 2
            await desk.close()
            assert desk.num_workers == 0
            assert await desk.answer(source, why("never-huge-0", 2)) == first[1]
            assert desk.num_workers == 0, "it was kept, nobody was asked"
        finally:
            await desk.close()

    asyncio.run(ask())
    sources.close()


def test_whoever_leaves_ends_the_work_and_the_next_is_answered(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def ask() -> None:
        desk, source = WhyDesk(), sources.find("busy")
        try:
            leaving = asyncio.create_task(desk.answer(source, why("never-huge-0")))
            await until(lambda: desk.num_workers > 0)
            (worker,) = desk.busy
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            assert worker.returncode is not None
            assert desk.num_workers == 0
            assert b'"never-huge-0"' not in await desk.answer(source, why("low-s-1"))
        finally:
            await desk.close()

    asyncio.run(ask())
    sources.close()


def test_a_process_that_ends_by_itself_is_told_and_replaced(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def ask() -> None:
        desk, source = WhyDesk(), sources.find("busy")
        try:
            asking = asyncio.create_task(desk.answer(source, why("never-huge-0")))
            await until(lambda: desk.num_workers > 0)
            (worker,) = desk.busy
            worker.kill()
            with pytest.raises(PageError) as caught:
                await asking
            assert (caught.value.status, caught.value.hint) == (503, "ask again")
            assert await desk.answer(source, why("never-huge-0"))
        finally:
            await desk.close()

    asyncio.run(ask())
    sources.close()


def test_too_many_questions_why_are_turned_away(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def ask() -> None:
        desk, source = WhyDesk(), sources.find("busy")
        tasks = [asyncio.create_task(desk.answer(source, why("never-huge-0", n))) for n in range(MOST_WAITING + 3)]
        await until(lambda: sum(task.done() for task in tasks) == 3)
        told = [task.exception() for task in tasks if task.done()]
        assert [error.status for error in told if isinstance(error, PageError)] == [429] * 3
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await desk.close()
        assert desk.num_workers == 0

    asyncio.run(ask())
    sources.close()


def test_a_server_listens_on_this_machine_only_and_a_taken_port_is_told(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def serve() -> None:
        first, second = PageServer(sources, "token"), PageServer(sources, "token")
        port = await first.start()
        assert {host for host, _ in first.addresses} <= {"127.0.0.1", "::1"}
        with pytest.raises(OSError, match="in use"):
            await second.start(port)
        await first.stop()
        assert await second.start(port) == port
        await second.stop()

    asyncio.run(serve())
    sources.close()


def head(port: int, path: str) -> bytes:
    return (
        f"GET /fairway/api/v1{path} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer token\r\n\r\n".encode()
    )


async def answered(port: int, path: str) -> bytes:
    """Everything up to the end of the first answer's head, and what came with it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(port, path))
    text = await reader.readuntil(b"}")
    writer.close()
    await writer.wait_closed()
    return text


def test_who_does_not_read_is_cut_off(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def serve() -> None:
        server = PageServer(sources, "token", limits=PageLimits(reader_seconds=0.3))
        port = await server.start()
        deaf = socket.socket()
        try:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, ("127.0.0.1", port))
            await loop.sock_sendall(deaf, head(port, "/openapi.json") * 200)  # 13 MB of answers, and no buffer has that
            await until(lambda: server.num_connections == 1)
            await until(lambda: server.num_connections == 0)
            assert (await answered(port, "/runs")).startswith(b"HTTP/1.1 200")
        finally:
            deaf.close()
            await server.stop()

    asyncio.run(asyncio.wait_for(serve(), 60))
    sources.close()


def test_answers_that_are_too_large_and_too_slow_are_told(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def serve(limits: PageLimits, path: str) -> bytes:
        server = PageServer(sources, "token", limits=limits)
        port = await server.start()
        try:
            return await answered(port, path)
        finally:
            await server.stop()

    large = asyncio.run(serve(PageLimits(answer_bytes=1000), "/runs/busy/pods"))
    assert large.startswith(b"HTTP/1.1 400")
    assert b'"code":"too_large"' in large
    slow = asyncio.run(serve(PageLimits(question_seconds=0.05), "/runs/busy/why/default/never-huge-0"))
    assert slow.startswith(b"HTTP/1.1 503")
    assert b'"code":"too_slow"' in slow
    sources.close()


def test_a_server_that_is_stopped_waits_for_nobody_long(tmp_path: Path) -> None:
    sources = open_sources([busy_run(tmp_path)])

    async def serve() -> bytes:
        server = PageServer(sources, "token")
        port = await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head(port, "/runs/busy/why/default/never-huge-0"))
        await until(lambda: server.num_questions_why > 0)
        await server.stop()
        text = await reader.read()
        writer.close()
        return text

    text = asyncio.run(asyncio.wait_for(serve(), 30))
    assert text == b"" or text.startswith(b"HTTP/1.1 503")
    sources.close()
