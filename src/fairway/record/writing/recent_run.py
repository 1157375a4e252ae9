"""A run of the last hours, in memory: what happens comes in, what is too old goes out, and it can be asked at any time.

In: calls from a world, in order of time, as any `Recorder` takes them. Out: a `Run` of how it stands at a moment, with
the tables that a file would have if it had been closed then. Rows wait until `refresh` brings them where they can be
asked; while somebody asks, nobody may call that. Bounded by time and by bytes, the oldest goes first. Called by
`fairway.web`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from fairway import __version__
from fairway.record.opening.run_opening import OpenRun
from fairway.record.options import RecordOptions
from fairway.record.run import Run
from fairway.record.schema import SCHEMA_VERSION
from fairway.record.writing.buffer import RowChange
from fairway.record.writing.row_memory import RowMemory
from fairway.record.writing.writer import RunWriter

__all__ = ["MOST_BYTES", "RecentRun"]

MOST_BYTES: Final = 512 << 20
SPARE: Final = 1 / 8
"""Such a part of the time that is kept may be kept besides: it goes at once."""
SHARES: Final = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Of what there is in time, so much goes while there is too much in bytes."""


class RecentRun(RunWriter):
    """The `Recorder` that remembers for so many seconds."""

    def __init__(self, name: str, seconds: float, *, began: float | None = None, most_bytes: int = MOST_BYTES) -> None:
        """`began` is the date at 0 seconds of its clock."""
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._name = name
        options = RecordOptions(scores=1000, objects=False, plugin_times=True)
        self._meta: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "fairway_version": __version__,
            "origin": "live",
            "anonymous": False,
            "scenario": {"kind": "LiveCluster", "metadata": {"name": name}},
            "schedulers": [],
            "seed": 0,
            "policies": [],
            "options": asdict(options),
            "complete": True,
        }
        super().__init__(name, scenario=self._meta["scenario"], seed=0, origin="live", options=options, began=began)
        self.kept_from = 0.0

    def _made_file(self, path: Path, change: RowChange | None) -> RowMemory:
        self._memory = RowMemory(path, change)
        return self._memory

    def flush(self, *, again: bool = False) -> None:
        """Rows wait for `refresh`."""

    def refresh(self, t: float) -> Run:
        """How it stands at that time; the run that was given before is of no use any more."""
        super().flush(again=True)
        self._bound(t)
        self._memory.show(self._open_rows())
        meta = self._meta | {"end_seconds": t}
        return Run(OpenRun(self._memory.reader, meta, dict(self._file.resources.columns), set()), Path(self._name))

    def _finish(self, t_end: float | None, ending: dict[str, Any]) -> None:
        """Let go of all."""
        self._is_over = True
        self._file.abandon()
        self._memory.reader.close()

    def _bound(self, t: float) -> None:
        """Forget what is too old, or too much."""
        if t - self.kept_from > self._seconds * (1 + SPARE):
            self.forget(t - self._seconds)
        for share in SHARES:
            if self.num_bytes > self._most_bytes:
                self.forget(self.kept_from + (t - self.kept_from) * share)

    @property
    def num_bytes(self) -> int:
        """What it takes in memory, but for what is there now and what waits."""
        return self._memory.num_bytes

    def forget(self, before: float) -> None:
        """What was over by then is no more."""
        there = self._memory.templates
        self._memory.forget(before, {live.template for live in self._pods.by_uid.values()})
        self._templates.forget(there - self._memory.templates)
        self.kept_from = before
