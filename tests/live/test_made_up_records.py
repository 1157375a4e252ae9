"""Jobs of which nothing is written down when a scheduler begins: who came while nobody looked, or lost its record."""

from __future__ import annotations

import datetime as dt
import math

import msgspec

from fairway.model import Pod
from fairway.testing import pod
from tests.live.desk_room import DeskRoom


def made(name: str, seconds: float, node: str = "") -> Pod:
    said = {"fairway.dev/time-limit": "1000s"}
    there = pod(name, cpu=4, labels={"fairway.dev/queue": "q"}, annotations=said, node=node)
    created = dt.datetime.fromtimestamp(seconds, dt.UTC)
    meta = msgspec.structs.replace(there.metadata, creation_timestamp=created)
    status = msgspec.structs.replace(there.status, phase="Running" if node else "Pending")
    return msgspec.structs.replace(there, metadata=meta, status=status)


def test_they_were_submitted_when_their_pods_were_made_and_are_charged_from_now_on() -> None:
    room = DeskRoom({"q": {}}, (4, 4))
    room.advance(500.0)
    room.come(made("runs", 100.0, "n0"))
    room.come(made("later", 300.0))
    room.come(made("sooner", 200.0))
    room.live.begin()
    jobs = {name: room.job(name) for name in ("runs", "later", "sooner")}
    submitted = {name: job.ledger.submitted for name, job in jobs.items() if job is not None}
    assert submitted == {"runs": 100.0, "later": 300.0, "sooner": 200.0}
    running = jobs["runs"]
    assert running is not None
    (interval,) = running.ledger.intervals
    assert (interval.start, interval.end, interval.is_uncertain) == (500.0, math.inf, True)
    room.settle()
    assert room.ran == {"runs", "sooner"}, "whoever was made first is first"
    record = room.live.books.latest(running.uid)
    assert record is not None
    assert record.ledger.intervals[0].is_uncertain
    assert record.ledger.submitted == 100.0


def test_what_is_written_down_stays() -> None:
    room = DeskRoom({"q": {}}, (4,))
    room.advance(500.0)
    room.come(made("it", 500.0))
    room.live.begin()
    job = room.job("it")
    assert job is not None
    assert job.ledger.submitted == 500.0
    assert not job.ledger.intervals
