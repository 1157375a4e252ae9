"""What pages are told: everything once, whatever breaks off in between; what is missing is counted, once."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.stream.ring import Ring
from fairway.stream.told import Attempt, Event, PodRef
from fairway.stream.watching import Gap
from fairway.web.live.live_history import LiveHistory
from fairway.web.live.live_sources import LiveSources
from fairway.web.live.told_pages import MOST_ROWS, PageMessage, PageReader
from fairway.web.openapi import BASE
from fairway.web.server import PageLimits, PageServer
from tests.web.live_streams import StillClock, fed, told_run
from tests.web.served import Served, served_sources
from tests.web.test_limits import until as wait_for


def attempt(number: int) -> Event:
    ref = PodRef("default", f"pod-{number % 7}", f"uid-{number % 7}")
    return Event(float(number), Attempt(ref, "s", number, "unschedulable", num_nodes=3))


def history_of(most_events: int = 1 << 12) -> LiveHistory:
    return LiveHistory("https://scheduler:10259", 1e9, StillClock(), ring=Ring(most_events))


def attempts_of(messages: Sequence[PageMessage]) -> list[int]:
    return [number for one in messages if one.name == "decisions" for number in one.data["columns"]["attempt"]]


def lost_in(messages: Sequence[PageMessage]) -> list[int]:
    return [one.data["lost"] for one in messages if one.name == "gap"]


STEPS = st.lists(st.tuples(st.sampled_from(["tell", "read", "resume"]), st.integers(1, 90)), max_size=40)


@settings(deadline=None, max_examples=60)
@given(steps=STEPS, most_events=st.sampled_from([64, 4096]))
def test_what_is_read_and_what_is_lost_is_everything_once(steps: list[tuple[str, int]], most_events: int) -> None:
    history = history_of(most_events)
    reader, token = PageReader(history), ""
    read: list[int] = []
    told = num_lost = num_more = expected_gaps = num_gaps = 0
    unread = 0  # since the last reading, as a page that keeps no words would count them
    for what, number in [*steps, ("read", 1)]:
        if what == "tell":
            history.take("abc", None, None, [attempt(told + place) for place in range(number)])
            told, unread = told + number, unread + number
        elif what == "resume" and token:
            reader = PageReader(history, after=token)
        else:
            messages = reader.read()
            expected_gaps += unread > most_events
            unread = 0
            found, gaps = attempts_of(messages), lost_in(messages)
            num_gaps, num_lost = num_gaps + len(gaps), num_lost + sum(gaps)
            num_more += sum(one.data["more"] for one in messages if one.name == "decisions")
            read += found
            token = reader.token or token
    assert read == sorted(set(read)), "in order, none twice"
    assert len(read) + num_more + num_lost == told
    assert num_gaps == expected_gaps, "one for each time it was overtaken"


def test_a_long_silence_is_cut_to_the_latest_rows_and_says_how_many_more_there_were() -> None:
    history = history_of()
    reader = PageReader(history)
    history.take("abc", None, None, [attempt(number) for number in range(1000)])
    (message,) = reader.read()
    assert (message.name, message.data["num_rows"], message.data["more"]) == ("decisions", MOST_ROWS, 1000 - MOST_ROWS)
    assert message.data["columns"]["attempt"] == list(range(1000 - MOST_ROWS, 1000))
    assert reader.read() == []


def test_what_was_lost_on_the_way_here_is_told_in_its_place_and_after_a_resume_not_again() -> None:
    history = history_of()
    reader = PageReader(history)
    history.take("abc", None, None, [attempt(1)])
    first = reader.read()[-1].token
    history.take("abc", None, Gap(7, 2, 8, "slow reader"), [attempt(9), attempt(10)])
    gap, rows = reader.read()
    assert (gap.name, gap.data) == ("gap", {"lost": 7, "from": 1.0, "to": 9.0, "why": "slow reader"})
    assert attempts_of([rows]) == [9, 10]
    assert PageReader(history, after=rows.token).read() == []
    again = PageReader(history, after=first).read()
    assert (lost_in(again), attempts_of(again)) == ([7], [9, 10])


def test_another_history_knows_nothing_of_a_word_and_says_so_once() -> None:
    before, history = history_of(), history_of()
    for one in (before, history):
        one.take("abc", None, None, [attempt(number) for number in range(5)])
    reader = PageReader(history, after=PageReader(before).token)
    assert lost_in(reader.read()) == []
    history.take("abc", None, None, [attempt(6)])
    assert attempts_of(reader.read()) == [6]


def test_pods_that_are_watched_are_told_of_with_everything(tmp_path: Path) -> None:
    events = told_run(tmp_path)[1]
    history = history_of(1 << 16)
    reader = PageReader(history, ["default/low-s-1"])
    history.take("abc", None, None, events)
    told = [one.data for one in reader.read() if one.name == "pod"]
    expected = [event for event in events if getattr(getattr(event.what, "pod", None), "name", "") == "low-s-1"]
    assert [one["time"] for one in told] == [event.time_seconds for event in expected]
    assert {one["what"]["kind"] for one in told} >= {"pod", "attempt", "bound", "unbound", "queue"}


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@contextmanager
def stream(live: Served, query: str = "") -> Iterator[Iterator[tuple[str, str, Any]]]:
    """Messages as they come: name, id and data."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    try:
        connection.request("GET", f"{BASE}/stream{query}", headers={"Authorization": f"Bearer {live.token}"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        assert answer.headers["Cache-Control"] == "no-store"

        def messages() -> Iterator[tuple[str, str, Any]]:
            fields: dict[str, str] = {}
            while True:
                line = answer.readline().decode().rstrip("\n")
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
                    fields = {}

        yield messages()
    finally:
        connection.close()


def until(messages: Iterator[tuple[str, str, Any]], name: str) -> tuple[str, Any]:
    return next((token, data) for told, token, data in messages if told == name)


@pytest.fixture
def sources(tmp_path: Path) -> LiveSources:
    return fed(told_run(tmp_path)[1], StillClock())


def test_a_page_is_greeted_told_how_it_stands_and_goes_on_where_it_was(sources: LiveSources) -> None:
    history = sources.history
    with served_sources(sources) as live:
        with stream(live) as messages:
            token, hello = until(messages, "hello")
            assert (hello["now"], hello["kept_from"], hello["sequence"]) == (1800.0, 0.0, token)
            _, tick = until(messages, "tick")
            assert sum(tick["queue"].values()) == live.ask("/runs/live/queue").json["total"] > 0
            (known,) = live.ask("/runs").json["runs"]
            assert tick["placed"] + tick["failed"] == known["decisions"]
            nodes = live.ask("/runs/live/nodes?resource=cpu").json["columns"]
            held = sum(amounts["cpu"] for amounts in nodes["held"])
            assert tick["utilisation"]["cpu"] == pytest.approx(held / sum(one["cpu"] for one in nodes["allocatable"]))
            history.take("abc", None, None, [attempt(2000)])
            token, rows = until(messages, "decisions")
            assert rows["columns"]["attempt"] == [2000]
        history.take("abc", None, None, [attempt(2001)])
        with stream(live, f"?after={token}&pod=default/pod-6") as messages:
            assert until(messages, "pod")[1]["what"]["attempt"] == 2001
            assert until(messages, "decisions")[1]["columns"]["attempt"] == [2001]


def test_four_streams_a_user_and_the_place_of_one_that_left_is_free(sources: LiveSources) -> None:
    with served_sources(sources) as live:
        with stream(live) as one, stream(live) as two, stream(live) as three:
            with stream(live) as four:
                for messages in (one, two, three, four):
                    until(messages, "hello")
                refused = live.ask("/stream")
                assert (refused.status, refused.code) == (429, "too_many_streams")
            while live.ask("/stream?after=nonsense").status == 429:
                until(one, "tick")
        wrong = live.ask("/stream?after=nonsense")
        assert (wrong.status, wrong.code) == (400, "bad_parameter")


def test_who_takes_nothing_is_cut_off(sources: LiveSources) -> None:
    async def serve() -> None:
        server = PageServer(sources, "token", limits=PageLimits(reader_seconds=0.3))
        port = await server.start()
        deaf = socket.socket()
        try:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(deaf, ("127.0.0.1", port))
            head = f"GET {BASE}/stream HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer token\r\n\r\n"
            await loop.sock_sendall(deaf, head.encode())
            number = 0
            await wait_for(lambda: server.num_connections == 1)
            while server.num_connections:
                long = "x" * 50_000
                event = Event(2000.0 + number, Attempt(PodRef("default", long, "u"), "s", number, "unschedulable"))
                sources.history.take("abc", None, None, [event] * 20)
                number += 1
                await asyncio.sleep(0.05)
        finally:
            deaf.close()
            await server.stop()

    asyncio.run(asyncio.wait_for(serve(), 60))
    sources.close()
