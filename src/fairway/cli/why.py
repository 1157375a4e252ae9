"""`fairway why POD`: why here, why not there, what would fix it?

In: the files of a trial and the name of one of its pods. The pods before it in the queue are placed first, so the
answer is that of the moment at which `fairway try` came to it. Out: for a pod with a node the scores that decided,
for one without the funnel of reasons and the changes that would let it fit. Exit code 0 if it gets a node, 3 if not.
With `--run`, the pods are those of a run, and `run_why` answers; or those of the files, on the run's cluster. Called by
`fairway.cli.main`; the words are in `explanation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import Command
from fairway.cli.options.live import (
    LiveCluster,
    live_options,
    refuse_live,
    refuse_with_scheduler,
    scheduler_options,
)
from fairway.cli.options.run import at_option, run_option
from fairway.cli.options.trial import need_files, refuse_files, trial_arguments, trial_options
from fairway.cli.output import emit, is_structured, narrate, output_option, say, word
from fairway.exit_codes import FAILED, NO

if TYPE_CHECKING:
    from fairway.explain.trial import Trial
    from fairway.explain.workloads.inputs import Inputs
    from fairway.live.scheduler_client import SchedulerAddress
    from fairway.model import Loaded

__all__ = ["why"]

HELP = """\b
Examples:
  fairway why web-0 -f web.yaml --cluster cluster.yaml               why there, or why nowhere?
  fairway why web-0 -f web.yaml --cluster cluster.yaml --node n1     and why not on n1?
  fairway why shop/web-0 -f web.yaml --cluster cluster.yaml --all-nodes
  fairway why web-0 --context lab                                    why does it wait, in a live cluster?
  fairway why web-0 --run day.duckdb                                 what happened to it in a run?
  fairway why web-0 --run day.duckdb --attempt 3                     why did that fail?
  fairway why web-0 -f web.yaml --run day.duckdb --at 14h            and a pod that was not in it?
  fairway why ml/train --run day.duckdb --at 14h                     why does that job wait, and who holds its room?

Explain what `fairway try` with the same files and options decides about one pod: POD is its name, with its namespace
before a slash if there are several of that name. With --run: what became of a pod of that run, and why, on the cluster
as it was when it got its node, at a time (--at) or at one of its attempts (--attempt). With --run and -f: a pod of the
files, on the run's cluster at that time.

The funnel shows how many nodes are left after each plugin and what was wrong with the others. Every fix that is
proposed was tried: the number of nodes is what the scheduler found with that change.

A job of a queue that waits (docs/batch.md) is answered by the plan: when it starts and why not now, who holds its room
until when, what would let it start earlier. --all-nodes shows what every node has to say instead.

A name that no pod has is looked for among jobs, pods that start together (docs/gangs.md); --job means the job even if a
pod is called so. Of a job: how many members fit, in which domains there is room, who holds the rest, which member is in
the way, and what would let all of them start.

