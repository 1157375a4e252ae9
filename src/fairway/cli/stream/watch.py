"""`fairway watch`: follow what a scheduler decides, as it does.

In: the address of a stream. Out: a line for each event, for people or for programs, and, if asked for, a run. A stream
that breaks off is resumed where it was; what is missing is said. Called by `fairway.cli.main`.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate, say
from fairway.cli.stream.options import ADDRESS, need_stream
from fairway.exit_codes import UNREACHABLE, USAGE
from fairway.stream.told import KINDS

if TYPE_CHECKING:
    from fairway.record import RunWriter
    from fairway.stream.address import Address
    from fairway.stream.saving import StreamSaver
    from fairway.stream.watch_client import Followed, StreamAddress

__all__ = ["IS_IT_THERE", "stream_address", "watch"]

IS_IT_THERE = "is it there? start one with fairway run --stream HOST:PORT"
HELP = """\b
Examples:
  fairway watch 127.0.0.1:4243                                  everything, as it happens
  fairway watch 127.0.0.1:4243 --kind bound --kind unbound      who comes, who goes
  fairway watch 127.0.0.1:4243 --pod 'lab/train-*' -o json      some pods, a JSON document a line
  fairway watch 127.0.0.1:4243 --save day.duckdb                and keep it as a run
  fairway watch scheduler.lab:4243 --token-file token --certificate-authority ca.crt

Follow the decisions of a scheduler that was started with --stream: fairway run, record or sim.

A connection that is lost is made again and the stream goes on where it was, without a loss if it was not for long; else
it says how many events are missing, and --save goes on from how things stand then. Ctrl-C ends it.
"""
CHOICES = [name for name in KINDS if name != "snapshot"]


@click.command(name="watch", cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("address", type=ADDRESS, metavar="HOST:PORT")
@click.option("--pod", "pod_glob", default="", metavar="GLOB", help="Only these pods: web-*, or lab/web-*.")
@click.option("--node", "node_glob", default="", metavar="GLOB", help="Only what is about these nodes.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(CHOICES), help="Only this; may be repeated.")
@click.option("--top-scores", type=click.IntRange(0, 1000), default=0, help="So many of the best nodes of a decision.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--save", metavar="RUN", type=click.Path(), help="Keep what comes as a run.")
@click.option("--token-file", metavar="FILE", help="The token that says who you are.")
@click.option("--certificate-authority", metavar="FILE", help="Who may have signed the stream's certificate.")
@click.option("--certificate-fingerprint", metavar="SHA256", help="Of the stream's certificate, from its log.")
def watch(
    address: Address,
    *,
    pod_glob: str,
    node_glob: str,
    kinds: Sequence[str],
    top_scores: int,
    output: str,
    save: str | None,
    token_file: str | None,
    certificate_authority: str | None,
    certificate_fingerprint: str | None,
) -> int:
    """Follow a stream; see HELP."""
    from fairway.cli.main import CommandError
    from fairway.cli.sim import check_place
    from fairway.cli.stream.watch_lines import line_of

    need_stream("fairway watch")
    if save is not None:
        check_place([save])
        if kinds:
            raise CommandError("--save keeps a whole run, --kind leaves something out", "give one of them", USAGE)
    from fairway.stream.watch_client import CannotWatchError, follow, watch_request

    token = Path(token_file).read_text(encoding="utf-8").strip() if token_file else ""
    place = stream_address(address, token, certificate_authority, certificate_fingerprint)
    request = watch_request(
        [KINDS[kind] for kind in kinds],
        pod_glob,
        node_glob,
        top_scores=top_scores,
        snapshot=save is not None,
    )
    over = threading.Event()
    with _saving(save, str(address), top_scores) as (saver, writer), _ending(over):
        try:
            for batch in follow(place, request, lambda seconds: not over.wait(seconds), narrate):
                _take(saver, batch)
                if batch.gap is not None and batch.gap.lost:
                    narrate(f"note: {batch.gap.lost} events are missing: {batch.gap.why}")
                for number, event in batch.events:
                    say(line_of(number, event, output))
        except KeyboardInterrupt:
            narrate("")
        except CannotWatchError as error:
            if error.is_refusal:
                raise CommandError(f"{address}: {error}", "see fairway watch --help", UNREACHABLE) from None
            raise CommandError(f"{address}: {error}", IS_IT_THERE, UNREACHABLE) from None
        if saver is not None and writer is not None:
            saver.finish()
            writer.close(saver.time)
    if save is not None:
        narrate(f"→ fairway status --run {shlex.quote(save)}")
    return 0


def _take(saver: StreamSaver | None, batch: Followed) -> None:
    if saver is not None:
        saver.begin(batch.stream_id, batch.origin)
        if batch.gap is not None:
            saver.lose(batch.gap)
        for _, event in batch.events:
            saver.take(event)


@contextlib.contextmanager
def _ending(over: threading.Event) -> Iterator[None]:
    """A request to end is as good as Ctrl-C, which shells take away from what they start in the background."""

    def end(*_: Any) -> None:
        over.set()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _saving(path: str | None, name: str, top_scores: int) -> Iterator[tuple[StreamSaver | None, RunWriter | None]]:
    if path is None:
        yield None, None
        return
    from fairway.record import RecordOptions, RunWriter
    from fairway.stream.saving import StreamSaver

    title = {"kind": "LiveCluster", "metadata": {"name": name}}
    options = RecordOptions(scores=top_scores, objects=False)
    with RunWriter(path, scenario=title, seed=0, origin="live", options=options) as writer:
        yield StreamSaver(writer), writer


def stream_address(address: Address, token: str, authority: str | None, fingerprint: str | None) -> StreamAddress:
    """Plain text on this machine, TLS to others and wherever a certificate is named."""
    from fairway.cli.main import CommandError
    from fairway.stream.watch_client import StreamAddress, trusted_certificate

    if authority and fingerprint:
        raise CommandError(
            "--certificate-authority and --certificate-fingerprint exclude each other", "give one", USAGE
        )
    if fingerprint:
        try:
            certificate = trusted_certificate(address.host, address.port, fingerprint)
        except OSError as error:  # nobody is there, or nobody who speaks TLS
            raise CommandError(f"{address}: {error.strerror or error}", IS_IT_THERE, UNREACHABLE) from None
        except ValueError as error:
            raise CommandError(f"{address}: {error}", "compare with the stream's log", UNREACHABLE) from None
        return StreamAddress(str(address), token, certificate, "localhost")
    if authority:
        return StreamAddress(str(address), token, _authority(authority))
    return StreamAddress(str(address), token, None if address.is_loopback else b"")


def _authority(path: str) -> bytes:
    """Certificates, PEM; what holds none would be a server that nobody can trust."""
    from fairway.cli.main import CommandError

    content = Path(path).read_bytes()
    try:
        ssl.create_default_context(cadata=content.decode("ascii"))
    except (ssl.SSLError, ValueError):
        problem = f"--certificate-authority {path} holds no certificate"
        raise CommandError(problem, "it has to be PEM: -----BEGIN CERTIFICATE-----", USAGE) from None
    return content
