"""`fairway record`: keep what a cluster does, whatever schedules it.

In: a cluster, by kubeconfig or from inside a pod. Out: a run, as the simulator writes them, for `why`, `status` and
`compare`: nodes, pods from their creation to their end, and everything else that a scheduler reads.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate
from fairway.cli.run import DURATION, live_errors

if TYPE_CHECKING:
    from fairway.live.process import RunOptions

__all__ = ["record"]

HELP = """\b
Examples:
  fairway record day.duckdb --for 24h            a day of the current context's cluster
  fairway record now.duckdb --context lab        until Ctrl-C
  fairway status --run day.duckdb                and then ask it

Record a cluster: its nodes, its pods and when they came, were bound, ran and left, whoever scheduled them.

Only reads; the rights to list and watch are enough. Ctrl-C ends the recording in good order. While the disk is full,
what happens is kept in memory; what does not fit there is missing in the run, which says so, and the exit code is 1.

A run holds the cluster's names. With --anonymise it holds others, the same ones throughout; see docs/runs.md.
"""


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("run", type=click.Path())
@click.option("--for", "seconds", type=DURATION, help="For so long: 90s, 24h.  [default: until Ctrl-C]")
@click.option("--kubeconfig", metavar="FILE", help="Which cluster.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig.")
@click.option("--master", metavar="URL", help="The API server's address, if not the kubeconfig's.")
@click.option("--anonymise", is_flag=True, help="Write other names in the place of all names.")
def record(
    run: str,
    *,
    seconds: float | None,
    kubeconfig: str | None,
    context: str | None,
    master: str | None,
    anonymise: bool,
) -> int:
    """Record a cluster; see HELP."""
    from fairway.cli.sim import check_place
    from fairway.live.api import logs
    from fairway.live.process import RunOptions

    logs.set_up("text", logging.WARNING)
    check_place([run])
    options = RunOptions(kubeconfig=kubeconfig, context=context, master=master, anonymise=anonymise)
    return live_errors(_record(run, options, seconds))


async def _record(path: str, options: RunOptions, seconds: float | None) -> int:
    from fairway.live.api.clock import SystemClock
    from fairway.live.process import open_connection, read_configuration, stop_upon_signals
    from fairway.live.recording import live_title, record_cluster
    from fairway.live.recording_file import RecordingFile

    configuration = read_configuration(options)
    clock, stop = SystemClock(), asyncio.Event()
    connection = await open_connection(options, configuration, clock, "record")
    stop_upon_signals(stop)
    try:
        await connection.check()
        narrate(f"recording {connection.url}; Ctrl-C ends it")
        title = live_title(options.context or "live")
        with RecordingFile(
            path, clock, title=title, configuration=configuration, anonymous=options.anonymise
        ) as recording:
            recording.start()
            problem = recording.close(await record_cluster(connection, recording.writer, clock, stop, seconds))
    finally:
        await connection.close()
    if problem is not None:
        raise problem
    narrate(f"→ fairway status --run {path}")
    return 0