\b
Exit codes: 0 the pod gets a node; 3 it does not; 1 a file or a plugin is wrong; 2 usage.
"""


@click.command(name="why", cls=Command, help=HELP, short_help="Why here, why not there, what would fix it?")
@click.argument("pod_name", metavar="POD")
@trial_options
@run_option
@at_option
@live_options
@scheduler_options
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="That attempt of the run to place the pod.")
@click.option("--node", "node_name", metavar="NODE", help="Explain this node only.")
@click.option("--all-nodes", is_flag=True, help="Give the reason, or the scores, of every node.")
@click.option("--job", "is_job", is_flag=True, help="POD is the name of a job: pods that start together.")
@output_option
def why(
    pod_name: str,
    *,
    files: Inputs,
    cluster_files: Sequence[str],
    config: str | None,
    seed: int,
    run_path: str | None,
    at: float | None,
    live: LiveCluster | None,
    scheduler: SchedulerAddress | None,
    attempt: int | None,
    node_name: str | None,
    all_nodes: bool,
    is_job: bool,
    output: str,
) -> int:
    """See HELP, which is what users read."""
    _refuse_both({"--node": node_name is not None, "--all-nodes": all_nodes})
    _refuse_both({"--job": is_job, "--node": node_name is not None})
    _refuse_both({"--job": is_job, "--attempt": attempt is not None})
    _refuse_both({"--at": at is not None, "--attempt": attempt is not None})
    if scheduler is not None:
        from fairway.cli.scheduler_api import explain_job, explain_pod

        refuse_with_scheduler(
            {"--filename": files.names, "--cluster": cluster_files, "--config": config, "--seed": seed}
            | {"--run": run_path, "--at": at, "--attempt": attempt}
        )
        kubeconfig, context = live or (None, None)
        if is_job:
            return explain_job(scheduler, pod_name, kubeconfig, context, output)
        return explain_pod(scheduler, pod_name, kubeconfig, context, node=node_name, all_nodes=all_nodes, output=output)
    if run_path is not None and not files.names:
        from fairway.cli.job_why import explain_run_job, names_job
        from fairway.cli.run_why import explain_run

        refuse_files("filename", "cluster", "config", "seed")
        if attempt is None and node_name is None and not all_nodes:
            from fairway.cli.queues.queue_why import explain_queue_job

            code = explain_queue_job(run_path, pod_name, at, output)
            if code is not None:
                return code
        if is_job or (attempt is None and node_name is None and names_job(run_path, pod_name)):
            return explain_run_job(run_path, pod_name, at, output)
        return explain_run(
            run_path, pod_name, at=at, attempt=attempt, node_name=node_name, all_nodes=all_nodes, output=output
        )
    refuse_live(live, run=run_path, cluster=cluster_files, attempt=attempt, at=at)
    if live is not None:
        is_plain = not (files.names or node_name or all_nodes or config)
        found = _of_live(live, pod_name, files, config, seed, output, is_job=is_job, is_plain=is_plain)
        if isinstance(found, int):
            return found
        trial, moment = found, f" {live.arguments}"
    else:
        trial, moment = _open(files, cluster_files, config, seed, run_path, at, attempt)
    options = (trial_arguments(files, cluster_files, config, seed) + moment).lstrip()
    if is_job or _is_job(trial, pod_name):
        from fairway.cli.job_why import print_job
        from fairway.explain.jobs.job_answer import job_of_trial

        return print_job(job_of_trial(trial, pod_name), options, output)
    return _explain_trial(trial, pod_name, node_name, all_nodes or output == "wide", options, output)


def _of_live(
    live: LiveCluster,
    name: str,
    files: Inputs,
    config: str | None,
    seed: int,
    output: str,
    *,
    is_job: bool,
    is_plain: bool,
) -> int | Trial:
    """A trial on a live cluster; or the exit code, if a job is meant, and explained. `is_plain`: just why it waits."""
    from fairway.cli.job_why import explain_live_job
    from fairway.cli.queues.queue_why import explain_cluster_job
    from fairway.cli.run import live_errors
    from fairway.explain.live_cluster import live_objects

    code = explain_cluster_job(live, name, output) if is_plain else None
    if code is not None:
        return code
    there = live_errors(live_objects(*live, narrate, config))
    if not files.names:
        code = explain_live_job(there, live, name, config, seed, output, is_job)
    return _open_live(there, name, files, config, seed) if code is None else code


def _explain_trial(trial: Trial, pod_name: str, node_name: str | None, every: bool, options: str, output: str) -> int:
    """What a trial decides about one of its pods, printed; `options` are those for asking further."""
    from fairway.explain.explanation import COLUMNS
    from fairway.explain.why_answer import why_pod

    answer = why_pod(trial, pod_name, node=node_name, all_nodes=every)
    explanation, rows = answer.explanation, answer.rows()
    if is_structured(output):
        emit(rows, COLUMNS, output, answer.document())
    else:
        say("\n".join(answer.lines()))
        if every and node_name is None:
            say()
            emit(rows, COLUMNS, "wide" if output == "wide" else "table")
        elif node_name is None and (other := explanation.other_node()):
            narrate(f"→ fairway why {word(explanation.pod.key)} --node {word(other)} {options}")
    if explanation.verdict.result == "error":
        return FAILED
    return 0 if answer.fits else NO


def _open(
    files: Inputs,
    cluster_files: Sequence[str],
    config: str | None,
    seed: int,
    run_path: str | None,
    at: float | None,
    attempt: int | None,
) -> tuple[Trial, str]:
    """The trial of pods from files, on a cluster from files or on that of a run; and the options that name the run."""
    context = click.get_current_context()
    if run_path is None and (at is not None or attempt is not None):
        raise click.UsageError("--at and --attempt need --run", context)
    if attempt is not None:
        raise click.UsageError("--attempt is for pods of the run, not for those of -f", context)
    need_files(files)
    if run_path is None:
        from fairway.explain.trial import open_trial

        return open_trial(files, cluster_files, config, seed), ""
    from fairway.explain.run_trial import open_run_trial

    refuse_files("cluster")
    trial, options, notes = open_run_trial(run_path, at, files, config, seed)
    for note in notes:
        narrate(f"note: {note}")
    return trial, options


def _is_job(trial: Trial, name: str) -> bool:
    """Is no pod called so, but a job?"""
    if all(profile.gangs is None for profile in trial.profiles.values()):
        return False
    from fairway.explain.jobs.job_answer import names_job_of_trial

    return names_job_of_trial(trial, name.removeprefix("pod/"))


def _open_live(there: Sequence[Loaded], name: str, files: Inputs, config: str | None, seed: int) -> Trial:
    """A trial on a live cluster: of one of its own pods, as if it had no node, or of pods from files."""
    from fairway.explain.live_cluster import pod_trial
    from fairway.explain.trial import open_trial

    if files.names:
        return open_trial(files, (), config, seed, there)
    trial, node, note = pod_trial(there, name, config, seed, files.time)
    if note:
        narrate(note)
    if node:
        narrate(f"it is on {node}; this is how it would be decided now")
    return trial


def _refuse_both(given: dict[str, bool]) -> None:
    if all(given.values()):
        raise click.UsageError(f"{' and '.join(given)} exclude each other", click.get_current_context())
