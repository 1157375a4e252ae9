"""`fairway maintenance`: which nodes are needed for something else, when, and who is in the way?

In: a cluster or a run. Out: its windows. Called by `fairway.cli.main`; `explain.queues` has the answers. A group of
commands: what is neither `add` nor `cancel` (`windows`) is the name of a window to show.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command, ExamplesFirst
from fairway.cli.options.live import repeat, watch_option
from fairway.cli.output import Column, emit, is_structured, narrate, output_option
from fairway.cli.queues.options import QueueSource, open_queues, source_options
from fairway.cli.queues.windows import add, cancel

__all__ = ["maintenance"]

HELP = """\b
Examples:
  fairway maintenance                                  what is announced, whose jobs run into it?
  fairway maintenance --run queues.duckdb --at 12h     of a run, at noon
  fairway maintenance window-1 --run queues.duckdb --at 12h -o json
  fairway maintenance add --help                       announce some
  fairway maintenance cancel rack-r7                   and call it off

Show the maintenance windows of the cluster, or of a run at one time (its end unless --at says otherwise): their phase,
when they begin or end, and the jobs that run on their nodes and whose limits reach into them, as far as you may see
them. Reservations are listed as well: their nodes, and for whom they are, or what is in the way of one that has none.

\b
Exit codes: 0 yes; 1 a file is wrong, or the cluster has no queues; 2 usage; 4 the cluster can not be reached, or does
not let you.
"""
EXACT = ("name", "phase", "startSeconds", "endSeconds", "mode", "nodes", "jobs", "message")


class ShowFirst(ExamplesFirst, click.Group):
    """A group in which whatever is no command of it is for `show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The same words, with the command that they are for."""
        is_command = args[0] in self.commands if args else ctx.resilient_parsing  # somebody is typing it
        return super().parse_args(ctx, args if is_command else ["show", *args])


@click.group(
    name="maintenance",
    cls=ShowFirst,
    context_settings=CONTEXT,
    short_help="Which nodes are needed when, who is in the way?",
)
def maintenance() -> None:
    """Which nodes are needed for something else, when, and who is in the way?"""


maintenance.add_command(add)
maintenance.add_command(cancel)


@maintenance.command(
    name="show", cls=Command, help=HELP, context_settings=CONTEXT, short_help="Which nodes, when, who is in the way?"
)
@click.argument("name", metavar="[WINDOW]", required=False)
@source_options
@watch_option
@output_option
def show(name: str | None, *, source: QueueSource, watch: float | None, output: str) -> None:
    """See HELP, which is what users read."""
    source.refuse(of_runs=False, watch=watch)
    repeat(lambda: _show(source, name, output), watch)


def _show(source: QueueSource, name: str | None, output: str) -> None:
    from fairway.explain.queues.window_table import WINDOW_COLUMNS, window_table

    kinds = ("maintenancewindows", "reservations")
    with open_queues(source, kinds, ("jobrecords",)) as opened:
        table = window_table(opened.moment, name)
    document = opened.about | table.document()
    if is_structured(output):
        rows = [row | (row["occurrences"] or [{}])[0] for row in document["windows"]]
        emit(rows, [Column(key, key) for key in EXACT], output, document)
        return
    if not table.windows and not table.reservations:
        narrate("no maintenance is planned")
        return
    emit(table.rows(), WINDOW_COLUMNS, output)
