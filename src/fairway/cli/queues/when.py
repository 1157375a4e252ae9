"""`fairway when`: when would it start? Changes nothing.

In: a cluster or a run; a job of it, manifests, or a size. Out: three dates, or now and where; and what would be
earlier. Called by `fairway.cli.main`; `explain.queues` plays the plan, that of a cluster inside its scheduler.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say
from fairway.cli.queues.options import QueueSource, ask_queues, open_queues, source_options
from fairway.exit_codes import NO

if TYPE_CHECKING:
    from fairway.explain.queues.asked_jobs import AskedJob
    from fairway.explain.queues.past_plan import PastPlan
    from fairway.explain.queues.start_answer import StartAnswer
    from fairway.live.scheduler_client import SchedulerAddress
    from fairway.model import Pod

__all__ = ["when"]

HELP = """\b
Examples:
  fairway when ml/train                                      a job of this cluster that waits, as it was told
  fairway when -f train.yaml                                 the jobs of a file, if submitted now
  fairway when --cpu 4 --gpu 2 --members 8 --limit 12h --queue batch --scheduler https://localhost:10259
  fairway when --cpu 4 --gpu 2 --members 8 --limit 12h --queue batch --run queues.duckdb --at 12h
  fairway when -f train.yaml --run queues.duckdb --at 12h    of a run, as if submitted then

Say when a job would start if it were submitted: to the cluster now, or at a moment of a run, its end unless --at says
otherwise. A job that waits already is told its dates. Of any other the cluster's scheduler is asked, the one that its
queue names or --scheduler URL, which plays its plan: who waits in which order, who runs until when, windows. Of a run
the plan is played from the state of the run. What would let it start earlier is said too, and was tried: a shorter
limit, fewer members.

