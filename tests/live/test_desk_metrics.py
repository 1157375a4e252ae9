"""Metrics of queues, from a live desk for which time passes as the test says."""

from __future__ import annotations

from typing import Any

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from fairway.cluster import Verb
from fairway.live.batch.desk_meter import DeskMeter
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.model import Pod
from fairway.testing import pod
from tests.live.desk_room import DeskRoom


class Measured:
    """A room, and what is measured there."""

    def __init__(self, queues: dict[str, dict[str, Any]], *cpus: int) -> None:
        self.room = DeskRoom(queues, cpus)
        self.metrics = SchedulerMetrics()
        self.meter = DeskMeter(self.room.live, self.metrics.desk)
        self.room.live.on_written = self.meter.written

    def settle(self) -> None:
        room = self.room
        for _ in range(20):
            room.decide(100)
            if room.desk.is_due:
                self.meter.passed(0.25, room.desk.run_pass())
        self.meter.measure()

    def value(self, name: str, **labels: str) -> float | None:
        for family in text_string_to_metric_families(self.metrics.render().decode()):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return sample.value
        return None

    def come(self, name: str, cpu: int = 4, limit: float = 1000.0, run: float = 1000.0, queue: str = "q") -> Pod:
        said = {"fairway.dev/time-limit": f"{limit}s", "fairway.dev/duration": f"{run}"}
        return self.room.come(pod(name, cpu=cpu, labels={"fairway.dev/queue": queue}, annotations=said))


def test_jobs_are_counted_by_queue_state_and_reason() -> None:
    measured = Measured({"q": {}}, 4)
    measured.come("runs", run=500.0)
    measured.settle()
    measured.come("next")
    measured.come("behind")
    measured.come("lost", queue="qq")
    measured.settle()
    assert measured.value("fairway_jobs", queue="q", state="Running", reason="") == 1
    assert measured.value("fairway_jobs", queue="q", state="Queued", reason="Resources") == 1
    assert measured.value("fairway_jobs", queue="q", state="Queued", reason="Priority") == 1
    assert measured.value("fairway_jobs", queue="qq", state="Refused", reason="QueueUnknown") == 1
    assert measured.value("fairway_plan_jobs") == 3
    passes = measured.value("fairway_plan_seconds_count")
    assert passes
    assert measured.value("fairway_plan_seconds_sum") == 0.25 * passes
    measured.room.pass_time(500.0)
    measured.settle()
    assert measured.value("fairway_jobs", queue="q", state="Running", reason="") == 1
    assert measured.value("fairway_jobs", queue="q", state="Queued", reason="Priority") == 0
    assert measured.value("fairway_job_wait_seconds_count", queue="q") == 2
    assert measured.value("fairway_job_wait_seconds_sum", queue="q") == 500.0
    measured.meter.close()
    assert measured.value("fairway_jobs", queue="q", state="Running", reason="") == 0


def test_dates_are_judged_when_jobs_start() -> None:
    """The first was told that it waits for a limit of 1,000 s, and waits half of that."""
    measured = Measured({"q": {}}, 4)
    measured.come("runs", run=500.0)
    measured.settle()
    measured.come("next")
    measured.settle()
    job = measured.room.job("next")
    assert job is not None
    assert job.ledger.dates is not None
    assert job.ledger.dates.first.is_promised
    error = abs(job.ledger.dates.first.likely - (measured.room.now() + 500.0))
    measured.room.pass_time(500.0)
    measured.settle()
    assert measured.value("fairway_estimate_error_seconds_sum", queue="q") == error
    assert measured.value("fairway_promises_broken_total", why="Other") == 0


def test_a_promise_that_a_node_broke_says_so() -> None:
    measured = Measured({"q": {}}, 4)
    measured.come("runs", run=1000.0)
    measured.settle()
    measured.come("next")
    measured.settle()
    room = measured.room
    there = room.nodes["n0"]
    closed = msgspec.structs.replace(there.spec, unschedulable=True)
    room.happen(Verb.MODIFIED, msgspec.structs.replace(there, spec=closed))
    measured.settle()
    room.pass_time(1200.0)
    measured.settle()
    assert measured.value("fairway_job_wait_seconds_count", queue="q") == 1
    room.happen(Verb.MODIFIED, there)
    measured.settle()
    assert measured.value("fairway_job_wait_seconds_count", queue="q") == 2
    assert measured.value("fairway_promises_broken_total", why="NodesUnavailable") == 1


def test_how_late_a_limit_was_carried_out() -> None:
    measured = Measured({"q": {}}, 4)
    measured.come("long", limit=100.0, run=1000.0)
    measured.settle()
    measured.room.pass_time(107.0)  # nobody looked when it was time
    measured.room.desk.is_due = True
    measured.settle()
    assert measured.value("fairway_limit_late_seconds_count") == 1
    assert measured.value("fairway_limit_late_seconds_sum") == 7.0
    measured.settle()
    assert measured.value("fairway_limit_late_seconds_count") == 1
