"""Two parts of Fairway beside libraries that do the same: answers of HTTP, and cron schedules.

    pip install httptools cronsim croniter
    python benchmarks/libraries.py

They are no dependencies, so they are installed by hand, and one that is not there is left out. ADRs 9 and 10 say what
came of it.
"""

from __future__ import annotations

import datetime as dt
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from fairway.live.api.answer_reader import AnswerReader
from fairway.model.cron import parse_schedule

ANSWER = (
    b"HTTP/1.1 201 Created\r\nAudit-Id: 7d2f3c1a-1f2b-4a5c-9d8e-0123456789ab\r\nCache-Control: no-cache, private\r\n"
    b"Content-Type: application/json\r\nX-Kubernetes-Pf-Flowschema-Uid: 3a0c6b0e-1f2b-4a5c-9d8e-0123456789ab\r\n"
    b"X-Kubernetes-Pf-Prioritylevel-Uid: 5f7e4f3d-1f2b-4a5c-9d8e-0123456789ab\r\n"
    b"Date: Mon, 01 Jan 2035 00:00:00 GMT\r\nContent-Length: 43\r\n\r\n"
    b'{"kind":"Status","status":"Success","c":201'
)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"1000\r\n" + b"x" * 4096 + b"\r\n" for _ in range(16))
    + b"0\r\n\r\n"
)
SCHEDULES = ("*/5 * * * *", "0 3 * * *", "30 4 1,15 * 5", "0 0 29 2 *", "15 10 * jan-jun mon-fri", "@hourly")
START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


class Answer:
    """What httptools calls while it reads; it keeps the same as our reader does."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.is_whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self.headers[name.decode().title()] = value.decode()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self.parts.append(body)

    def on_message_complete(self) -> None:
        """All of it is there."""
        self.is_whole = True


def microseconds(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """What a call takes, the fastest of five rounds."""
    call()
    fastest = float("inf")
    for _ in range(5):
        count, begun = 0, time.perf_counter()
        while (taken := time.perf_counter() - begun) < seconds / 5:
            for _ in range(20):
                call()
            count += 20
        fastest = min(fastest, taken / count)
    return fastest * 1e6


def library(name: str) -> Any:
    """A library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed")
        return None


def answers() -> None:
    """Short answers to bindings, and a long one in chunks."""
    httptools = library("httptools")
    for title, data in (("an answer to a binding", ANSWER), ("64 KiB in chunks", CHUNKED)):

        def ours(data: bytes = data) -> bytes:
            received = AnswerReader().feed(data)
            assert received is not None
            return received.body

        def theirs(data: bytes = data) -> bytes:
            answer = Answer()
            httptools.HttpResponseParser(answer).feed_data(data)
            assert answer.is_whole
            return b"".join(answer.parts)

        line = f"{title:24} ours {microseconds(ours):7.1f} us"
        if httptools is not None:
            assert ours() == theirs()
            line += f"   httptools {microseconds(theirs):7.1f} us"
        print(line)


def schedules() -> None:
    """The next hundred times of each schedule, from one to the next."""
    cronsim, croniter = library("cronsim"), library("croniter")
    for text in SCHEDULES:
        schedule = parse_schedule(text)

        def ours(schedule: Any = schedule) -> list[dt.datetime]:
            found, moment = [], START
            for _ in range(100):
                coming = schedule.next_after(moment)
                if coming is None:
                    break
                moment = coming
                found.append(moment)
            return found

        def by_cronsim(text: str = text) -> list[dt.datetime]:
            times = cronsim.CronSim(text, START)
            return [next(times) for _ in range(100)]

        def by_croniter(text: str = text) -> list[dt.datetime]:
            times = croniter.croniter(text, START)
            return [times.get_next(dt.datetime) for _ in range(100)]

        line = f"{text:24} ours {microseconds(ours) / 100:7.2f} us"
        for name, there, way in (("cronsim", cronsim, by_cronsim), ("croniter", croniter, by_croniter)):
            if there is None:
                continue
            try:
                differing = sum(a != b for a, b in zip(ours(), way(), strict=False))
                line += f"   {name} {microseconds(way) / 100:7.2f} us, {differing} of {len(ours())} differ"
            except Exception as error:  # noqa: BLE001 - each library has its own
                line += f"   {name}: {type(error).__name__} {error}"
        print(line)


if __name__ == "__main__":
    answers()
    schedules()
