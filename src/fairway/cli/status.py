"""`fairway status`: what is free, who waits, where does the time go?

In: a run and a time of it. Out: resources with what is held and what is free, pods that wait by reason, and, if asked
for, every node, the nodes of each value of a label, or what each plugin took. Called by `fairway.cli.main`;
`run_status` and `plugin_times` read the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import (
    LiveCluster,
    live_options,
    refuse_live,
    refuse_with_scheduler,
    repeat,
    scheduler_options,
    watch_option,
)
from fairway.cli.options.run import at_option, run_option, tell_notes
from fairway.cli.output import emit, is_structured, narrate, output_option, say, word
from fairway.cli.status_table import status_document, status_table, summary_lines
from fairway.words import time_text

if TYPE_CHECKING:
    from fairway.explain.run_status import Status
    from fairway.live.scheduler_client import SchedulerAddress
    from fairway.model import ApiObject
    from fairway.record import Run

__all__ = ["status"]

HELP = """\b
Examples:
  fairway status --run day.duckdb --at 12h                      at noon: what is free, who waits?
  fairway status --run day.duckdb --at 00:14:09 --nodes         and on every node?
  fairway status --run day.duckdb --by topology.kubernetes.io/zone
  fairway status --run day.duckdb --plugins                     where does the schedulers' time go?
  fairway status --run day.duckdb --data                        where are the datasets, who uses them?
  fairway status --run day.duckdb -o json
  fairway status --live                                         the cluster of the current context, now
  fairway status --live --watch                                 and again, every two seconds

Show how the cluster of a run stood at one time, the end unless --at says otherwise. What is held counts from binding
on. Only ready nodes count towards what there is; FREE ON ONE NODE is the largest piece that a pod could get. A waiting
pod counts once, for the reason that refused most nodes at its last attempt. --plugins needs a run that was recorded
with --plugin-times; a plugin's time does not include that of others that it asks. --data lists datasets: nodes that
hold (COPIES) or serve (GATEWAYS) them, the load of those that serve, pods on nodes and pods without that use them, and
what is told of nodes that are gone or not ready (STALE).
"""


@click.command(
    name="status",
    cls=Command,
    help=HELP,
    context_settings=CONTEXT,
    short_help="What is free, who waits, where does the time go?",
)
@run_option
@at_option
@live_options
@scheduler_options
@click.option("--nodes", "by_node", is_flag=True, help="Every node.")
@click.option("--by", "label", metavar="LABEL", help="The nodes of each value of this label together.")
@click.option("--plugins", is_flag=True, help="What each plugin took at each extension point, in CPU time.")
@click.option("--data", is_flag=True, help="Datasets: where they are, and who uses them.")
@watch_option
@output_option
def status(
    *,
    run_path: str | None,
    at: float | None,
    live: LiveCluster | None,
    scheduler: SchedulerAddress | None,
    by_node: bool,
    label: str | None,
    plugins: bool,
    data: bool,
    watch: float | None,
    output: str,
) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.run_status import read_status
    from fairway.explain.run_time import check_time
    from fairway.record import Run

    context = click.get_current_context()
    if watch is not None and live is None and scheduler is None:
        raise click.UsageError("--watch is for a live cluster: --live, --context NAME or --scheduler URL", context)
    if by_node + (label is not None) + plugins + data > 1:
        raise click.UsageError("--nodes, --by, --plugins and --data exclude each other", context)
    if scheduler is not None:
        refuse_with_scheduler({"--run": run_path, "--at": at, "--plugins": plugins, "--data": data})
        repeat(lambda: _show_scheduler(scheduler, live, by_node, label, output), watch)
        return
    refuse_live(live, run=run_path, at=at, plugins=plugins)
    if live is not None:
        repeat(lambda: _show_live(live, by_node, label, data, output), watch)
        return
    if run_path is None:
        raise click.UsageError(
            "of what? --run RUN (that `fairway sim --save RUN` wrote), --live, --context NAME or --scheduler URL",
            context,
        )
    with Run.open(run_path) as run:
        if plugins:
            tell_notes(run)
            _show_plugins(run, check_time(run, at), output)
            return
        tell_notes(run)
        if data:
            _show_run_data(run, check_time(run, at), output)
            return
        standing = read_status(run, check_time(run, at))
        resources = [one for one in run.resources if _is_there(one, standing)]
        is_explained = bool(run.schedulers)  # else nobody knows what they would say
        when = time_text(standing.at) + (f" of {time_text(run.end_seconds)}" if standing.at != run.end_seconds else "")
    rows, columns = status_table(standing, by_node, label, resources, exact=is_structured(output))
    if is_structured(output):
        document = {"run": run_path, "atSeconds": standing.at} | status_document(
            standing, rows if by_node or label else None, label
        )
        emit(rows, columns, output, document)
        return
    say("\n".join(summary_lines(standing, when)))
    if by_node or label is not None:
        say()
        emit(rows, columns, output)
    if standing.waiting and is_explained:
        which = f"--run {shlex.quote(run_path)} --at {shlex.quote(time_text(standing.at))}"
        narrate(f"→ fairway why {word(standing.waiting[0].job or standing.waiting[0].pod)} {which}")


def _show_scheduler(
    address: SchedulerAddress, live: LiveCluster | None, by_node: bool, label: str | None, output: str
) -> None:
    """As a live cluster, but in the scheduler's own numbers; and with its queue, pod by pod, if all is asked for."""
    from time import time  # noqa: TID251 - how long pods have waited in a cluster that runs by the wall clock

    from fairway.cli.scheduler_api import WAITING, ask_view

    kubeconfig, context = live or (None, None)
    view = ask_view(address, kubeconfig, context, time())
    standing = view.status
    names = [one.resource for one in standing.resources if one.resource != "pods"]
    rows, columns = status_table(standing, by_node, label, names, exact=is_structured(output))
    if is_structured(output):
        document = {"scheduler": view.scheduler, "queue": view.queue, "time": standing.at}
        emit(rows, columns, output, document | status_document(standing, rows if by_node or label else None, label))
        return
    say("\n".join(summary_lines(standing, view.words)))
    if by_node or label is not None:
        say()
        emit(rows, columns, output)
    if output == "wide" and view.queue:
        say()
        emit(view.queue, WAITING, output)


