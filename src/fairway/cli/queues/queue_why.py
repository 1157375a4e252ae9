"""`fairway why JOB` of a job that waits in a queue: prints who holds its room, what would be earlier.

In: a run's file and a time of it, a cluster, or what its scheduler said; a name. Out: the printed answer and the exit
code, 3 as it does not run; None if the name is no job of a queue then that waits or is refused. Called by `why`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.batch.reasons import JobState
from fairway.cli.main import CommandError
from fairway.cli.options.live import LiveCluster
from fairway.cli.output import Column, emit, is_structured, narrate, say, word
from fairway.cli.queues.options import QueueCluster, QueueSource, moment_words, open_moment, open_queues
from fairway.exit_codes import NO
from fairway.explain.queues.past_plan import past_plan
from fairway.explain.queues.queue_moment import QueueMoment
from fairway.explain.queues.queue_why import QueueWhy, queue_why, read_why

__all__ = ["explain_cluster_job", "explain_queue_job", "print_scheduler_why"]

COLUMNS = (Column("job", "JOB"), Column("node", "NODE"), Column("untilSeconds", "UNTIL"))
KINDS = (("jobrecords",), ("queues", "accounts"))


def explain_queue_job(run_path: str, name: str, at: float | None, output: str) -> int | None:
    """Print the answer about a job of a run, if there is one."""
    from fairway.record import Run

    with Run.open(run_path) as run:
        if not run.knows_queues or all(one.batch is None for one in run.schedulers or ()):
            return None
    with open_moment(run_path, at) as moment:
        meant = _meant(moment, name)
        if meant is None:
            return None
        answer = queue_why(moment, meant, lambda: past_plan(moment))
        return _print(answer, {"run": run_path}, moment_words(run_path, moment.at), output)


def explain_cluster_job(live: LiveCluster, name: str, output: str) -> int | None:
    """Print the answer of a cluster's records, if one is of a job of that name that waits or is refused."""
    place = QueueCluster(live, is_named=True).within(name.removeprefix("pod/"))
    try:
        with open_queues(QueueSource(None, None, place), *KINDS) as opened:
            meant = _meant(opened.moment, name)
            if meant is None:
                return None
            answer = queue_why(opened.moment, meant, None)
            code = _print(answer, opened.about, live.arguments, output)
    except CommandError:
        return None  # no queues there, or none that we may see: who asks on is told what is wrong
    if not is_structured(output) and answer.job.waits:
        narrate("who holds its room, and what would be earlier, its scheduler knows: --scheduler URL")
    return code


def print_scheduler_why(found: Mapping[str, Any], live: LiveCluster, output: str) -> int:
    """Print what a scheduler says; what records say of the job is read from the cluster, as far as we may."""
    if is_structured(output):
        emit(found["holders"], COLUMNS, output, {name: found[name] for name in found if name != "text"})
        return NO
    place = QueueCluster(live, is_named=True).within(str(found["job"]))
    try:
        with open_queues(QueueSource(None, None, place), *KINDS) as opened:
            say("\n".join(read_why(found, opened.moment).lines()))
    except CommandError:
        say("\n".join(found["text"]))  # in the scheduler's own time zone
    return NO


def _meant(moment: QueueMoment, name: str) -> str | None:
    """The one job of that name that waits or is refused."""
    name = name.removeprefix("pod/").removeprefix("job/")
    meant = {job.job: job for job in moment.jobs if name == job.job or job.job.endswith(f"/{name}")}
    found = next(iter(meant.values()), None)
    return found.job if len(meant) == 1 and found and (found.waits or found.state is JobState.REFUSED) else None


def _print(answer: QueueWhy, about: dict[str, Any], words: str, output: str) -> int:
    if is_structured(output):
        document = answer.document()
        emit(document["holders"], COLUMNS, output, about | document)
    else:
        say("\n".join(answer.lines()))
        narrate(f"→ fairway why {word(answer.job.job)} {words} --all-nodes")
    return NO
