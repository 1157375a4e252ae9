"""Simulations run for a command, with one progress bar, and problems of running them in the command line's words.

In: `SimulationJob`s. Out: their results. Shared by `sim` and `compare`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairway.cli.main import CommandError
from fairway.cli.output import narrate
from fairway.compare.simulations import Finished, SimulationJob, Tell, run_jobs
from fairway.pool import ProcessKilledError
from fairway.record import CannotWriteError, RecordError, Run
from fairway.record.writing.run_file import partial_path, remove_partial
from fairway.words import clock_text, count_text

if TYPE_CHECKING:
    from fairway.scenario.simulate import Standing

__all__ = ["run_with_bar"]


def run_with_bar(jobs: Sequence[SimulationJob], num_processes: int, *, is_kept: bool = True) -> list[Finished]:
    """Run all. Runs that are not kept are in a temporary folder."""
    before = {job.path: _identity(job.path) for job in jobs}
    try:
        with _bar(len(jobs)) as tell:
            return run_jobs(jobs, num_processes, tell)
    except KeyboardInterrupt:
        if is_kept:
            _tell_interrupted([job.path for job in jobs if _identity(job.path) != before[job.path]], len(jobs))
        raise
    except ProcessKilledError as error:
        raise CommandError(
            "a process that ran a simulation was killed", "there may be too little memory; try --jobs 1"
        ) from error
    except CannotWriteError as error:
        if is_kept:
            for job in jobs:  # what others had begun tells of nothing; the one that failed is named
                if error.left != partial_path(Path(job.path)):
                    remove_partial(Path(job.path))
            raise
        raise CommandError(
            f"there is no room for the run while it is simulated: {error.what}",
            "make room there, or name another place: --save RUN, or TMPDIR",
        ) from error


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any: a run of an earlier command has not been replaced as long as it is the same."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _tell_interrupted(paths: Sequence[str], num_jobs: int) -> None:
    """What there is all the same."""
    incomplete = [path for path in paths if not _is_complete(path)]
    if num_jobs == 1:
        if incomplete:
            narrate(f"interrupted; what is recorded is in {incomplete[0]}, which says how far it came")
        return
    left = num_jobs - len(paths)
    parts = [f"{len(paths) - len(incomplete)} of {num_jobs} runs are complete"]
    parts += [f"{left} not begun"] if left else []
    if incomplete:
        parts.append(f"what is recorded of the others says how far it came: {', '.join(incomplete)}")
    narrate(f"interrupted: {'; '.join(parts)}")


def _is_complete(path: str) -> bool:
    try:
        with Run.open(path) as run:
            return run.is_complete
    except RecordError:
        return False


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
            if not time and not arrived:
                words = f"setting up · {count_text(sum(standing.num_made for standing in standings))} objects"
            bar.update(task, completed=sum(standing.fraction for standing in standings), words=words)

        yield tell
