"""`fairway record`: keep what a cluster does, whatever schedules it.

In: a cluster, by kubeconfig or from inside a pod. Out: a run, as the simulator writes them, for `why`, `status` and
`compare`: nodes, pods from their creation to their end, and everything else that a scheduler reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate
from fairway.cli.run import DURATION, live_errors
from fairway.cli.stream.options import follower_options, followers_of

if TYPE_CHECKING:
    from fairway.live.process import RunOptions
    from fairway.stream.address import Address

__all__ = ["record"]

HELP = """\b
Examples:
  fairway record day.duckdb --for 24h            a day of the current context's cluster
  fairway record now.duckdb --context lab        until Ctrl-C
  fairway record --stream 127.0.0.1:4243         keep nothing, tell others: fairway watch 127.0.0.1:4243
  fairway status --run day.duckdb                and then ask it

Record a cluster: its nodes, its pods and when they came, were bound, ran and left, whoever scheduled them.

Only reads; the rights to list and watch are enough. Ctrl-C ends the recording in good order. While the disk is full,
what happens is kept in memory; what does not fit there is missing in the run, which says so, and the exit code is 1.

With --stream or --sniffer others are told what the cluster's own scheduler does, as far as pods show it: who was bound,
who left, and why somebody has to wait.

A run holds the cluster's names. With --anonymise it holds others, the same ones throughout; see docs/runs.md.
"""


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("run", required=False, type=click.Path())
@click.option("--for", "seconds", type=DURATION, help="For so long: 90s, 24h.  [default: until Ctrl-C]")
@click.option("--kubeconfig", metavar="FILE", help="Which cluster.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig.")
@click.option("--master", metavar="URL", help="The API server's address, if not the kubeconfig's.")
@click.option("--anonymise", is_flag=True, help="Write other names in the place of all names.")
@follower_options
def record(
    run: str | None,
    *,
    seconds: float | None,
    kubeconfig: str | None,
    context: str | None,
    master: str | None,
    anonymise: bool,
    stream: Address | None,
    sniffer: Address | None,
) -> int:
    """Record a cluster; see HELP."""
    if run is None and stream is None and sniffer is None:
        raise click.UsageError(
            "name the RUN to write, or who is told: --stream, --sniffer", click.get_current_context()
        )
    from fairway.cli.sim import check_place
    from fairway.live.api import logs
    from fairway.live.process import RunOptions

    logs.set_up("text", logging.WARNING)
    check_place([] if run is None else [run], "RUN")
    followers = followers_of(stream, sniffer, is_watcher=True)
    options = RunOptions(
        kubeconfig=kubeconfig, context=context, master=master, anonymise=anonymise, followers=followers
    )
    return live_errors(_record(run, options, seconds))


async def _record(path: str | None, options: RunOptions, seconds: float | None) -> int:
    from fairway.live.api.clock import SystemClock
    from fairway.live.followers import start_followers
    from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
    from fairway.live.process import open_connection, read_configuration, stop_upon_signals
    from fairway.live.recording import LiveRecorder, live_title, record_cluster, wall_clock
    from fairway.live.recording_file import RecordingFile
    from fairway.live.seen_attempts import SeenAttempts
    from fairway.record.several_recorders import SeveralRecorders

    configuration = read_configuration(options)
    clock, stop = SystemClock(), asyncio.Event()
    connection = await open_connection(options, configuration, clock, "record")
    stop_upon_signals(stop)
    try:
        await connection.check()
        narrate(f"recording {connection.url}; Ctrl-C ends it")
        title = live_title(options.context or "live")
        now = wall_clock(clock)
        with contextlib.ExitStack() as stack:
            told = [follower.recorder for follower in options.followers if follower.recorder is not None]
            recording: RecordingFile | None = None
            if path is not None:
                recording = stack.enter_context(
                    RecordingFile(path, clock, title=title, configuration=configuration, anonymous=options.anonymise)
                )
                recording.start()
                told.insert(0, recording.writer)
            live = LiveRecorder(SeveralRecorders(*told), now)
            reviews = functools.partial(open_connection, options, configuration, clock, "stream")
            start_followers(stack, options.followers, reviews, clock, SchedulerMetrics(), live.begun)
            attempts = (
                SeenAttempts(SeveralRecorders(*told[path is not None :]), lambda: live.time)
                if options.followers
                else None
            )
            length = await record_cluster(connection, live, clock, stop, seconds, attempts)
            problem = None if recording is None else recording.close(length)
    finally:
        await connection.close()
    if problem is not None:
        raise problem
    if path is not None:
        narrate(f"→ fairway status --run {path}")
    return 0
