"""Queues that are paused, drained or closed until a time: open by themselves when it has come."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.batch.reasons import Reason
from fairway.batch.settings import BatchSettings
from fairway.model.batch import QueueSpec
from fairway.sim.batch_orders import BatchOrder
from tests.batch.room import Room, job


def test_a_paused_queue_opens_when_its_time_has_come_and_a_simulation_waits_for_it() -> None:
    room = Room([(0.0, job("waits"))], queues={"q": {"state": "Paused", "state_until": "30s"}})
    room.until(10.0)
    standing = room.find("waits").standing
    assert (standing.reason, standing.words) == (Reason.QUEUE_STOPPED, "the queue is Paused until 30s")
    room.simulation.timeline.run()
    assert room.starts == {"waits": 30.0}
    assert [(time, reason) for time, about, reason, _ in room.told if about == "q"] == [(30.0, "QueueOpened")]
    assert room.desk.settings.queues["q"].state == "Open"


def test_a_closed_queue_takes_jobs_again() -> None:
    room = Room([(0.0, job("early")), (25.0, job("late"))], queues={"q": {"state": "Closed", "state_until": "20s"}})
    room.until(60.0)
    assert room.starts == {"early": 20.0, "late": 25.0}


def test_whoever_says_otherwise_meanwhile_is_heard() -> None:
    later = QueueSpec(state="Paused", state_until="50s").completed()
    room = Room(
        [(0.0, job("waits"))],
        queues={"q": {"state": "Paused", "state_until": "30s"}},
        orders=[BatchOrder(20.0, "queue", "q", spec=later)],
    )
    room.until(100.0)
    assert room.starts == {"waits": 50.0}


@pytest.mark.parametrize(
    ("spec", "now", "state"),
    [
        ({"state": "Paused", "state_until": "1970-01-01T01:00:00Z"}, 3599.0, "Paused"),
        ({"state": "Paused", "state_until": "1970-01-01T01:00:00Z"}, 3600.0, "Open"),
        ({"state": "Draining", "state_until": "1970-01-01T02:00:00+01:00"}, 3600.0, "Open"),
        ({"state": "Closed"}, 1e9, "Closed"),
    ],
)
def test_settings_follow_from_what_is_written_and_the_time_alone(spec: dict[str, Any], now: float, state: str) -> None:
    settings = BatchSettings({"q": QueueSpec(**spec), "other": QueueSpec()})
    later = settings.as_of(now, 0.0)
    assert later.queues["q"].state == state
    assert later.as_of(now, 0.0) is later, "nothing more is to be said at that time"
    assert later.queues["other"] is settings.queues["other"]
