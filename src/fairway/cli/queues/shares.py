"""`fairway shares`: who is entitled to what, who used how much, who comes first?

In: a run and a time of it. Out: the tree of accounts and users. Called by `fairway.cli.main`; `explain.queues` reads
the run.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, output_option
from fairway.cli.queues.options import open_moment, run_options

__all__ = ["shares"]

HELP = """\b
Examples:
  fairway shares --run queues.duckdb --at 12h          at noon: who is ahead of whom, by what they used?
  fairway shares --run queues.duckdb --at 12h -o csv

Show accounts and their users at one time, the end unless --at says otherwise. USED fades with the half-life of the
scenario and counts what runs; NORM is the share of all usage; LEVEL-FS is what one is entitled to over what one used,
among one's siblings (inf: unused); FACTOR orders users, and 1 comes first (Slurm's Fair Tree, docs/batch.md).

\b
Exit codes: 0 yes; 1 a file is wrong; 2 usage.
"""
EXACT = tuple(Column(key, key) for key in ("name", "isUser", "shares", "used", "norm", "level", "factor"))


@click.command(
    name="shares", cls=Command, help=HELP, context_settings=CONTEXT, short_help="Who is entitled to what, who used it?"
)
@run_options
@output_option
def shares(*, run_path: str | None, at: float | None, output: str) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.queues.share_table import SHARE_COLUMNS, share_table

    with open_moment(run_path, at) as (run, moment):
        table = share_table(run, moment)
    exact = is_structured(output)
    columns = EXACT if exact else SHARE_COLUMNS
    emit(table.rows(exact=exact), columns, output, {"run": run_path} | table.document())
