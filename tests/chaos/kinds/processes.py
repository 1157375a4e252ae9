"""Schedulers that end: killed as leaders, asked to stop in mid-burst, or with a full disk.

In: a `Stage`. Out: the same, after a round of pods has come and schedulers have come and gone meanwhile. Rows of
`kinds.table`.
"""

from __future__ import annotations

import resource
from typing import Final

from tests.chaos.stage import Stage
from tests.kube.processes import Program

__all__ = ["disk_full", "leaders_killed", "sigterm"]

LARGE: Final = 1000
"""So many pods are worth a third replica."""
BINDINGS_BETWEEN: Final = 20
"""A leader has to have done something to be worth killing."""


def leaders_killed(stage: Stage) -> None:
    """Of two or three replicas the leader is killed again and again, each as soon as it has bound some pods."""
    while len(stage.schedulers) < (3 if stage.size.num_pods >= LARGE else 2):
        stage.launch(is_elected=True)
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            stage.wait_for_bindings(BINDINGS_BETWEEN, 15)
            stage.replace_ended()
            leader = stage.leader()
            if leader is None:
                stage.pause(0.1)
                continue
            stage.dismiss(leader, Program.kill)
            stage.deeds["leaders killed"] += 1
            stage.launch(is_elected=True)


def sigterm(stage: Stage) -> None:
    """The only scheduler is asked to stop in mid-burst, ends cleanly, and the next one goes on."""
    if not stage.schedulers:
        stage.launch()
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            stage.wait_for_bindings(BINDINGS_BETWEEN, 15)
            (scheduler,) = stage.schedulers
            code = stage.dismiss(scheduler, Program.stop)
            if code:
                raise AssertionError(f"a scheduler that was asked to stop ended with exit code {code}")
            stage.deeds["SIGTERM"] += 1
            stage.launch()


def disk_full(stage: Stage) -> None:
    """The run that the scheduler records may not grow for a while: every write to it fails.

    The limit on the size of files stands for the disk (EFBIG instead of ENOSPC); it is lifted again.
    """
    if not stage.schedulers:
        stage.launch(flags=[f"--record={stage.directory / 'run.duckdb'}"])
    (scheduler,) = stage.schedulers
    with stage.arrivals() as arrivals:
        stage.wait_for_bindings(BINDINGS_BETWEEN, 15)
        while arrivals.are_coming:
            _limit_files(scheduler, max((file.stat().st_size for file in stage.directory.iterdir()), default=0))
            stage.deeds["full disks"] += 1
            stage.pause(1.5)
            _limit_files(scheduler, resource.RLIM_INFINITY)
            stage.pause(0.5)


def _limit_files(scheduler: Program, num_bytes: int) -> None:
    resource.prlimit(scheduler.pid, resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))