\b
Exit codes: 0 it starts some day; 3 it does not, as far as the plan looks ahead; 1 a file is wrong, or the cluster has
no queues; 2 usage; 4 the cluster or its scheduler can not be reached, or does not let you.
"""
COLUMNS = tuple(
    Column(key, key.upper())
    for key in ("job", "queue", "size", "startsNow", "likelySeconds", "safeSeconds", "byLimitsSeconds", "ahead")
)


@click.command(
    name="when", cls=Command, help=HELP, context_settings=CONTEXT, short_help="When would it start? Changes nothing."
)
@click.argument("job", metavar="[JOB]", required=False)
@source_options
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
    source: QueueSource,
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
    context = click.get_current_context()
    asked_ways = [name for name, given in (("JOB", job), ("-f", files), ("--cpu", cpu or memory or gpu)) if given]
    if len(asked_ways) != 1:
        which = f"{asked_ways[0]} and {asked_ways[1]} exclude each other" if asked_ways else "of what? JOB, -f or --cpu"
        raise click.UsageError(which, context)
    if job is not None and (limit or queue or user or members > 1):
        raise click.UsageError("a job that waits is as it is: leave out --limit, --queue, --user, --members", context)
    if files and (user or members > 1):
        raise click.UsageError("--user and --members are for --cpu; a file says it itself", context)
    if job is not None:
        return _of_job(source, job, output)
    if not source.is_run:
        size = {"cpu": cpu, "memory": memory, "gpu": gpu, "members": members, "limit": limit, "queue": queue}
        return _ask(source, files, size | {"user": user}, output)
    from fairway.explain.queues.asked_jobs import asked_of_pods, pod_of_size
    from fairway.explain.queues.past_plan import past_plan
    from fairway.explain.queues.start_answer import start_answer
    from fairway.explain.workloads.inputs import Inputs

    with open_queues(source, ()) as opened:
        assert opened.run is not None
        plan = past_plan(opened.run, Inputs(files) if files else None)
        if files:
            asked = _of_files(plan, queue, limit)
        else:
            pod = pod_of_size(plan.profile, cpu, memory, gpu, user)
            asked = [asked_of_pods(plan, "it", [pod] * members, queue, _seconds(limit))]
        answers = [start_answer(plan, each) for each in asked]
        return _show(answers, opened.about, plan.at, output)


def _of_job(source: QueueSource, job: str, output: str) -> int:
    """One that waits: as it was told, or by a plan if it was told nothing yet and there is a plan."""
    from fairway.explain.queues.queue_jobs import find_queue_job
    from fairway.explain.queues.start_answer import told_answer

    place = source.cluster.within(job)
    with open_queues(source._replace(cluster=place), ("jobrecords",), ("queues",)) as opened:
        moment, run = opened.moment, opened.run
        found = find_queue_job(moment.jobs, job, moment.at)
        if run is None:
            if found.waits and found.dates is None and source.scheduler is not None:
                return _post(source, source.scheduler, json.dumps({"job": found.job}).encode(), {}, output)
            return _show([told_answer(moment, found)], opened.about, moment.at, output)
        from fairway.explain.queues.past_plan import past_plan

        return _show([told_answer(moment, found, lambda: past_plan(run))], opened.about, moment.at, output)


def _ask(source: QueueSource, files: Sequence[str], size: dict[str, Any], output: str) -> int:
    """Of a job that nobody has submitted: its scheduler knows, the one that is named or the one that is found."""
    from fairway.cli.queues.found_scheduler import find_scheduler, found_errors

    body, query = _texts(files) if files else b"", dict[str, str]()
    if files:
        limit = _seconds(size["limit"])
        said = {"queue": size["queue"], "limit": None if limit is None else str(limit)}
        query = {name: value for name, value in said.items() if value is not None}
    else:
        body = json.dumps({name: value for name, value in size.items() if value is not None}).encode()
    address = source.scheduler or find_scheduler(source.cluster, size["queue"])
    with found_errors(address, is_found=source.scheduler is None):
        return _post(source, address, body, query, output)


def _texts(files: Sequence[str]) -> bytes:
    """Manifests as one stream of YAML, which JSON is as well."""
    from pathlib import Path

    texts = []
    for name in files:
        path = Path(name)
        if name == "-":
            texts.append(sys.stdin.buffer.read())
        elif path.is_dir():
            texts += [one.read_bytes() for one in sorted(path.iterdir()) if one.suffix in (".yaml", ".yml", ".json")]
        else:
            texts.append(path.read_bytes())
    return b"\n---\n".join(texts)


def _post(source: QueueSource, scheduler: SchedulerAddress, body: bytes, query: dict[str, str], output: str) -> int:
    from urllib.parse import urlencode

    from fairway.explain.queues.queue_moment import WallTimes
    from fairway.explain.queues.start_answer import read_answer

    asked = source._replace(scheduler=scheduler)
    document = ask_queues(asked, "/fairway/v1/when" + (f"?{urlencode(query)}" if query else ""), body)
    times = WallTimes(float(document.get("atSeconds") or 0.0))
    answers = [read_answer(each, times) for each in document.get("jobs", ())]
    return _show(answers, {"scheduler": scheduler.url}, float(document.get("atSeconds") or 0.0), output)


def _show(answers: Sequence[StartAnswer], about: dict[str, Any], at: float, output: str) -> int:
    if is_structured(output):
        documents = [answer.document() for answer in answers]
        rows = [
            document | (document["dates"] or {}) | {"ahead": (document["dates"] or {}).get("ahead", {}).get("jobs")}
            for document in documents
        ]
        emit(rows, COLUMNS, output, about | {"atSeconds": at, "jobs": documents})
    else:
        for answer in answers:
            say("\n".join(answer.lines()))
        if any(answer.dates is not None and answer.dates.is_promised for answer in answers):
            narrate("promised: nothing that is submitted later can move it")
    return 0 if all(answer.has_date for answer in answers) else NO


def _of_files(plan: PastPlan, queue: str | None, limit: str | None) -> list[AskedJob]:
    from fairway.explain.queues.asked_jobs import asked_of_pods

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
