"""`fairway import`: a log of the sniffer as a run.

In: a log, of either form. Out: a run, which every command that reads runs reads, and a line that says what came of it.
Called by `fairway.cli.main`.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import narrate, progress, say

if TYPE_CHECKING:
    from fairway.model import Quantity

__all__ = ["import_command", "namespace_option", "pod_requests_option"]

HELP = """\b
Examples:
  fairway import sniffer.log run.duckdb                         what a scheduler-sniffer wrote
  fairway import sniffer.log.gz run.duckdb --pod-requests cpu=1,memory=1Gi
  kubectl logs deploy/sniffer | fairway import - run.duckdb
  fairway status --run run.duckdb --at 30s --nodes              and then: who was where?

Make a run of a log that scheduler-sniffer wrote, so that status, export, plots and pages show it.

Both forms of the log are read, also mixed, plain or gzip. Which node was chosen when, when it was bound and when it was
left comes from the messages, to the nanosecond; each pod says in its annotations how that is known. What a pod asks for
is in no message: with --pod-requests each counts for so much. Lines that are no message are counted and skipped.
"""


class Requests(click.ParamType["dict[str, Quantity]"]):
    """What a pod asks for."""

    name = "RESOURCE=AMOUNT,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Quantity]:
        """By resource."""
        from fairway.stream.sniffed_run import read_requests

        if isinstance(value, dict):
            return value
        try:
            return read_requests(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


pod_requests_option = click.option(
    "--pod-requests", "requests", type=Requests(), default={}, help="What each pod counts for.  [default: nothing]"
)
namespace_option = click.option(
    "--namespace", metavar="NAME", default="default", show_default=True, help="Of all pods: messages name none."
)


@click.command(name="import", cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("log", type=click.Path())
@click.argument("run", type=click.Path())
@pod_requests_option
@namespace_option
def import_command(log: str, run: str, *, requests: dict[str, Quantity], namespace: str) -> None:
    """Read a log; see HELP."""
    from fairway.cli.sim import check_place
    from fairway.stream.sniffed_log import read_log
    from fairway.stream.sniffed_run import MessageOrigin, summary_of, write_run

    check_namespace(namespace)
    check_place([run], "RUN")
    with progress("reading", 1) as advance:
        sniffed, reading = read_log(log, advance)
    for line in reading.named:
        narrate(f"note: {line}")
    if reading.num_skipped > len(reading.named):
        narrate(f"note: {reading.num_skipped - len(reading.named)} more lines were skipped")
    told = MessageOrigin(
        Path(log).name if log != "-" else "stdin", reading.form, reading.num_lines, reading.num_skipped
    )
    write_run(run, sniffed, told, requests, namespace)
    say(summary_of(sniffed, told))
    narrate(f"→ fairway status --run {shlex.quote(run)} --nodes")


def check_namespace(name: str) -> None:
    """Complain about a name that no namespace has."""
    from fairway.model.names import dns_label_problem

    if problem := dns_label_problem(name):
        raise click.BadParameter(problem, param_hint="--namespace")
