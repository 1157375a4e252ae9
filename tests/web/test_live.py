"""A scheduler at work answers as the run does that is recorded of it; each answer is about one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from fairway.stream.told import Event
from fairway.stream.watch_client import CannotWatchError, StreamAddress
from fairway.stream.watching import Gap
from fairway.web.live.live_history import LiveHistory
from fairway.web.live.live_sources import LIVE, LiveSources
from fairway.web.live.stream_feed import StreamFeed
from fairway.web.openapi import openapi_document
from fairway.web.questions import WhyQuestion
from tests.web.live_streams import END, StillClock, ask_nobody, fed, told_run
from tests.web.served import Served, at, schema_problems, served, served_sources

CURVES = ("utilisation", "waiting", "queue", "nodes-used", "decisions", "refusals")
QUESTIONS = [
    *(at("curves", what, points=24) for what in CURVES),
    at("nodes", at=600, order="label:topology.kubernetes.io/zone"),
    at("heat", "cpu", 2, 0, 0, 0),
    at("heat", "pods", 0, 0, 2, 0, stat="max"),
    at("heat", "cpu", "cell", time=600, node=2, z=3, k=0),
    at("heat", "memory", "rows", count=5),
    at("lanes", node=["n-0", "n-3"]),
    at("pods", sort="-wait"),
    at("pods", state="waiting"),
    at("pods", "default", "never-huge-0"),
    at("pods", "default", "low-s-1"),
    at("decisions", limit=1000),
    at("decisions", **{"refused-by": "NodeResourcesFit"}),
    at("decisions", 3),
    at("queue"),
    at("queue", at=300),
    at("waiting", at=900),
    at("search", text="high"),
    at("waits"),
]  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Event]]:
    return told_run(tmp_path_factory.mktemp("told"))


@pytest.fixture(scope="module")
def both(told: tuple[str, list[Event]]) -> Iterator[tuple[Served, Served]]:
    with served([told[0]]) as recorded, served_sources(fed(told[1], StillClock())) as live:
        yield recorded, live


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_answers_as_of_the_recorded_run(both: tuple[Served, Served], question: str) -> None:
    recorded, live = (server.ask(f"/runs/live{question}") for server in both)
    assert (recorded.status, live.status) == (200, 200), (recorded.body, live.body)
    assert live.body == recorded.body


def test_what_it_is(both: tuple[Served, Served]) -> None:
    answer = both[1].ask("/runs").json
    (known,) = answer["runs"]
    assert (known["id"], known["state"], known["name"]) == (LIVE, "live", "https://scheduler:10259")
    assert (known["begin"], known["end"], known["pods"]) == (0.0, END, 69)
    schemas = openapi_document()["components"]["schemas"]
    assert schema_problems(answer, schemas["RunsAnswer"], schemas) == []


def test_tiles_of_the_present_are_not_kept_by_browsers(both: tuple[Served, Served]) -> None:
    version = both[1].sources.find(LIVE).version
    tile = both[1].ask(at("runs", LIVE, "heat", "cpu", 2, 0, 0, 0, v=version))
    assert (tile.status, tile.headers["Cache-Control"]) == (200, "no-store")


def pods(server: Served) -> int:
    return int(server.ask("/runs/live/pods?limit=1").json["total"])


def test_how_it_stands_is_made_anew_when_it_is_a_second_old_and_never_while_somebody_reads(
    told: tuple[str, list[Event]],
) -> None:
    clock, events = StillClock(), told[1]
    sources = fed(events[:50], clock, None)
    history = sources.history
    with served_sources(sources) as live:
        before, first = pods(live), sources.find(LIVE)
        history.take("abc", None, None, events[50:])
        assert pods(live) == before, "it is not a second old"
        with sources.reading():
            clock.time += 2.0
            assert pods(live) == before, "somebody reads"
            clock.time += 10.0
            found: list[int] = []
            late = threading.Thread(target=lambda: found.append(pods(live)))
            late.start()
            late.join(0.2)
            assert not found, "it is too old, so whoever comes waits"
            assert sources.find(LIVE) is first
        late.join(60)
        assert found == [69]
        assert sources.find(LIVE).end >= first.end


def test_what_waits_is_written_though_nobody_asks(told: tuple[str, list[Event]]) -> None:
    sources, most = fed([], StillClock(), None, most_waiting=50), 0
    for event in told[1]:
        sources.history.take("abc", None, None, [event])
        most = max(most, sources.history.num_waiting_rows)
        sources.keep_up()
        assert sources.history.num_waiting_rows < 50
    assert 50 <= most < 100


def test_gaps_and_trouble_are_told(told: tuple[str, list[Event]]) -> None:
    clock, events = StillClock(), told[1]
    history = LiveHistory("https://scheduler:10259", 1e9, clock)
    history.take("abc", None, None, events[:100])
    history.take("abc", None, Gap(7, 101, 107, "slow reader"), events[107:110])
    history.trouble = "UNAVAILABLE: nobody is there"
    clock.time += 12.0
    sources = LiveSources(history, clock, ask_nobody)
    with served_sources(sources) as live:
        (known,) = live.ask("/runs").json["runs"]
    silent, gap = known["notes"]
    assert silent == "nothing was heard for 12 s: UNAVAILABLE: nobody is there"
    assert gap.startswith("7 events are missing between ")
    assert gap.endswith(": slow reader")


def test_gaps_may_come_while_they_are_told() -> None:
    history, is_over = LiveHistory("https://scheduler:10259", 1e9, StillClock()), threading.Event()

    def lose() -> None:
        for number in range(20_000):
            history.take("abc", None, Gap(1, number, number, "slow reader"), ())
        is_over.set()

    losing = threading.Thread(target=lose)
    losing.start()
    while not is_over.is_set():
        assert len(history.notes()) <= 100
    losing.join()


def test_what_can_not_be_taken_in_is_told_and_not_the_end() -> None:
    """Whatever goes wrong in the thread that follows, somebody hears of it."""

    def place() -> StreamAddress:
        raise OSError("no room for a certificate")

    feed = StreamFeed(fed([], StillClock()), place)
    feed.start()
    with pytest.raises(CannotWatchError, match="OSError: no room for a certificate"):
        feed.wait()
    feed.stop()


def test_only_the_present_is_explained_and_by_the_scheduler(told: tuple[str, list[Event]]) -> None:
    asked: list[WhyQuestion] = []

    async def ask(question: WhyQuestion) -> dict[str, Any]:
        asked.append(question)
        return {"pod": f"{question.namespace}/{question.name}", "result": "unschedulable"}

    clock = StillClock()
    sources = LiveSources(fed(told[1], clock).history, clock, ask)
    with served_sources(sources) as live:
        answer = live.ask("/runs/live/why/default/never-huge-0?node=n-1").json
        past = live.ask("/runs/live/why/default/never-huge-0?attempt=1")
        other = live.ask("/runs/live/why/default/nobody")
        nowhere = live.ask("/runs/live/why/default/never-huge-0?node=n-99")
    assert (answer["run"], answer["result"], answer["atSeconds"]) == (LIVE, "unschedulable", END)
    assert answer["story"]["pod"] == "default/never-huge-0"
    assert [question.node for question in asked] == ["n-1"]
    assert (past.status, past.code) == (404, "not_recorded")
    assert (other.status, other.code) == (404, "no_such_pod")
    assert (nowhere.status, nowhere.code) == (404, "no_such_node")


def test_a_mistake_of_the_server_is_told_as_every_failure_is_and_logged(
    told: tuple[str, list[Event]], caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(question: WhyQuestion) -> dict[str, Any]:
        return {question.namespace: object()}  # nothing that JSON could hold

    sources = LiveSources(fed(told[1], StillClock()).history, StillClock(), ask)
    with served_sources(sources) as live:
        reply = live.ask("/runs/live/why/default/never-huge-0")
        assert live.ask("/runs").status == 200
    assert (reply.status, reply.code) == (500, "failed")
    assert "a question was not answered" in caplog.text
    assert live.token not in caplog.text
