"""`fairway try`: would it fit, where, and how many?

In: files with pods and with a cluster. Out: where each pod would go, who would be evicted for it, and for each pod
that fits nowhere kube-scheduler's message and the funnel of reasons; what becomes of roll-outs; what was not counted.
Exit code 0 if all pods get a node, 3 if not, 5 if they do and something that may make pods was not counted. Called by
`fairway.cli.main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import Command
from fairway.cli.optimum.options import (
    OptimumChoices,
    judge_trial,
    optimum_documents,
    optimum_options,
    print_optimum,
    refuse_optimum,
)
from fairway.cli.options.live import LiveCluster, live_options, refuse_live
from fairway.cli.options.run import at_option, run_option
from fairway.cli.options.trial import need_files, refuse_files, trial_arguments, trial_options
from fairway.cli.output import emit, is_structured, narrate, output_option, progress, say, word
from fairway.cli.trial_table import SCREEN, chosen_rows, folded_rows, table_options
from fairway.exit_codes import FAILED, NO, NOT_COUNTED
from fairway.words import count_text

if TYPE_CHECKING:
    from fairway.explain.trial import Trial
    from fairway.explain.try_answer import PlayedRollout, TryAnswer
    from fairway.explain.workloads.inputs import Inputs

__all__ = ["try_command"]

HELP = """\b
Examples:
  fairway try -f web.yaml --cluster cluster.yaml             where would these pods go?
  fairway try -f web.yaml --cluster cluster.yaml --copies max   how many of them fit?
  fairway try -f web.yaml --live                             on the cluster of your kubeconfig
  fairway try -k overlays/prod --live --rollout              and while the old version leaves?
  fairway try -f web.yaml --cluster cluster.yaml --config scheduler.yaml -o json
  fairway try -f web.yaml --run day.duckdb --at 12h          would it have fitted at noon?
  fairway try -f web.yaml --cluster cluster.yaml --optimum   and how far is that from the best placement?
  fairway try -f train.yaml --live --gang train=8            all eight together, or not at all?

Place pods on a cluster as the scheduler would, most important first, each finding the cluster as the one before
left it. Nothing outside this command changes. Deployments, StatefulSets, Jobs and the like are expanded to
their pods, and so are JobSets, RayClusters and others of a table (docs/kinds.md) that --kinds extends; a Job counts
the pods that run at the same time. Of pods that the cluster has already only the missing ones are placed. Where the
template differs from that of the pods there, the roll-out is played step by step. With --run, the cluster is that of a
run at a time, and its schedulers decide unless --config says otherwise.

\b
A cluster of your own, with everything that a decision may depend on:
  kubectl get nodes,pods,pvc,pv,storageclasses,namespaces,priorityclasses,pdb,services,replicasets,\
statefulsets,deployments,daemonsets,jobs,csinodes,csidrivers,csistoragecapacities -A -o yaml > cluster.yaml

\b
Exit codes: 0 all pods get a node; 3 some do not, or a roll-out gets stuck; 5 all do, but something that may make
pods was not counted; 1 a file or a plugin is wrong; 2 usage; 4 the cluster can not be reached.
"""


class CopiesOption(click.ParamType[int]):
    """A number of copies, or `max`."""

    name = "N|max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """0 stands for as many as fit."""
        if value == "max":
            return 0
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is not a number of copies; allowed: 1 or more, or max", param, ctx)
        return number


class GangOption(click.ParamType[tuple[str, int]]):
    """What makes pods, and how many of them start together."""

    name = "NAME=MIN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Both."""
        name, _, least = str(value).rpartition("=")
        if not name or not least.isdecimal() or int(least) < 1:
            self.fail(f"{value!r} is not a name and a number, such as train=8", param, ctx)
        return name, int(least)


