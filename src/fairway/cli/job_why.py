"""`fairway why JOB`: prints why pods that start together wait, or where they would go.

In: an answer of `explain.jobs.job_answer` about a job of files, of a live cluster or of a run. Out: the printed answer,
and the exit code: 0 if the job has started or could now, 3 if not. Called by `why`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from fairway.cli.options.live import LiveCluster
from fairway.cli.options.run import tell_notes
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.exit_codes import NO
from fairway.explain.jobs.job_answer import JobAnswer, job_of_run, run_job_row
from fairway.model import Loaded
from fairway.record import Run
from fairway.words import time_text

__all__ = ["explain_live_job", "explain_run_job", "names_job", "print_job"]

COLUMNS: Final = (Column("pod", "POD"), Column("node", "NODE"), Column("wouldGoTo", "WOULD GO TO"))


def print_job(answer: JobAnswer, options: str, output: str) -> int:
    """Print it; `options` are those under which a member can be asked about."""
    if is_structured(output):
        emit(answer.rows(), COLUMNS, output, answer.document())
    else:
        say("\n".join(answer.lines()))
        if output == "wide" and answer.rows():
            say()
            emit(answer.rows(), COLUMNS, output)
        elif answer.blocking is not None:
            narrate(f"→ fairway why {word(answer.blocking)} {options}".rstrip())
    return 0 if answer.fits else NO


def names_job(path: str, name: str) -> bool:
    """Is a job of the run called so, and no pod?"""
    with Run.open(path) as run:
        pods = run.pods.where("pod = $1 OR uid = $1 OR ends_with(pod, '/' || $1)", name.removeprefix("pod/"))
        return not len(pods) and run.knows_jobs and run_job_row(run, name) is not None


def explain_run_job(path: str, name: str, at: float | None, output: str) -> int:
    """A job of a run."""
    with Run.open(path) as run:
        tell_notes(run)
        answer = job_of_run(run, name, at)
        when = time_text(run.end_seconds if at is None else at)
    return print_job(answer, f"--run {shlex.quote(path)} --at {shlex.quote(when)}", output)


def explain_live_job(
    there: Sequence[Loaded], live: LiveCluster, name: str, config: str | None, seed: int, output: str, is_job: bool
) -> int | None:
    """A job of a live cluster, of which this is all that is there; None if it is no job that is called so."""
    from time import time  # noqa: TID251 - how long pods have waited in a cluster that runs by the wall clock

    from fairway.explain.jobs.live_job import live_job

    found = live_job(there, name, config, seed, time(), must_be_job=is_job)
    if found is None:
        return None
    answer, note = found
    if note:
        narrate(note)
    return print_job(answer, live.arguments, output)
