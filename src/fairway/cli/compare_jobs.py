"""Simulations run for a command: one after another or in several processes, with one progress bar.

In: `Job`s, each a scenario, a policy and a seed, and where to record. Out: a `Finished` for each, in the order of the
jobs, with its metrics. The runs are files; only numbers travel between processes. Called by `sim` and `compare`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final

from fairway.cli.amounts import count_text
from fairway.cli.main import CommandError
from fairway.record import CannotWriteError, Metrics
from fairway.sim.scenario import Scenario
from fairway.sim.simulate import Standing, simulate

__all__ = ["Finished", "Job", "clock_text", "run_jobs"]

LOOK_EVERY: Final = 0.2  # seconds between two looks at what the processes have done
NUM_NUMBERS: Final = 3  # of a Standing

Tell = Callable[[Sequence[Standing]], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A simulation to run."""

    scenario: Scenario
    profile: str
    seed: int
    path: str  # where it is recorded


@dataclass(frozen=True, slots=True)
class Finished:
    """A simulation that was run."""

    profile: str
    seed: int
    path: str
    metrics: Metrics
    end_seconds: float
    num_conflicts: int
    problems: list[str]
    cpu_seconds: float


def run_jobs(jobs: Sequence[Job], num_processes: int, *, is_kept: bool = True) -> list[Finished]:
    """Run all; the first failure is raised and stops the others. Runs that are not kept are in a temporary folder."""
    try:
        with _bar(len(jobs)) as tell:
            if num_processes == 1 or len(jobs) == 1:
                return _run_here(jobs, tell)
            return _run_in_processes(jobs, min(num_processes, len(jobs)), tell)
    except CannotWriteError as error:
        if is_kept:
            raise
        raise CommandError(
            f"there is no room for the run while it is simulated: {error.what}",
            "make room there, or name another place: --save RUN, or TMPDIR",
        ) from error


def _run(job: Job, progress: Callable[[Standing], None] | None) -> Finished:
    done = simulate(job.scenario, record=job.path, profile=job.profile, seed=job.seed, progress=progress)
    with done.open() as run:
        metrics = run.metrics()
    result = done.result
    return Finished(
        job.profile, job.seed, job.path, metrics, result.end, result.conflicts, done.problems, done.cpu_seconds
    )


def _run_here(jobs: Sequence[Job], tell: Tell) -> list[Finished]:
    standings = [Standing(0.0, 0.0, 0) for _ in jobs]
    finished = []
    for number, job in enumerate(jobs):

        def progress(standing: Standing, number: int = number) -> None:
            standings[number] = standing
            tell(standings)

        finished.append(_run(job, progress))
    return finished


def _run_in_processes(jobs: Sequence[Job], num_processes: int, tell: Tell) -> list[Finished]:
    # Spawned, not forked: threads of DuckDB and NumPy do not survive a fork.
    context = multiprocessing.get_context("spawn")
    others_children = set(multiprocessing.active_children())
    board = context.Array("d", NUM_NUMBERS * len(jobs), lock=False)
    waiting: list[Future[Finished]] = []
    pool = ProcessPoolExecutor(num_processes, context, initializer=_begin, initargs=(board,))
    try:
        futures = [pool.submit(_run_apart, number, job) for number, job in enumerate(jobs)]
        waiting = futures
        while waiting:
            done, others = wait(waiting, LOOK_EVERY, FIRST_COMPLETED)
            waiting = list(others)
            for future in done:
                future.result()
            tell([_standing(board, number) for number in range(len(jobs))])
        return [future.result() for future in futures]
    except BrokenProcessPool as error:
        raise CommandError(
            "a process that ran a simulation was killed", "there may be too little memory; try --jobs 1"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if waiting:  # a failure or an interrupt: nobody wants what the others are still doing
            for child in set(multiprocessing.active_children()) - others_children:
                child.terminate()


_board: Any = None
"""In a process of its own: the numbers that all processes share."""


def _begin(board: Any) -> None:
    """Once in each process: an interrupt ends it without a word; the one that started it speaks."""
    global _board  # noqa: PLW0603 - shared memory reaches a process of a pool in no other way
    _board = board
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # in the background of a script nobody interrupts
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_apart(number: int, job: Job) -> Finished:
    def progress(standing: Standing) -> None:
        _board[NUM_NUMBERS * number : NUM_NUMBERS * (number + 1)] = [float(part) for part in standing]

    return _run(job, progress)


def _standing(board: Any, number: int) -> Standing:
    fraction, time, arrived = board[NUM_NUMBERS * number : NUM_NUMBERS * (number + 1)]
    return Standing(fraction, time, int(arrived))


def clock_text(seconds: float) -> str:
    """Virtual time as a clock shows it: 00:14:09, or 2d 03:00:00."""
    days, rest = divmod(int(seconds), 86_400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}d {clock}" if days else clock


@contextlib.contextmanager
def _bar(num_jobs: int) -> Iterator[Tell]:
    """On a terminal: how much is done, the virtual time, pods, and how long it still takes."""
    if not sys.stderr.isatty():
        yield lambda standings: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    what = "simulating" if num_jobs == 1 else f"{num_jobs} simulations"
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=num_jobs, words="reading")

        def tell(standings: Sequence[Standing]) -> None:
            arrived = sum(standing.arrived for standing in standings)
            time = max(standing.time for standing in standings)
            words = f"{clock_text(time)} · {count_text(arrived)} pods"
            bar.update(task, completed=sum(standing.fraction for standing in standings), words=words)

        yield tell
