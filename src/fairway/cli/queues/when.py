"""`fairway when`: when would it start? Changes nothing.

In: a run and a time of it; a job of it, manifests, or a size. Out: three dates, or now and where; and what would be
earlier. Called by `fairway.cli.main`; `explain.queues` plays the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say
from fairway.cli.queues.options import open_moment, run_options
from fairway.exit_codes import NO

if TYPE_CHECKING:
    from fairway.explain.queues.past_plan import PastPlan
    from fairway.explain.queues.start_answer import AskedJob, StartAnswer
    from fairway.model import Pod

__all__ = ["when"]

HELP = """\b
Examples:
  fairway when --cpu 4 --gpu 2 --members 8 --limit 12h --queue batch --run queues.duckdb --at 12h
  fairway when -f train.yaml --run queues.duckdb --at 12h    the jobs of a file, as if submitted then
  fairway when ml/train --run queues.duckdb --at 12h         a job that waits, as it was told
  fairway when --cpu 4 --run queues.duckdb --at 12h -o json

Say when a job would start if it were submitted at that moment of a run, the end unless --at says otherwise. The plan is
played from the state of the run: its cluster, its queues, who waits in which order, who runs until when, windows. What
would let it start earlier is said too, and was tried: a shorter limit, fewer members.

\b
Exit codes: 0 it starts some day; 3 it does not, as far as the plan looks ahead; 1 a file is wrong; 2 usage.
"""
COLUMNS = tuple(
    Column(key, key.upper())
    for key in ("job", "queue", "size", "startsNow", "likelySeconds", "safeSeconds", "byLimitsSeconds", "ahead")
)


@click.command(
    name="when", cls=Command, help=HELP, context_settings=CONTEXT, short_help="When would it start? Changes nothing."
)
@click.argument("job", metavar="[JOB]", required=False)
@run_options
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="Manifests of jobs; - is stdin.")
@click.option("--cpu", metavar="AMOUNT", help="What each member asks for: 4, 500m.")
@click.option("--memory", metavar="AMOUNT", help="What each member asks for: 16Gi.")
@click.option("--gpu", metavar="NUMBER", type=click.IntRange(0), default=0, help="nvidia.com/gpu of each member.")
@click.option("--members", type=click.IntRange(1, 100_000), default=1, show_default=True, help="How many of them.")
@click.option("--limit", metavar="TIME", help="How long it may run: 12h.  [default: the queue's]")
@click.option("--queue", metavar="QUEUE", help="Where it would wait.  [default: as it says, or the only one]")
@click.option("--user", metavar="USER", help="Whose job it would be.")
@output_option
def when(
    job: str | None,
    *,
    run_path: str | None,
    at: float | None,
    files: Sequence[str],
    cpu: str | None,
    memory: str | None,
    gpu: int,
    members: int,
    limit: str | None,
    queue: str | None,
    user: str | None,
    output: str,
) -> int:
    """See HELP, which is what users read."""
    from fairway.explain.queues.past_plan import past_plan
    from fairway.explain.queues.queue_jobs import find_queue_job, queue_jobs
    from fairway.explain.queues.run_queues import run_settings
    from fairway.explain.queues.start_answer import asked_of_pods, pod_of_size, start_answer, told_answer
    from fairway.explain.workloads.inputs import Inputs

    context = click.get_current_context()
    asked_ways = [name for name, given in (("JOB", job), ("-f", files), ("--cpu", cpu or memory or gpu)) if given]
    if len(asked_ways) != 1:
        which = f"{asked_ways[0]} and {asked_ways[1]} exclude each other" if asked_ways else "of what? JOB, -f or --cpu"
        raise click.UsageError(which, context)
    if job is not None and (limit or queue or user or members > 1):
        raise click.UsageError("a job of the run is as it is: leave out --limit, --queue, --user, --members", context)
    if files and (user or members > 1):
        raise click.UsageError("--user and --members are for --cpu; a file says it itself", context)
    with open_moment(run_path, at) as (run, moment):
        if job is not None:
            run_settings(run)
            answers = [told_answer(find_queue_job(queue_jobs(run, moment), job, moment), moment)]
        else:
            plan = past_plan(run, moment, Inputs(files) if files else None)
            if files:
                asked = _of_files(plan, queue, limit)
            else:
                pod = pod_of_size(next(iter(plan.trial.profiles)), cpu, memory, gpu, user)
                asked = [asked_of_pods(plan, "it", [pod] * members, queue, _seconds(limit))]
            answers = [start_answer(run, plan, each) for each in asked]
    return _show(answers, run_path, moment, output)


def _show(answers: Sequence[StartAnswer], run_path: str | None, at: float, output: str) -> int:
    if is_structured(output):
        documents = [answer.document() for answer in answers]
        rows = [
            document | (document["dates"] or {}) | {"ahead": (document["dates"] or {}).get("ahead", {}).get("jobs")}
            for document in documents
        ]
        emit(rows, COLUMNS, output, {"run": run_path, "atSeconds": at, "jobs": documents})
    else:
        for answer in answers:
            say("\n".join(answer.lines()))
        if any(answer.dates is not None and answer.dates.is_promised for answer in answers):
            narrate("promised: nothing that is submitted later can move it")
    return 0 if all(answer.has_date for answer in answers) else NO


def _of_files(plan: PastPlan, queue: str | None, limit: str | None) -> list[AskedJob]:
    from fairway.explain.queues.start_answer import asked_of_pods

    asked = []
    for wanted in plan.trial.wanted:
        pods: list[Pod] = list(plan.trial.pods_of(wanted, range(wanted.num_pods)))
        if pods:
            asked.append(asked_of_pods(plan, f"{wanted.namespace}/{wanted.name}", pods, queue, _seconds(limit)))
    return asked


def _seconds(limit: str | None) -> float | None:
    from fairway.model.seconds import parse_seconds

    if limit is None:
        return None
    try:
        seconds = parse_seconds(limit)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--limit") from error
    if not seconds > 0:
        raise click.BadParameter(f"{limit!r} is not more than 0", param_hint="--limit")
    return seconds
