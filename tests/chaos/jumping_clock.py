"""`fairway run` with clocks that jump when they are told to, as a process of its own.

In: a directory and the flags of `fairway run` that `ControlPlane.start_fairway` gives. Out: a scheduler. On SIGUSR1 it
reads `jump-PID` in the directory: by how many seconds the wall clock is off, and for how long the machine has slept.
The first may be anything, the second only grows: so Linux' CLOCK_REALTIME and CLOCK_BOOTTIME behave. Only the clock
that the live room is given is replaced; timers of the event loop (CLOCK_MONOTONIC) do not jump on Linux either.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from fairway.live.api import logs
from fairway.live.api.clock import SystemClock
from fairway.live.process import RunOptions, run_scheduler
from tests.kube.processes import Program

__all__ = ["JumpingClock", "jump"]


class JumpingClock(SystemClock):
    """The machine's own, and then some."""

    def __init__(self) -> None:
        super().__init__()
        self.wall_seconds = 0.0
        self.slept_seconds = 0.0

    def now(self) -> float:
        """Seconds since the epoch, as somebody has set them."""
        return super().now() + self.wall_seconds

    def monotonic(self) -> float:
        """Went on while the machine slept."""
        return super().monotonic() + self.slept_seconds

    def read(self, file: Path) -> None:
        """Jump."""
        self.wall_seconds, slept = map(float, file.read_text().split())
        self.slept_seconds = max(self.slept_seconds, slept)


def jump(scheduler: Program, directory: Path, *, wall: float | None = None, slept: float = 0.0) -> None:
    """Let the clocks of a scheduler jump: the wall clock to an offset, the other by the time slept."""
    file = directory / f"jump-{scheduler.pid}"
    old_wall, old_slept = map(float, file.read_text().split()) if file.exists() else (0.0, 0.0)
    unfinished = file.with_suffix(".new")
    unfinished.write_text(f"{old_wall if wall is None else wall} {old_slept + slept}")
    unfinished.rename(file)  # nobody reads half of it
    os.kill(scheduler.pid, signal.SIGUSR1)


def main(arguments: Sequence[str]) -> int:
    """Schedule."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--config", required=True)
    parser.add_argument("--bind-address", default="127.0.0.1")
    parser.add_argument("--secure-port", type=int, required=True)
    given = parser.parse_args(arguments)
    clock = JumpingClock()
    file = given.directory / f"jump-{os.getpid()}"
    signal.signal(signal.SIGUSR1, lambda *_: clock.read(file))
    logs.set_up("json", logging.INFO)
    options = RunOptions(
        config=given.config, bind_address=given.bind_address, secure_port=given.secure_port, trust_loopback=True
    )
    return asyncio.run(run_scheduler(options, clock=clock))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
