"""`fairway why JOB --run RUN` of a job that waits in a queue: prints who holds its room, what would be earlier.

In: a run's file, a name, a time. Out: the printed answer and the exit code, 3 as it does not run; None if the name is
no job of a queue then that waits or is refused. Called by `why`.
"""

from __future__ import annotations

from fairway.batch.reasons import JobState
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.cli.queues.options import moment_words, open_moment
from fairway.exit_codes import NO
from fairway.explain.queues.queue_jobs import queue_jobs
from fairway.explain.queues.queue_why import queue_why

__all__ = ["explain_queue_job"]

COLUMNS = (Column("job", "JOB"), Column("node", "NODE"), Column("untilSeconds", "UNTIL"))


def explain_queue_job(run_path: str, name: str, at: float | None, output: str) -> int | None:
    """Print the answer, if there is one."""
    name = name.removeprefix("pod/").removeprefix("job/")
    with open_moment(run_path, at) as (run, moment):
        if not run.knows_queues:
            return None
        meant = {job.job for job in queue_jobs(run, moment) if name == job.job or job.job.endswith(f"/{name}")}
        if len(meant) != 1:
            return None
        answer = queue_why(run, moment, meant.pop())
    if not answer.job.waits and answer.job.state is not JobState.REFUSED:
        return None
    if is_structured(output):
        document = answer.document()
        emit(document["holders"], COLUMNS, output, {"run": run_path} | document)
    else:
        say("\n".join(answer.lines()))
        narrate(f"→ fairway why {word(answer.job.job)} {moment_words(run_path, moment)} --all-nodes")
    return NO