def _show_live(live: LiveCluster, by_node: bool, label: str | None, data: bool, output: str) -> None:
    from time import time  # noqa: TID251 - how long pods have waited in a cluster that runs by the wall clock

    from fairway.cli.run import live_errors
    from fairway.explain.live_cluster import live_objects, live_status

    objects = live_errors(live_objects(*live, narrate, every_kind=data))
    if data:
        _show_data([one.object for one in objects], live.context or "now", {"context": live.context}, output)
        return
    standing = live_status(objects, time())
    names = [one.resource for one in standing.resources if one.resource != "pods"]
    rows, columns = status_table(standing, by_node, label, names, exact=is_structured(output))
    if is_structured(output):
        document = {"context": live.context, "time": standing.at} | status_document(
            standing, rows if by_node or label else None, label
        )
        emit(rows, columns, output, document)
        return
    say("\n".join(summary_lines(standing, live.context or "now")))
    if by_node or label is not None:
        say()
        emit(rows, columns, output)
    if standing.waiting:
        narrate(f"→ fairway why {word(standing.waiting[0].job or standing.waiting[0].pod)} {live.arguments}")


def _show_run_data(run: Run, at: float, output: str) -> None:
    from fairway.record.snapshot import nodes_at, objects_at, pods_at

    objects: list[ApiObject] = [*nodes_at(run, at), *pods_at(run, at), *objects_at(run, at)]
    _show_data(objects, time_text(at), {"run": str(run.path), "atSeconds": at}, output)


def _show_data(objects: Sequence[ApiObject], when: str, which: dict[str, Any], output: str) -> None:
    from fairway.explain.data_status import COLUMNS, data_document, data_rows, data_standings, data_summary

    standings = data_standings(objects)
    rows = data_rows(standings)
    if is_structured(output):
        emit(rows, COLUMNS, output, which | {"datasets": data_document(standings)})
        return
    say(f"{data_summary(standings, when)}\n")
    emit(rows, COLUMNS, output)


def _show_plugins(run: Run, at: float, output: str) -> None:
    from fairway.explain.plugin_times import COLUMNS, plugin_lines, plugin_rows, read_plugin_times

    report = read_plugin_times(run, at)
    if is_structured(output):
        rows = plugin_rows(report)
        document = {
            "run": str(run.path),
            "atSeconds": at,
            "attempts": report.num_attempts,
            "cpuSeconds": report.cpu_seconds,
            "plugins": rows,
        }
        emit(rows, COLUMNS, output, document)
        return
    sentence, lines = plugin_lines(report)
    say(f"{sentence}\n")
    emit(lines, COLUMNS, output)


def _is_there(resource: str, standing: Status) -> bool:
    return any(one.allocatable[resource] for one in standing.nodes)
