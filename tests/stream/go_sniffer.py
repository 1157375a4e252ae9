"""A client and a server of the sniffer's protocol in Go, built once for all checkouts.

In: the Go module in `go/`, which has dependencies of its own. Out: the program, or a running server that keeps what it
is sent. For tests of both rooms that speak with programs of others: this one and `tests/kube`.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kube.build import build_once, cache_directory, digest

MODULE = Path(__file__).parent / "go"

Message = dict[str, str]


def go_sniffer() -> Path:
    """The program; the first time takes a minute."""
    name = digest([MODULE / "go.sum", MODULE / "main.go"])
    return build_once(cache_directory() / "sniffer" / name / "sniffer", ".", module=MODULE)


def send(address: str, messages: Iterable[Message]) -> None:
    """As a patched scheduler does: each over a connection of its own."""
    lines = "\n".join(map(json.dumps, messages))
    subprocess.run([go_sniffer(), "send", address], input=lines, text=True, check=True, timeout=120)


class GoServer:
    """What a running server was sent, in order of arrival."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._messages: list[Message] = []
        self._news = threading.Condition()

    def take(self, line: str) -> None:
        """One message more."""
        with self._news:
            self._messages.append(json.loads(line))
            self._news.notify_all()

    def wait_for(self, number: int, seconds: float = 60.0) -> list[Message]:
        """All messages, once there are so many."""
        with self._news:
            arrived = self._news.wait_for(lambda: len(self._messages) >= number, seconds)
            assert arrived, f"{len(self._messages)} of {number} messages came: {self._messages}"
            return list(self._messages)


@contextmanager
def go_server() -> Iterator[GoServer]:
    """A service of somebody else's."""
    process = subprocess.Popen([go_sniffer(), "serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    server = GoServer(process.stdout.readline().strip())

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            server.take(line)

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    try:
        yield server
    finally:
        process.kill()
        process.wait()
        reading.join(10)
        process.stdout.close()
