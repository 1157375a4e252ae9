"""`fairway usage`: who used how much, and where are the books?

In: a run, and which part of it is meant. Out: sums by account, user, queue or day; or the lines of the books in a file.
Called by `fairway.cli.main`; `explain.queues` reads the run.
"""

from __future__ import annotations

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.run import RunTime
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say
from fairway.cli.queues.options import open_moment, run_options

__all__ = ["usage"]

HELP = """\b
Examples:
  fairway usage --run queues.duckdb                        what did every account use?
  fairway usage --run queues.duckdb --by user --account physics
  fairway usage --run queues.duckdb --by day --period 2030-01
  fairway usage --run queues.duckdb --export books.csv     every line of the books (or books.parquet)

Sum up what jobs of a run were charged up to --at, its end unless said otherwise, in units: cores, GiB or devices, each
times the weight of the account and the seconds that a job ran. GIVEN BACK is what was lost to nodes, preemption or
maintenance, and is not in USED. A run of the simulator begins on 2030-01-01.

\b
Exit codes: 0 yes; 1 a file is wrong; 2 usage.
"""
EXACT = ("name", "jobs", "used", "givenBack", "share", "budget")


@click.command(
    name="usage", cls=Command, help=HELP, context_settings=CONTEXT, short_help="Who used how much? The books."
)
@run_options
@click.option("--account", metavar="ACCOUNT", help="This account and those below it only.")
@click.option("--by", type=click.Choice(("account", "user", "queue", "day")), default="account", show_default=True)
@click.option("--period", metavar="PERIOD", help="A day, week, month, quarter or year: 2030-01-02, 2030-W01, 2030-01.")
@click.option("--from", "since", type=RunTime(), metavar="TIME", help="From this moment of the run on.")
@click.option("--export", "file", type=click.Path(dir_okay=False), metavar="FILE", help="Lines into .csv or .parquet.")
@output_option
def usage(
    *,
    run_path: str | None,
    at: float | None,
    account: str | None,
    by: str,
    period: str | None,
    since: float | None,
    file: str | None,
    output: str,
) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.queues.usage_table import USAGE_COLUMNS, export_lines, period_times, usage_table

    context = click.get_current_context()
    if period is not None and since is not None:
        raise click.UsageError("--period and --from exclude each other", context)
    if file is not None and not file.endswith((".csv", ".parquet")):
        raise click.UsageError(f"--export {file}: the name has to end in .csv or .parquet", context)
    with open_moment(run_path, at) as (run, moment):
        begin, end = (0.0 if since is None else since), moment
        if period is not None:
            begin, end = period_times(period, run, moment)
        table = usage_table(run, begin, end, by, account)  # type: ignore[arg-type]
        if file is not None:
            number = export_lines(run, table, file)
            narrate(f"{number} line{'' if number == 1 else 's'} of the books in {file}")
            return
    exact = is_structured(output)
    rows = table.rows(exact=exact)
    columns = [Column(key, key) for key in EXACT] if exact else list(USAGE_COLUMNS)
    emit(rows, columns, output, {"run": run_path, "by": by} | table.document())
    if not exact:
        say(table.words)
