"""The short way over the wire: what is read, what is kept, what is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairway.live.api.clock import SystemClock
from fairway.live.api.exchange_pool import ExchangePool, Received
from tests.live.virtual_clock import VirtualClock

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nretry-after: 7\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"


class Server:
    """Answers each request with the next piece of a script; b"" closes the connection."""

    def __init__(self, *answers: bytes, piecemeal: bool = False) -> None:
        self.answers = list(answers)
        self.piecemeal = piecemeal
        self.requests: list[bytes] = []
        self.num_connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.num_connections += 1
        try:
            while True:
                self.requests.append(await reader.readuntil(b"END"))
                answer = self.answers.pop(0)
                if not answer:
                    break
                for piece in [answer[at : at + 1] for at in range(len(answer))] if self.piecemeal else [answer]:
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def play(server: Server, story: Callable[[ExchangePool], Awaitable[None]], clock: VirtualClock | None = None) -> None:
    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        pool = ExchangePool(f"http://127.0.0.1:{port}", clock or SystemClock())
        try:
            await story(pool)
        finally:
            pool.close()
            listening.close()
            await asyncio.sleep(0)

    asyncio.run(run())


async def ask(pool: ExchangePool, seconds: float = 5.0) -> Received:
    return await pool.send(b"END", None, None, seconds)


ANSWERS = {
    "with a length": (OK, (200, b"hi")),
    "in chunks": (CHUNKED, (201, b"abcde")),
    "without a body": (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
    "after a hint": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, (200, b"hi")),
}


@pytest.mark.parametrize("piecemeal", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=list(ANSWERS))
def test_an_answer_is_read(answer: bytes, expected: tuple[int, bytes], piecemeal: bool) -> None:
    server = Server(answer, answer, piecemeal=piecemeal)

    async def story(pool: ExchangePool) -> None:
        for _ in range(2):
            received = await ask(pool)
            assert (received.status, received.body) == expected
        if answer is OK:
            assert received.headers["Retry-After"] == "7"

    play(server, story)
    assert server.num_connections == 1


def test_connections_are_as_many_as_requests_at_a_time() -> None:
    server = Server(*[OK] * 12)

    async def story(pool: ExchangePool) -> None:
        await asyncio.gather(*(ask(pool) for _ in range(4)))
        await asyncio.gather(*(ask(pool) for _ in range(4)))
        await asyncio.gather(*(ask(pool) for _ in range(4)))

    play(server, story)
    assert server.num_connections == 4


def test_a_connection_that_was_idle_for_long_is_not_trusted() -> None:
    server, clock = Server(OK, OK), VirtualClock()

    async def story(pool: ExchangePool) -> None:
        await ask(pool)
        clock.jump(60)
        await ask(pool)

    play(server, story, clock)
    assert server.num_connections == 2


FAILURES = {
    "closed": (b"", ConnectionError),
    "cut short": (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", TimeoutError),
    "something else": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", ConnectionError),
    "of no length": (b"HTTP/1.1 200 OK\r\n\r\n", ConnectionError),
    "a bad length": (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", ConnectionError),
}


@pytest.mark.parametrize(("answer", "problem"), FAILURES.values(), ids=list(FAILURES))
def test_a_connection_that_failed_is_not_used_again(answer: bytes, problem: type[Exception]) -> None:
    server = Server(answer, OK)

    async def story(pool: ExchangePool) -> None:
        with pytest.raises(problem):
            await ask(pool, 0.3)
        assert (await ask(pool)).body == b"hi"

    play(server, story)
    assert server.num_connections == 2


def test_a_server_that_says_close_is_believed() -> None:
    server = Server(OK.replace(b"retry-after: 7", b"Connection: close"), OK)

    async def story(pool: ExchangePool) -> None:
        await ask(pool)
        await ask(pool)

    play(server, story)
    assert server.num_connections == 2


def test_nobody_there_is_an_error() -> None:
    async def run() -> None:
        pool = ExchangePool("http://127.0.0.1:1", SystemClock())
        with pytest.raises(OSError, match="Connect call failed"):
            await ask(pool)

    asyncio.run(run())
