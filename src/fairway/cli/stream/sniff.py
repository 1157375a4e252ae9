"""`fairway sniff`: the service that schedulers, hooks and watchers tell, in the sniffer's protocol.

In: messages from any number of producers. Out: a run that grows and, if asked for, a log of all messages as they come.
`fairway sniff notify` is in `sniff_notify`; both are reached through the command here.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate, say
from fairway.cli.stream.import_ import check_namespace, namespace_option, pod_requests_option
from fairway.cli.stream.options import ADDRESS, need_stream
from fairway.cli.stream.sniff_notify import notify_command
from fairway.exit_codes import USAGE

if TYPE_CHECKING:
    from fairway.model import Quantity
    from fairway.stream.address import Address
    from fairway.stream.message import Message
    from fairway.stream.sniffed_file import SniffedFile

__all__ = ["sniff"]

HELP = """\b
Examples:
  fairway sniff run.duckdb                                      listen on 127.0.0.1:4242 until Ctrl-C
  fairway sniff run.duckdb --log sniffer.log                    and keep every message as it comes
  fairway sniff run.duckdb --listen 0.0.0.0:4242 --insecure     for producers on other machines
  fairway sniff notify --address sniffer:4242 --event postStart from a container's hook
  fairway run --sniffer 127.0.0.1:4242                          a scheduler that tells it

Take what scheduler-sniffer's producers send, and make a run of it: which node was chosen when, when it was bound, and
when it was left.

The protocol is /api.SnifferService/Send, in plain text and without a password: everybody who reaches the address can
tell anything. A call is answered once its message is in memory. The run is written every few seconds, and a last time
upon Ctrl-C; --log has every message from the moment it came, in the second form of the sniffer's logs, and
`fairway import` makes the same run of it.
"""


class SniffCommand(Command):
    """The service; or, with the word `notify` first, the notifier."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As any command's."""
        if args[:1] == ["notify"]:
            return notify_command.make_context(f"{info_name} notify", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name="sniff", cls=SniffCommand, help=HELP, context_settings=CONTEXT)
@click.argument("run", type=click.Path())
@click.option("--listen", type=ADDRESS, default="127.0.0.1:4242", show_default=True, help="Where.")
@click.option("--log", metavar="FILE", type=click.Path(), help="Append every message to this file.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine, where anybody can tell anything.")
@pod_requests_option
@namespace_option
def sniff(
    run: str,
    *,
    listen: Address,
    log: str | None,
    insecure: bool,
    requests: dict[str, Quantity],
    namespace: str,
) -> int:
    """Serve; see HELP."""
    from fairway.cli.main import CommandError
    from fairway.cli.sim import check_place

    need_stream("fairway sniff")
    if not listen.is_loopback and not insecure:
        raise CommandError(
            f"--listen {listen}: everybody who reaches that address could tell anything, in plain text",
            "listen on 127.0.0.1, or say --insecure if that is what you want",
            USAGE,
        )
    check_namespace(namespace)
    check_place([run], "RUN")
    from fairway.stream.sniffed_file import SniffedFile
    from fairway.stream.sniffed_run import summary_of

    kept = SniffedFile(run, str(listen), requests, namespace)
    with contextlib.ExitStack() as stack:
        file = None if log is None else stack.enter_context(_open_log(log))
        failure = asyncio.run(_serve(listen, kept, file))
    sniffed, told = kept.write()
    say(summary_of(sniffed, told).replace(" line", " message"))
    narrate(f"→ fairway status --run {shlex.quote(run)} --nodes")
    if failure is not None:
        raise CommandError(f"not every message was kept: {failure}", "make room there, or name another --log")
    return 0


def _open_log(path: str) -> IO[str]:
    """A log goes on where an earlier one ended; anything else that is there stays as it is."""
    from fairway.cli.main import CommandError
    from fairway.stream.message import BadLineError, read_line

    if Path(path).exists():
        with Path(path).open(encoding="utf-8", errors="replace") as before:
            line = before.readline(1 << 16)
        try:
            if line:
                read_line(line)
        except BadLineError:
            raise CommandError(f"--log {path} is there already, and no log of messages", "name another file") from None
    return Path(path).open("a", encoding="utf-8")


async def _serve(listen: Address, kept: SniffedFile, log: IO[str] | None) -> Exception | None:
    """Until somebody asks it to end; returns why messages were not kept, if they were not."""
    from fairway.cli.main import CommandError
    from fairway.live.process import stop_upon_signals
    from fairway.stream.message import line_of
    from fairway.stream.sniffer_service import SnifferService

    def take(message: Message) -> None:
        kept.take(message)
        if log is not None:
            log.write(line_of(message) + "\n")
            log.flush()

    service, stop = SnifferService(take), asyncio.Event()
    try:
        port = await service.start(str(listen))
    except OSError as error:
        raise CommandError(str(error), "choose another --listen HOST:PORT") from None
    stop_upon_signals(stop)
    narrate(f"listening on {listen._replace(port=port)}; Ctrl-C ends the run")
    keeping = asyncio.ensure_future(_keep(kept, stop))
    await stop.wait()
    await service.stop()
    await keeping
    if service.num_refused:
        narrate(f"note: {service.num_refused} messages were refused: they came faster than they could be kept")
    return service.failure


async def _keep(kept: SniffedFile, stop: asyncio.Event) -> None:
    """Write the run as it grows, until it is over: it is written once more then."""
    from fairway.own_file import CannotWriteError
    from fairway.stream.sniffed_file import pause_after

    loop, seconds = asyncio.get_running_loop(), 0.0
    while not stop.is_set():
        if kept.has_news:
            began = loop.time()
            try:
                await asyncio.to_thread(kept.write)
            except CannotWriteError as error:
                narrate(f"note: {error}; it is tried again")
            seconds = loop.time() - began
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), pause_after(seconds))
