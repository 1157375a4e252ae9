"""Simulations to compare: each a scenario, a policy and a seed, run one after another or in several processes.

In: `SimulationJob`s, and where to record each. Out: a `Finished` for each, in the order of the jobs, with its metrics.
The runs are files; only numbers travel between processes (`fairway.pool`). Called by the commands `sim` and `compare`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fairway import pool
from fairway.record import Metrics, Recorder
from fairway.scenario.scenario import Scenario
from fairway.scenario.simulate import Standing, simulate

__all__ = ["Finished", "SimulationJob", "Tell", "run_jobs"]

Tell = Callable[[Sequence[Standing]], None]


@dataclass(frozen=True, slots=True)
class SimulationJob:
    """A simulation to run."""

    scenario: Scenario
    policy: str
    seed: int
    path: str  # where it is recorded
    follower: Recorder | None = None  # who is told as it goes; stays in this process


@dataclass(frozen=True, slots=True)
class Finished:
    """A simulation that was run."""

    policy: str
    seed: int
    path: str
    metrics: Metrics
    end_seconds: float
    num_conflicts: int
    num_errors: int  # attempts that ended in an error
    problems: list[str]
    cpu_seconds: float
    not_counted: list[str] = field(default_factory=list)  # what may make pods, and nobody knows which


def run_jobs(jobs: Sequence[SimulationJob], num_processes: int, tell: Tell | None = None) -> list[Finished]:
    """Run all; the first failure is raised and stops the others. `tell` hears now and then how far each is."""

    def watch(standings: pool.Standings) -> None:
        if tell is not None:
            tell([Standing(fraction, time, int(arrived), int(made)) for fraction, time, arrived, made in standings])

    finished = dict(pool.run_all(_run, jobs, num_processes, None if tell is None else watch))
    return [finished[number] for number in range(len(jobs))]


def _run(job: SimulationJob) -> Finished:
    done = simulate(
        job.scenario, record=job.path, policy=job.policy, seed=job.seed, progress=_report, follower=job.follower
    )
    with done.open() as run:
        metrics = run.metrics()
    result = done.result
    return Finished(
        job.policy,
        job.seed,
        job.path,
        metrics,
        result.end,
        result.conflicts,
        result.num_errors,
        done.problems,
        done.cpu_seconds,
        done.not_counted,
    )


def _report(standing: Standing) -> None:
    pool.report(*map(float, standing))
