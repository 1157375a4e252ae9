"""A scenario, run: the library's way in, and the commands'.

In: a `Scenario` (or its file), the policy and the seed to use, and where to record. Out: a `SimulationRun`: what it
came to, and the recorded run, ready to be opened. The run keeps the completed scenario with the policy in place, so
that it can be run again from the file alone. Called by `fairway sim`, `fairway compare` and the library.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec

from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder, Recorder, Run, RunWriter
from fairway.record.options import NOTHING
from fairway.record.schedulers import recorded_scheduler
from fairway.record.several_recorders import SeveralRecorders
from fairway.scenario.scenario import Scenario, complete, load_scenario
from fairway.sim.simulation import Plan, Result, Simulation

__all__ = ["Progress", "SimulationRun", "Standing", "simulate"]

NOT_YET_DONE = 0.99
"""After the last arrival pods still run, for nobody knows how long."""


class Standing(NamedTuple):
    """How far a simulation has come."""

    fraction: float  # of the work, estimated, from 0 to 1
    time: float  # virtual seconds
    arrived: int  # pods
    num_made: int = 0  # nodes and other objects that are there at the start, made so far


Progress = Callable[[Standing], None]


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """A simulation that is over."""

    scenario: Scenario  # completed; with the seed and the policy that were used
    policy: str
    result: Result
    problems: list[str]  # lines of input that made no sense, objects that were there already
    cpu_seconds: float  # what it took: measured, so different every time
    path: Path | None  # where it is recorded
    not_counted: list[str] = field(default_factory=list)  # what may make pods, and nobody knows which

    @property
    def seed(self) -> int:
        """What everything that was left to chance followed from."""
        return self.scenario.seed

    def open(self) -> Run:
        """The recorded run; `ValueError` if it was not recorded."""
        if self.path is None:
            raise ValueError("this simulation was not recorded: call simulate(..., record=path)")
        return Run.open(self.path)


def simulate(
    scenario: Scenario | str | os.PathLike[str],
    *,
    record: str | os.PathLike[str] | None = None,
    policy: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    follower: Recorder | None = None,
) -> SimulationRun:
    """Run a scenario with one policy (by name; without: the first scheduler's own), and record it if a path is given.

    A `follower` is told everything, too, as it happens.

    The same scenario, policy and seed give the same decisions. `ScenarioError` says what is wrong with the scenario,
    `RecordError` what with the file; an exception on the way leaves a run that is marked as incomplete.
    """
    begun = process_time()
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    whole = complete(scenario.with_overrides(policy=policy, seed=seed))
    workload = whole.workload()
    plan = whole.plan(workload=workload)
    chosen = policy or "default"
    is_told = record is not None or follower is not None
    with _recorder(whole, plan, chosen, record, follower) as recorder:
        setting_up = None if progress is None else lambda number: progress(Standing(0.0, 0.0, 0, number))
        simulation = Simulation(plan, recorder, whole.record_options if is_told else NOTHING, setting_up)
        told = None if progress is None else _estimator(whole.end, workload.num_arrivals, progress)
        result = simulation.run(told)
    problems = [*workload.problems, *workload.notes, *result.problems]
    path = None if record is None else Path(record)
    return SimulationRun(whole, chosen, result, problems, process_time() - begun, path, workload.not_counted)


def _recorder(
    scenario: Scenario,
    plan: Plan,
    policy: str,
    record: str | os.PathLike[str] | None,
    follower: Recorder | None,
) -> Recorder:
    if record is None:
        return follower or NullRecorder()
    writer = RunWriter(
        record,
        scenario=scenario.as_dict(),
        schedulers=[
            recorded_scheduler(
                scheduler.name,
                scheduler.configuration,
                REGISTRY,
                **msgspec.structs.asdict(scheduler.settings),
                batch=scheduler.batch,
            )
            for scheduler in plan.schedulers
        ],
        seed=scenario.seed,
        policies=[policy],
        options=scenario.record_options,
    )
    return writer if follower is None else SeveralRecorders(writer, follower)


def _estimator(end: float | None, num_arrivals: int | None, progress: Progress) -> Callable[[float, int], None]:
    """Work comes with pods, so arrivals tell how much of it is done; an early end makes it less."""

    def tell(time: float, arrived: int) -> None:
        by_time = time / end if end else 0.0
        by_pods = arrived / num_arrivals if num_arrivals else 0.0
        fraction = 1.0 if by_time >= 1.0 else min(max(by_time, by_pods), NOT_YET_DONE)
        progress(Standing(fraction, time, arrived))

    return tell
