"""Recording while the disk is full: scheduling goes on, somebody is told at once, and the run says what it lacks."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from fairway.config import default_configuration
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.recording import LiveRecorder
from fairway.live.recording_file import FileSettings, RecordingFile
from fairway.live.service import LiveScheduler
from fairway.plugins.registry import REGISTRY
from fairway.record import Run
from fairway.record.vocabulary import PodEnd
from fairway.record.writing.run_file import partial_path
from fairway.testing import node, pod
from tests.live import live_cluster
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import bindings, play
from tests.live.virtual_clock import VirtualClock
from tests.record.full_disk import full_disk, written_bytes

CONFIGURATION = default_configuration(REGISTRY)
SETTINGS = FileSettings(flush_seconds=30.0, retry_seconds=5.0, max_waiting_bytes=200_000)


def values(metrics: SchedulerMetrics) -> dict[str, float]:
    lines = (line.rsplit(" ", 1) for line in metrics.render().decode().splitlines() if line.startswith("fairway_rec"))
    return {name: float(value) for name, value in lines}


def live_on(recording: RecordingFile, first: int, last: int) -> None:
    for number in range(first, last):
        recording.writer.pod_created(float(number), pod(f"p{number}"), "s")
        recording.writer.event(float(number), "Pod", f"p{number}", "Seen", "x" * 50)
        recording.writer.ended(float(number), f"default/p{number}", PodEnd.DELETED)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_full_disk_is_told_at_once_and_what_waited_is_written_once_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics, path = SchedulerMetrics(), tmp_path / "run.duckdb"

    async def story() -> None:
        clock = VirtualClock()
        with RecordingFile(
            str(path), clock, title={}, configuration=CONFIGURATION, metrics=metrics, settings=SETTINGS
        ) as recording:
            recording.start()
            recording.writer.node_added(0.0, node("n"))
            live_on(recording, 0, 10)
            await clock.advance(31)
            assert values(metrics)["fairway_recording_failing"] == 0
            with full_disk(written_bytes(path) + 100):
                live_on(recording, 10, 20)
                await clock.advance(30)
                assert values(metrics)["fairway_recording_failing"] == 1
                assert errors(caplog) == ["the recording can not be written; its rows wait in memory"]
                assert "the disk is full" in caplog.records[-1].reason  # type: ignore[attr-defined]
                await clock.advance(20)
                assert values(metrics)["fairway_recording_failures_total"] == 5
                assert len(errors(caplog)) == 1
            await clock.advance(5)
            assert values(metrics)["fairway_recording_failing"] == 0
            assert written_bytes(path) > 0
            assert recording.writer.num_waiting == 0
            assert recording.close(40.0) is None

    asyncio.run(story())
    with Run.open(path) as run:
        assert (len(run.pods), len(run.gaps), run.is_complete) == (20, 0, True)


def test_what_memory_can_not_hold_is_a_gap_that_metrics_the_run_and_the_end_tell_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics, path = SchedulerMetrics(), tmp_path / "run.duckdb"

    async def story() -> None:
        clock = VirtualClock()
        with RecordingFile(
            str(path), clock, title={}, configuration=CONFIGURATION, metrics=metrics, settings=SETTINGS
        ) as recording:
            recording.start()
            with full_disk(written_bytes(path) + 100):
                for first in range(0, 1000, 100):
                    live_on(recording, first, first + 100)
                    await clock.advance(30)
            await clock.advance(5)
            live_on(recording, 1000, 1010)
            problem = recording.close(1010.0)
        assert problem is not None
        assert problem.exit_code == 1
        assert problem.what == f"the recording {path} has a gap"
        dropped = values(metrics)['fairway_recording_dropped_rows_total{table="events"}']
        assert 100 <= dropped <= 900
        assert (
            f"it lacks {int(dropped)} rows of events" in problem.why or f"{int(dropped)} rows of events" in problem.why
        )
        assert "the disk is full" in problem.why
        with Run.open(path) as run:
            (row,) = run.gaps.where("table_name = 'events'")
            assert row["num_rows"] == dropped
            assert len(run.events) == 1010 - dropped

    asyncio.run(story())
    assert "rows of the recording are dropped: it will have a gap" in errors(caplog)


def test_a_disk_that_stays_full_is_told_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"

    async def story() -> None:
        with RecordingFile(str(path), VirtualClock(), title={}, configuration=CONFIGURATION) as recording:
            live_on(recording, 0, 10)
            recording.flush()
            live_on(recording, 10, 20)
            with full_disk(written_bytes(path) + 100):
                problem = recording.close(20.0)
        assert problem is not None
        assert problem.exit_code == 1
        assert "could not be written to its end" in problem.what
        assert "the disk is full" in problem.why
        assert str(partial_path(path)) in problem.why
        assert "column" not in problem.why

    asyncio.run(story())


def test_somebody_notices_if_the_task_that_writes_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class BrokenClock(VirtualClock):
        async def sleep(self, seconds: float) -> None:
            raise ValueError("this clock does not go")

    metrics = SchedulerMetrics()

    async def story() -> None:
        with RecordingFile(
            str(tmp_path / "run"), BrokenClock(), title={}, configuration=CONFIGURATION, metrics=metrics
        ) as recording:
            recording.start()
            for _ in range(5):
                await asyncio.sleep(0)
            recording.close(0.0)

    asyncio.run(story())
    assert errors(caplog) == ["nobody writes the recording any more"]
    assert values(metrics)["fairway_recording_failing"] == 1


def test_pods_are_bound_while_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        with RecordingFile(
            str(path), VirtualClock(), title={}, configuration=CONFIGURATION, metrics=live.metrics
        ) as recording:
            recorder = LiveRecorder(recording.writer, live.world.now)
            live.listeners.append(recorder)
            api.put("nodes", live_cluster.node("n1", cpu="64"))
            api.put("pods", live_cluster.pod("before"))
            await api.until(lambda: len(bindings(api)) == 1)
            recording.flush()
            with full_disk(1000):
                api.put("pods", live_cluster.pod("meanwhile"))
                await api.until(lambda: len(bindings(api)) == 2)
                recording.flush()
                assert values(live.metrics)["fairway_recording_failing"] == 1
                api.put("pods", live_cluster.pod("still"))
                await api.until(lambda: len(bindings(api)) == 3)
            recording.flush()
            live.listeners.remove(recorder)
            assert recording.close(recorder.time) is None

    play(story)
    with Run.open(path) as run:
        decided = [row["pod"] for row in run.decisions]
        assert decided == ["default/before", "default/meanwhile", "default/still"]


def test_the_command_ends_with_1_and_says_what_happened(tmp_path: Path) -> None:
    """A process whose files may suddenly not grow any more, asked to stop."""
    path = tmp_path / "run.duckdb"

    async def story() -> tuple[int | None, str]:
        api = FakeApiServer()
        await api.start()
        api.put("nodes", live_cluster.node("n1", cpu="64"))
        command = ("run", "--master", api.url, "--leader-elect=false", "--secure-port", "0", "--record", str(path))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairway", *command), stderr=asyncio.subprocess.PIPE, env={**os.environ}
        )
        try:
            api.put("pods", live_cluster.pod("first"))
            await api.until(lambda: bindings(api), seconds=120)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            api.put("pods", live_cluster.pod("second"))
            await api.until(lambda: len(bindings(api)) == 2, seconds=60)
            process.send_signal(signal.SIGTERM)
            _, told = await asyncio.wait_for(process.communicate(), 60)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            await api.stop()
        return process.returncode, told.decode()

    code, told = asyncio.run(story())
    assert code == 1, told
    assert f"error: the recording {path} could not be written to its end" in told
    assert "the disk is full" in told
    assert "Traceback" not in told