@click.command(name="try", cls=Command, help=HELP, short_help="Would it fit, where, and how many?")
@trial_options
@run_option
@at_option
@live_options
@click.option(
    "--copies",
    type=CopiesOption(),
    metavar="N|max",
    help="Instead: how many copies of each pod fit, each kind of pod alone on the cluster, without evicting anybody.",
)
@click.option(
    "--rollout",
    is_flag=True,
    help="Play the roll-out of every Deployment, StatefulSet and DaemonSet that the cluster has pods of, also where no "
    "difference is seen.",
)
@click.option(
    "--gang",
    "gangs",
    type=GangOption(),
    multiple=True,
    metavar="NAME=MIN",
    help="Pods of the Deployment, Job or the like of that name start together, so many at least, or not at all.",
)
@table_options
@optimum_options(of_runs=False)
@output_option
def try_command(
    *,
    files: Inputs,
    cluster_files: Sequence[str],
    config: str | None,
    seed: int,
    run_path: str | None,
    at: float | None,
    live: LiveCluster | None,
    copies: int | None,
    rollout: bool,
    gangs: Sequence[tuple[str, int]],
    only: str | None,
    sort: str | None,
    optimum: OptimumChoices | None,
    output: str,
) -> int:
    """See HELP, which is what users read."""
    need_files(files)
    files = replace(files, rollout=rollout)
    refuse_live(live, run=run_path, cluster=cluster_files)
    if live is not None:
        from fairway.cli.run import live_errors
        from fairway.explain.live_cluster import live_objects
        from fairway.explain.live_forms import LiveForms
        from fairway.explain.trial import open_trial

        there = live_errors(live_objects(*live, narrate, config))
        with LiveForms(*live) as forms:
            trial, moment = open_trial(files, (), config, seed, there, forms), f" {live.arguments}"
    else:
        trial, moment = _open(files, cluster_files, config, seed, run_path, at)
    if gangs:
        from fairway.explain.jobs.asked_gangs import with_gangs

        trial = with_gangs(trial, dict(gangs))
    for note in trial.manifests.notes:
        narrate(note)
    if copies is not None:
        refuse_optimum(optimum, "--copies")
        from fairway.cli.copies import print_copies

        code = print_copies(trial, copies, output)
        _tell_not_counted(trial)
        return code or (NOT_COUNTED if trial.manifests.not_counted else 0)
    from fairway.explain.try_answer import COLUMNS, try_all

    with progress("placing pods", sum(one.num_pods for one in trial.manifests.wanted)) as advance:
        answer = try_all(trial, advance)
    judged = judge_trial(trial, answer.verdicts, optimum)
    answer.rollouts = _play(trial, answer)
    rows = chosen_rows(answer.rows(), only, sort)
    if is_structured(output):
        emit(rows, COLUMNS, output, answer.document(rows) | _not_counted(trial) | optimum_documents(judged))
        if output in ("csv", "name"):  # which have no place for it
            _tell_not_counted(trial)
    else:
        _tell(answer, rows, output, is_explained=only != "placed")
        print_optimum(judged, optimum)
        if (failed := answer.first_failure) is not None:
            narrate(f"→ fairway why {word(failed)} {trial_arguments(files, cluster_files, config, seed)}{moment}")
    if any(verdict.result == "error" for verdict in answer.verdicts):
        return FAILED
    if not answer.fits:
        return NO
    return NOT_COUNTED if trial.manifests.not_counted else 0


def _tell_not_counted(trial: Trial) -> None:
    for one in trial.manifests.not_counted:
        narrate(f"not counted: {one.title} ({one.reason})")


def _play(trial: Trial, answer: TryAnswer) -> list[PlayedRollout]:
    if not trial.manifests.rollouts:
        return []
    from fairway.rehearsal.rollout_play import play_rollouts
    from fairway.rehearsal.rollout_text import played

    with progress("playing roll-outs", len(trial.manifests.rollouts)) as advance:
        answers = play_rollouts(trial, answer.verdicts, lambda rollout: advance(1))
    return [played(one, answer.num_nodes) for one in answers]


def _not_counted(trial: Trial) -> dict[str, Any]:
    """What the document says of what was not looked at."""
    return {
        "notCounted": [
            {"kind": one.kind, "name": one.name, "reason": one.reason, "source": str(one.source)}
            for one in trial.manifests.not_counted
        ]
    }


def _open(
    files: Inputs,
    cluster_files: Sequence[str],
    config: str | None,
    seed: int,
    run_path: str | None,
    at: float | None,
) -> tuple[Trial, str]:
    """The trial on a cluster from files, or on that of a run; and the options that name the run, for hints."""
    if run_path is None:
        from fairway.explain.trial import open_trial

        if at is not None:
            raise click.UsageError("--at needs --run", click.get_current_context())
        return open_trial(files, cluster_files, config, seed), ""
    from fairway.explain.run_trial import open_run_trial

    refuse_files("cluster")
    trial, options, notes = open_run_trial(run_path, at, files, config, seed)
    for note in notes:
        narrate(f"note: {note}")
    return trial, options


def _tell(answer: TryAnswer, rows: Sequence[dict[str, Any]], output: str, *, is_explained: bool) -> None:
    """For people: the table, why pods fit nowhere, roll-outs, the summary; which comes first if the table is long."""
    is_long = len(rows) > SCREEN
    if is_long:
        say(f"{answer.summary}\n")
    if answer.verdicts:
        _print_table(rows, output)
    lines = [*(answer.failure_lines() if is_explained else ()), *answer.rollout_lines()]
    say("".join(f"{line}\n" for line in lines), nl=False)
    if not is_long:
        say(f"\n{answer.summary}" if answer.verdicts or lines else answer.summary)


def _print_table(rows: Sequence[dict[str, Any]], output: str) -> None:
    from fairway.explain.try_answer import COLUMNS

    shown = folded_rows(rows) if output == "table" else rows
    emit(shown, COLUMNS, output)
    if len(shown) < len(rows):
        narrate(f"note: pods that fared alike are one row; -o wide has all {count_text(len(rows))}")
