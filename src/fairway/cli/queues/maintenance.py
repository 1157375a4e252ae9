"""`fairway maintenance`: which nodes are needed for something else, when, and who is in the way?

In: a run and a time of it. Out: its windows. Called by `fairway.cli.main`; `explain.queues` reads the run.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option
from fairway.cli.queues.options import open_moment, run_options

__all__ = ["maintenance"]

HELP = """\b
Examples:
  fairway maintenance --run queues.duckdb --at 12h     at noon: what is announced, whose jobs run into it?
  fairway maintenance window-1 --run queues.duckdb --at 12h -o json

Show the maintenance windows of a run at one time, the end unless --at says otherwise: their phase, when they begin or
end, and the jobs that run on their nodes and whose limits reach into them. Reservations are listed as well: their
nodes, and for whom they are, or what is in the way of one that has none yet.

\b
Exit codes: 0 yes; 1 a file is wrong; 2 usage.
"""
EXACT = ("name", "phase", "startSeconds", "endSeconds", "mode", "nodes", "jobs", "message")


@click.command(
    name="maintenance",
    cls=Command,
    help=HELP,
    context_settings=CONTEXT,
    short_help="Which nodes are needed when, who is in the way?",
)
@click.argument("name", metavar="[WINDOW]", required=False)
@run_options
@output_option
def maintenance(name: str | None, *, run_path: str | None, at: float | None, output: str) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.queues.window_table import WINDOW_COLUMNS, window_table

    with open_moment(run_path, at) as (run, moment):
        table = window_table(run, moment, name)
    document = table.document()
    if is_structured(output):
        rows = [row | (row["occurrences"] or [{}])[0] for row in document["windows"]]
        emit(rows, [Column(key, key) for key in EXACT], output, {"run": run_path} | document)
        return
    if not table.windows and not table.reservations:
        narrate("no maintenance is planned")
        return
    emit(table.rows(), WINDOW_COLUMNS, output)
