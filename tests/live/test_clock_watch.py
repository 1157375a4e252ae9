"""Somebody sets the machine's clock while there are queues: operators are told, whichever way, and of nothing else."""

from __future__ import annotations

import pytest

from fairway.live.batch.clock_watch import ClockWatch
from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import node, play
from tests.live.test_job_clocks import SetClock
from tests.live.test_jobs import events
from tests.live.test_queue_routes import QUEUES, job, record, with_kinds
from tests.live.virtual_clock import VirtualClock


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        pytest.param(3600.0, "was set forward by 1h", id="forward"),
        pytest.param(-90.0, "was set back by 1m 30s", id="back"),
        pytest.param(4.0, "", id="hardly"),
    ],
)
def test_a_clock_that_is_set_is_told_once(shift: float, words: str) -> None:
    clock = VirtualClock()
    watch = ClockWatch(clock, clock.now)
    clock.jump(40.0)  # the process stood still: both clocks went on
    assert watch.look() == ""
    clock.set_wall_clock(clock.now() + shift)
    told = watch.look()
    assert words in told
    assert bool(told) == bool(words)
    assert watch.look() == ""


def test_each_queue_has_an_event() -> None:
    clock = SetClock()

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: record(api, "first"))
        clock.shift = 7200.0
        await api.until(lambda: events(api, "ClockStepped"))

    objects = (
        ("queues.fairway.dev", {"metadata": {"name": "batch"}, "spec": {"schedulerName": "default-scheduler"}}),
        ("nodes", node("n1")),
        ("pods", job("first")),
    )
    api = play(story, *objects, settings=QUEUES, prepare=with_kinds, clock=clock)
    (event,) = events(api, "ClockStepped")
    assert (event["regarding"]["kind"], event["regarding"]["name"], event["type"]) == ("Queue", "batch", "Warning")
