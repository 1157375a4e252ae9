"""Simulations run for a command, with one progress bar, and problems of running them in the command line's words.

In: `Job`s. Out: their results. Shared by `sim` and `compare`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairway.cli.main import CommandError
from fairway.compare.simulations import Finished, Job, Tell, run_jobs
from fairway.pool import ProcessKilledError
from fairway.record import CannotWriteError
from fairway.words import clock_text, count_text

if TYPE_CHECKING:
    from fairway.scenario.simulate import Standing

__all__ = ["run_with_bar"]


def run_with_bar(jobs: Sequence[Job], num_processes: int, *, is_kept: bool = True) -> list[Finished]:
    """Run all. Runs that are not kept are in a temporary folder."""
    try:
        with _bar(len(jobs)) as tell:
            return run_jobs(jobs, num_processes, tell)
    except ProcessKilledError as error:
        raise CommandError(
            "a process that ran a simulation was killed", "there may be too little memory; try --jobs 1"
        ) from error
    except CannotWriteError as error:
        if is_kept:
            raise
        raise CommandError(
            f"there is no room for the run while it is simulated: {error.what}",
            "make room there, or name another place: --save RUN, or TMPDIR",
        ) from error


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
