"""`fairway queue`: how are the queues doing, and is there room for me?

In: a run and a time of it, and a queue or none. Out: a table of queues. Called by `fairway.cli.main`; `explain.queues`
reads the run.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import emit, is_structured, narrate, output_option
from fairway.cli.queues.options import moment_words, open_moment, run_options

__all__ = ["queue"]

HELP = """\b
Examples:
  fairway queue --run queues.duckdb --at 12h           at noon: who waits and runs where?
  fairway queue batch --run queues.duckdb --at 12h -o wide
  fairway queue --run queues.duckdb --at 12h -o json

Show the queues of a run at one time, the end unless --at says otherwise: how many jobs wait and run, what these hold of
the queue's quota (+ what is borrowed), and when the first one that waits will likely start. The light stands for a job
of the usual limit and the smallest common size: free if two of them could start now, busy if one could, full if none.

\b
Exit codes: 0 yes; 1 a file is wrong; 2 usage.
"""


@click.command(
    name="queue", cls=Command, help=HELP, context_settings=CONTEXT, short_help="How are the queues, is there room?"
)
@click.argument("name", metavar="[QUEUE]", required=False)
@run_options
@output_option
def queue(name: str | None, *, run_path: str | None, at: float | None, output: str) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.queues.queue_table import queue_columns, queue_table

    with open_moment(run_path, at) as (run, moment):
        table = queue_table(run, moment, name)
    document = table.document()
    rows = document["queues"] if is_structured(output) else table.rows()
    columns = queue_columns(table)
    if is_structured(output):
        from fairway.cli.output import Column

        columns = [Column(key, key) for key in (rows[0] if rows else {"queue": ""})]
        rows = [row | {key: _pairs(row[key]) for key in ("held", "quota")} for row in rows] if output == "csv" else rows
    emit(rows, columns, output, {"run": run_path} | document, "queue")
    waiting = next((each.name for each in table.queues if each.waiting), None)
    if waiting is not None and not is_structured(output):
        narrate(f"→ fairway jobs --queue {waiting} {moment_words(run_path, moment)}")


def _pairs(amounts: dict[str, int]) -> str:
    """Amounts in one cell."""
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())
