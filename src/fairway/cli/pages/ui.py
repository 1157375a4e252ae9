"""`fairway ui`: the pages of recorded runs, or of a scheduler at work, for a browser on this machine.

In: run files, or where a scheduler is. Out: a server on 127.0.0.1 and ::1 until Ctrl-C, and one line on stdout: the URL
to open, with the token that lets its reader in, behind a `#`, so that it is never part of a request. Called by
`fairway.cli.main`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import html
import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import scheduler_options
from fairway.cli.output import narrate, say
from fairway.cli.run import DURATION, LEAST_HISTORY, SIX_HOURS, live_errors
from fairway.cli.stream.options import ADDRESS

if TYPE_CHECKING:
    from fairway.cli.pages.live_ui import FollowedScheduler
    from fairway.live.scheduler_client import SchedulerAddress
    from fairway.web.sources import RunSources

__all__ = ["show_runs", "ui"]

HELP = """\b
Examples:
  fairway ui day.duckdb                         open the URL that is printed
  fairway ui day.duckdb --open                  or let the browser be opened
  fairway ui default.duckdb packed.duckdb       two policies, side by side
  fairway ui day.duckdb --port 8080             through a tunnel: ssh -L 8080:127.0.0.1:8080 HOST
  fairway ui --scheduler https://localhost:10259 --certificate-fingerprint 3f1c...   one at work

Show recorded runs in a browser: nodes and pods over time, why each pod waited, two policies compared.

It listens on this machine only, and lets in whoever has the token of the URL. Nothing is changed, and nothing is loaded
from elsewhere. A run that was cut short (RUN.partial) is shown as far as it goes. Ctrl-C ends it.

With --scheduler, one that runs with --stream is followed instead, with your own rights (the kubeconfig's token): what
it tells from now on is kept for --history, at most 512 MiB of it, and why a pod waits is asked of the scheduler.
"""


@click.command(name="ui", cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("runs", metavar="[RUN...]", nargs=-1, type=click.Path())
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Where.  0: any that is free")
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser.")
@scheduler_options
@click.option("--stream", type=ADDRESS, help="Where the scheduler streams.  [default: its host, port 4243]")
@click.option("--stream-fingerprint", metavar="SHA256", help="Of the stream's certificate, from the scheduler's log.")
@click.option(
    "--kubeconfig", metavar="FILE", help="Whose token says who you are.  [default: KUBECONFIG, ~/.kube/config]"
)
@click.option("--context", metavar="NAME", help="Of the kubeconfig.  [default: its current one]")
@click.option("--history", type=DURATION, help="How much of what a scheduler tells is kept.  [default: 6h]")
def ui(
    runs: Sequence[str],
    *,
    port: int,
    is_opened: bool,
    scheduler: SchedulerAddress | None,
    history: float | None,
    **live: Any,
) -> int:
    """Serve runs, or a scheduler; see HELP."""
    context = click.get_current_context()
    if scheduler is None:
        for name, value in {"history": history, **live}.items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} is about --scheduler, which is not given", context)
        if not runs:
            raise click.UsageError("name a run, or a scheduler with --scheduler URL", context)
        show_runs(runs, port, is_opened=is_opened)
        return 0
    if runs:
        raise click.UsageError("runs and --scheduler exclude each other", context)
    if history is not None and history < LEAST_HISTORY:
        raise click.BadParameter(f"less than {LEAST_HISTORY} s are of no use", param_hint="--history")
    from fairway.cli.pages.live_ui import FollowedScheduler

    followed = FollowedScheduler(scheduler, **live)
    live_errors(_serve_live(followed, SIX_HOURS if history is None else history, port, is_opened=is_opened))
    return 0


def show_runs(runs: Sequence[str], port: int = 0, *, is_opened: bool, is_compared: bool = False) -> None:
    """Serve them until somebody asks it to end, beginning with the page that compares them, or with the overview."""
    from fairway.web.sources import open_sources

    sources = open_sources(runs)
    page = "compare?" + urlencode([("run", source.id) for source in sources.all]) if is_compared else ""
    with contextlib.closing(sources):
        asyncio.run(_serve(sources, port, is_opened=is_opened, page=page))


async def _serve_live(followed: FollowedScheduler, history: float, port: int, *, is_opened: bool) -> None:
    sources = await followed.begin(history)
    if sources is None:
        return
    with contextlib.closing(sources):
        try:
            await _serve(sources, port, is_opened=is_opened)
        finally:
            followed.stop()


async def _serve(sources: RunSources, port: int, *, is_opened: bool, page: str = "") -> None:
    """Until somebody asks it to end."""
    from fairway.cli.main import CommandError
    from fairway.live.process import stop_upon_signals
    from fairway.web.access import new_token
    from fairway.web.server import PageServer

    stop = asyncio.Event()
    stop_upon_signals(stop)
    token = new_token()
    server = PageServer(sources, token)
    try:
        url = f"http://127.0.0.1:{await server.start(port)}/fairway/ui/{page}#token={token}"
    except OSError as error:
        why = "it is taken" if error.errno == errno.EADDRINUSE else os.strerror(error.errno or 0)
        what = f"cannot listen on port {port} of this machine: {why}"
        raise CommandError(what, "choose another --port, or leave it out") from None
    try:
        with _opened(url) if is_opened else contextlib.nullcontext():
            say(url)
            narrate(f"showing {', '.join(source.id for source in sources.all)}; Ctrl-C ends it")
            await stop.wait()
    finally:
        await server.stop()


@contextlib.contextmanager
def _opened(url: str) -> Iterator[None]:
    """Open it by way of a file that nobody else may read: what a browser is started with, everybody here can see."""
    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        page = Path(folder) / "open.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">', encoding="utf-8")
        # Some browsers are waited for until they end.
        threading.Thread(target=_open, args=(page.as_uri(),), daemon=True).start()
        yield


def _open(uri: str) -> None:
    if not webbrowser.open(uri):
        narrate("note: no browser could be opened here")
