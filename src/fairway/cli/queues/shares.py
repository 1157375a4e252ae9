"""`fairway shares`: who is entitled to what, who used how much, who comes first?

In: a cluster or a run. Out: the tree of accounts and users. Called by `fairway.cli.main`; `explain.queues` has the
answers.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import repeat, watch_option
from fairway.cli.output import Column, emit, is_structured, output_option
from fairway.cli.queues.options import QueueSource, ask_queues, open_queues, source_options

__all__ = ["shares"]

HELP = """\b
Examples:
  fairway shares                                       who is ahead of whom, by what they used?
  fairway shares --scheduler https://localhost:10259   as the scheduler weighs it at this moment
  fairway shares --run queues.duckdb --at 12h          of a run, at noon
  fairway shares --run queues.duckdb --at 12h -o csv

Show accounts and their users: of the cluster, from accounts and records, or of a run at one time (its end unless --at
says otherwise). USED fades with its half-life and counts what runs; NORM is the share of all usage; LEVEL-FS is what
one is entitled to over what one used, among one's siblings (inf: unused); FACTOR orders users, and 1 comes first
(Slurm's Fair Tree, docs/batch.md).

\b
Exit codes: 0 yes; 1 a file is wrong, or the cluster has no queues; 2 usage; 4 the cluster can not be reached, or does
not let you.
"""
EXACT = tuple(Column(key, key) for key in ("name", "isUser", "parent", "shares", "used", "norm", "level", "factor"))


@click.command(
    name="shares", cls=Command, help=HELP, context_settings=CONTEXT, short_help="Who is entitled to what, who used it?"
)
@source_options
@watch_option
@output_option
def shares(*, source: QueueSource, watch: float | None, output: str) -> None:
    """See HELP, which is what users read."""
    source.refuse(of_runs=False, watch=watch)
    repeat(lambda: _show(source, output), watch)


def _show(source: QueueSource, output: str) -> None:
    from fairway.explain.queues.share_table import SHARE_COLUMNS, read_shares, share_table

    if source.scheduler is not None:
        table = read_shares(ask_queues(source, "/fairway/v1/shares"))
        about = {"scheduler": source.scheduler.url}
    else:
        with open_queues(source, ("accounts",), ("jobrecords",)) as opened:
            table, about = share_table(opened.moment), opened.about
    exact = is_structured(output)
    columns = EXACT if exact else SHARE_COLUMNS
    emit(table.rows(exact=exact), columns, output, about | table.document())
