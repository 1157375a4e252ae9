"""The file of a live recording: written now and then, whatever the disk says, while scheduling goes on.

In: what a `LiveRecorder` tells the writer. Out: a run. When the file can not be written, an error is logged and
counted at once, rows wait in memory, and writing is tried again every few seconds; what memory can not hold is
dropped, counted by table, and told in the run itself as a gap. A task of its own does it, whose end is noticed;
`close` says what became of the recording. Used by `process` and by `fairway record`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from fairway.config import Configuration
from fairway.exit_codes import FAILED
from fairway.live.api.clock import Clock
from fairway.live.api.problems import LiveProblem
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.plugins.registry import REGISTRY
from fairway.record import CannotWriteError, Patience, RunWriter
from fairway.record.schedulers import recorded_scheduler

__all__ = ["BrokenRecording", "FileSettings", "RecordingFile"]

logger = logging.getLogger(__name__)


class FileSettings(NamedTuple):
    """How often to write, and how much to keep."""

    flush_seconds: float = 30.0  # a crash loses so much and no more
    retry_seconds: float = 5.0  # after a failure
    max_waiting_bytes: int = 256 * 2**20


class BrokenRecording(LiveProblem):
    """The recording lacks something, or could not be written to its end."""

    exit_code = FAILED

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why, "make room there, or record somewhere else; nothing but the recording has suffered")


class RecordingFile:
    """One recording. Leaving its `with` block before `close` interrupts the run."""

    def __init__(
        self,
        path: str,
        clock: Clock,
        *,
        title: Mapping[str, Any],
        configuration: Configuration,
        metrics: SchedulerMetrics | None = None,
        settings: FileSettings | None = None,
        anonymous: bool = False,
    ) -> None:
        """Raises `CannotWriteError` if the file takes nothing at all."""
        self._clock = clock
        self._metrics = metrics
        self._settings = settings or FileSettings()
        self._is_failing = False
        self._is_dropping = False
        self._reason = ""  # why the file was last not written
        self._task: asyncio.Task[None] | None = None
        patience = Patience(self._settings.max_waiting_bytes, self._failed, self._dropped)
        names = [profile.scheduler_name for profile in configuration.profiles]
        self.writer = RunWriter(
            path,
            scenario=title,
            seed=0,
            schedulers=[recorded_scheduler(names[0], configuration, REGISTRY)],
            origin="live",
            policies=names,
            patience=patience,
            anonymous=anonymous,
            began=clock.now(),
        )
        self._tell_state()

    # -- writing -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Write now and then from here on."""
        self._task = asyncio.ensure_future(self._run())
        self._task.add_done_callback(self._stopped)

    async def _run(self) -> None:
        while True:
            settings = self._settings
            await self._clock.sleep(settings.retry_seconds if self._is_failing else settings.flush_seconds)
            self.flush()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._is_failing = True
            self._tell_state()
            logger.error("nobody writes the recording any more", exc_info=error, extra=self._about())

    def flush(self) -> None:
        """Write what is in memory; if the file failed before, try again."""
        num_waiting = self.writer.num_waiting
        self.writer.flush(again=True)
        if self._is_failing and not self.writer.is_failing:
            self._is_failing = self._is_dropping = False
            self._tell_state()
            logger.info("the recording is written again", extra=self._about() | {"rows": num_waiting})

    def _failed(self, error: CannotWriteError) -> None:
        self._reason = error.what
        if not self._is_failing:
            self._is_failing = True
            logger.error("the recording can not be written; its rows wait in memory", extra=self._about())
        if self._metrics is not None:
            self._metrics.recording_failed()
        self._tell_state()

    def _dropped(self, counts: Mapping[str, int]) -> None:
        if not self._is_dropping:
            self._is_dropping = True
            logger.error("rows of the recording are dropped: it will have a gap", extra=self._about())
        if self._metrics is not None:
            for table, number in counts.items():
                self._metrics.recording_dropped(table, number)

    def _tell_state(self) -> None:
        if self._metrics is not None:
            self._metrics.recording(self._is_failing)

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"file": str(self.writer.path), "dropped": sum(self.writer.num_dropped.values())}
        return about | {"reason": self._reason} if self._is_failing else about

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self, time: float) -> BrokenRecording | None:
        """The recording is over; says what is wrong with it, if anything is."""
        self._cancel()
        path, problem = self.writer.path, None
        try:
            self.writer.close(time)
        except CannotWriteError as error:
            problem = BrokenRecording(f"the recording {path} could not be written to its end", str(error))
        counts = self.writer.num_dropped
        if problem is None and counts:
            rows = ", ".join(f"{number} rows of {table}" for table, number in counts.items())
            problem = BrokenRecording(f"the recording {path} has a gap", f"it lacks {rows}: {self._reason}")
        if problem is not None:
            logger.error(problem.what, extra=self._about() | {"reason": problem.why})
        return problem

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel()
        try:
            self.writer.__exit__(kind, error, trace)
        except CannotWriteError as problem:
            logger.error(str(problem), extra=self._about())
