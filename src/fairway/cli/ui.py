"""`fairway ui`: the pages of recorded runs, for a browser on this machine.

In: run files. Out: a server on 127.0.0.1 and ::1 until Ctrl-C, and one line on stdout: the URL to open, with the token
that lets its reader in, behind a `#`, so that it is never part of a request. Called by `fairway.cli.main`.
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
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate, say

if TYPE_CHECKING:
    from fairway.web.sources import RunSources

__all__ = ["ui"]

HELP = """\b
Examples:
  fairway ui day.duckdb                         open the URL that is printed
  fairway ui day.duckdb --open                  or let the browser be opened
  fairway ui default.duckdb packed.duckdb       two policies, side by side
  fairway ui day.duckdb --port 8080             through a tunnel: ssh -L 8080:127.0.0.1:8080 HOST

Show recorded runs in a browser: nodes and pods over time, why each pod waited, two policies compared.

It listens on this machine only, and lets in whoever has the token of the URL. Nothing is changed, and nothing is loaded
from elsewhere. A run that was cut short (RUN.partial) is shown as far as it goes. Ctrl-C ends it.
"""


@click.command(name="ui", cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path())
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Where.  0: any that is free")
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser.")
def ui(runs: Sequence[str], *, port: int, is_opened: bool) -> int:
    """Serve runs; see HELP."""
    from fairway.web.sources import open_sources

    sources = open_sources(runs)
    try:
        asyncio.run(_serve(sources, port, is_opened=is_opened))
    finally:
        sources.close()
    return 0


async def _serve(sources: RunSources, port: int, *, is_opened: bool) -> None:
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
        url = f"http://127.0.0.1:{await server.start(port)}/fairway/ui/#token={token}"
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
