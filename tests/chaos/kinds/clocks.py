"""Clocks that jump, and leaders that sleep through their lease.

In: a `Stage`. Out: the same, after the wall clock of each replica was set to and fro, machines were suspended (the
clock that counts leases went on, in the leader or in the one that stands by) and the leader was frozen for longer than
its lease. Whoever has lost the lease ends with exit code 1 and is started again, as a kubelet would. A row of
`kinds.table`.
"""

from __future__ import annotations

from typing import Final

from tests.chaos.jumping_clock import jump
from tests.chaos.stage import Stage

__all__ = ["clock_jumps"]

NUM_REPLICAS: Final = 2
JUMPS: Final = (3600.0, -7200.0, 86400.0, -86400.0)
"""Of the wall clock, in seconds."""
SUSPENDED_SECONDS: Final = 10.0
FROZEN_SECONDS: Final = 6.0  # a lease lasts five


def clock_jumps(stage: Stage) -> None:
    """Let each of these happen in turn while pods arrive."""
    stage.relaunch = lambda: _launch(stage)
    while len(stage.schedulers) < NUM_REPLICAS:
        _launch(stage)
    with stage.arrivals() as arrivals:
        number = 0
        while arrivals.are_coming:
            stage.wait_for_bindings(10, 8)
            deed = (_set_wall_clocks, _suspend_standby, _set_wall_clocks, _suspend_leader, _freeze_leader)[number % 5]
            deed(stage)
            stage.pause(0.5)
            stage.replace_ended()
            number += 1
    for scheduler in stage.schedulers:
        if scheduler.is_running:
            jump(scheduler, stage.directory, wall=0.0)
    stage.wait_for_bindings(1, 5)
    stage.replace_ended()


def _set_wall_clocks(stage: Stage) -> None:
    for scheduler in stage.schedulers:
        jump(scheduler, stage.directory, wall=float(stage.rng.choice(JUMPS)))
    stage.deeds["wall clocks set"] += 1


def _suspend_leader(stage: Stage) -> None:
    leader = stage.leader()
    if leader is not None:
        jump(leader, stage.directory, slept=SUSPENDED_SECONDS)
        stage.deeds["leaders suspended"] += 1


def _suspend_standby(stage: Stage) -> None:
    leader = stage.leader()
    for scheduler in stage.schedulers:
        if leader is not None and scheduler is not leader:
            jump(scheduler, stage.directory, slept=SUSPENDED_SECONDS)
            stage.deeds["standbys suspended"] += 1


def _freeze_leader(stage: Stage) -> None:
    leader = stage.leader()
    if leader is not None:
        leader.freeze()
        stage.pause(FROZEN_SECONDS)
        leader.thaw()
        stage.deeds["leaders frozen"] += 1


def _launch(stage: Stage) -> None:
    scheduler = stage.control_plane.start_fairway(
        stage.configuration(is_elected=True), module=("tests.chaos.jumping_clock", str(stage.directory))
    )
    stage.schedulers.append(scheduler)
