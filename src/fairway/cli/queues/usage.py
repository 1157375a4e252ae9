"""`fairway usage`: who used how much, and where are the books?

In: a cluster or a run, and which part of its time is meant. Out: sums by account, user, queue or day; or the lines of
the books in a file. Called by `fairway.cli.main`; `explain.queues` has the answers.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import re
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.ledger import ledger_of, ledger_options
from fairway.cli.options.run import RunTime
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say
from fairway.cli.queues.options import QueueSource, open_queues, source_options
from fairway.words import count_text

if TYPE_CHECKING:
    from fairway.explain.queues.usage_table import UsageTable
    from fairway.live.ledger.address import LedgerAddress

__all__ = ["usage"]

HELP = """\b
Examples:
  fairway usage                                            what did every account use, in this cluster?
  fairway usage --period 2026-11 --by user --account physics
  fairway usage --run queues.duckdb                        and in a run?
  fairway usage --run queues.duckdb --by user --account physics
  fairway usage --run queues.duckdb --by day --period 2030-01
  fairway usage --run queues.duckdb --export books.csv     every line of the books (or books.parquet)
  fairway usage --ledger postgresql://auditor@db/books --from 2026-11-01 --to 2026-12-01 --export books.csv

Sum up what jobs were charged, in units: cores, GiB or devices, each times the weight of the account and the seconds
that a job ran; in the cluster until now, or in a run up to --at, its end unless said otherwise. GIVEN BACK is what was
lost to nodes, preemption or maintenance, and is not in USED. In a cluster, records of jobs go with the jobs, and books
stay: what they have besides is told by account and day, of all time by user as well; what they can not tell is said.
A ledger (fairway run --ledger) has every
line that was ever settled; those are meant that begin in the time, and nothing but it is asked. A run of the simulator
begins on 2030-01-01.

\b
Exit codes: 0 yes; 1 a file is wrong, or the cluster has no queues; 2 usage; 4 the cluster or ledger can not be
reached, or does not let you.
"""


class Date(float):
    """A moment of the calendar, in seconds since 1970."""


class BookTime(RunTime):
    """A time of a run, or a date, with a time of day or without: 2026-11-01, 2026-11-01T08:00:00Z."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since the run began, or a `Date`."""
        if not re.match(r"\d{4}-\d", str(value)):
            return super().convert(value, param, ctx)
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no date; allowed: 2026-11-01, 2026-11-01T08:00:00Z", param, ctx)
        return Date((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp())


EXACT = ("name", "jobs", "used", "givenBack", "share", "budget")


@click.command(
    name="usage", cls=Command, help=HELP, context_settings=CONTEXT, short_help="Who used how much? The books."
)
@source_options
@click.option("--account", metavar="ACCOUNT", help="This account and those below it only.")
@click.option("--by", type=click.Choice(("account", "user", "queue", "day")), default="account", show_default=True)
@click.option("--period", metavar="PERIOD", help="A day, week, month, quarter or year: 2030-01-02, 2030-W01, 2030-01.")
@click.option("--from", "since", type=BookTime(), metavar="TIME", help="From this moment of the run, or date, on.")
@click.option(
    "--to", "until", type=BookTime(), metavar="TIME", help="Up to this moment of it, and not to --at, or date."
)
@ledger_options("Ask the ledger, a PostgreSQL, with your own rights there; no password in it.")
@click.option("--export", "file", type=click.Path(dir_okay=False), metavar="FILE", help="Lines into .csv or .parquet.")
@output_option
def usage(
    *,
    source: QueueSource,
    account: str | None,
    by: str,
    period: str | None,
    since: float | None,
    until: float | None,
    ledger_url: str | None,
    ledger_password_file: str | None,
    file: str | None,
    output: str,
) -> None:
    """See HELP, which is what users read."""
    from fairway.explain.queues.book_export import export_book, export_lines
    from fairway.explain.queues.usage_table import period_times, usage_table

    context = click.get_current_context()
    ledger = ledger_of(ledger_url, ledger_password_file)
    if ledger is None:
        if isinstance(since, Date) or isinstance(until, Date):
            raise click.UsageError("dates of --from and --to are for --ledger", context)
        source.refuse(of_runs=True, **{"from": since, "to": until})
    if period is not None and (since is not None or until is not None):
        raise click.UsageError(f"--period and --{'to' if since is None else 'from'} exclude each other", context)
    if until is not None and until <= (since or 0.0):
        raise click.UsageError("--to is not after --from: the time between them is what is summed up", context)
    if file is not None and not file.endswith((".csv", ".parquet")):
        raise click.UsageError(f"--export {file}: the name has to end in .csv or .parquet", context)
    if ledger is not None:
        if source.is_run or source.cluster.is_named or source.scheduler is not None:
            raise click.UsageError("--ledger is asked alone, without a run or a cluster", context)
        _of_ledger(ledger, (since, until), period, account, by, file, output)
        return
    with open_queues(source, ("accounts",), ("jobrecords",)) as opened:
        moment = opened.moment
        begin = moment.begins if since is None else since
        end = moment.at if until is None else min(until, moment.at)
        if period is not None:
            begin, end = period_times(period, moment)
        table = usage_table(moment, begin, end, by, account)  # type: ignore[arg-type]
        if file is not None:
            _told_export(
                export_book(table, file) if opened.run is None else export_lines(opened.run.run, table, file), file
            )
            if table.gone:
                units = count_text(round(table.gone))
                narrate(f"{units} units are of jobs whose records are gone: only a ledger has their lines")
            return
    _show(table, opened.about, by, output)


def _of_ledger(
    address: LedgerAddress,
    times: tuple[float | None, float | None],
    period: str | None,
    account: str | None,
    by: str,
    file: str | None,
    output: str,
) -> None:
    from fairway.batch.accounts.periods import read_period
    from fairway.cli.main import CommandError
    from fairway.explain.queues.ledger_book import export_ledger, ledger_table
    from fairway.live.ledger.database import LedgerDatabase
    from fairway.live.ledger.ledger import LedgerProblem

    context = click.get_current_context()
    if any(time is not None and not isinstance(time, Date) for time in times):
        raise click.UsageError("--ledger has dates: --from 2026-11-01, or 2026-11-01T08:00:00Z", context)
    begin, end = (-math.inf if times[0] is None else times[0]), (math.inf if times[1] is None else times[1])
    if period is not None:
        try:
            _, begin, end = read_period(period)
        except ValueError as error:
            raise click.UsageError(f"--period {error}", context) from error
    try:
        with contextlib.closing(LedgerDatabase(address, is_reader=True)) as database:
            lines = list(database.lines(begin, end))
    except LedgerProblem as problem:
        why = f"{problem.what}\n{problem.why}" if problem.why else problem.what
        raise CommandError(why, problem.fix, problem.exit_code) from None
    if file is not None:
        _told_export(export_ledger(lines, file, account), file)
        return
    begin, end = min([begin, *(line.start for line in lines)]), max([end, *(line.end for line in lines)])
    table = ledger_table(lines, begin, end, by, account)  # type: ignore[arg-type]
    _show(table, {"ledger": address.title}, by, output, has_words=False)


def _told_export(number: int, file: str) -> None:
    narrate(f"{number} line{'' if number == 1 else 's'} of the books in {file}")


def _show(table: UsageTable, about: dict[str, Any], by: str, output: str, *, has_words: bool = True) -> None:
    from fairway.explain.queues.usage_table import USAGE_COLUMNS

    exact = is_structured(output)
    rows = table.rows(exact=exact)
    columns = [Column(key, key) for key in EXACT] if exact else list(USAGE_COLUMNS)
    emit(rows, columns, output, about | {"by": by} | table.document())
    if not exact:
        say(table.words if has_words else f"{count_text(round(table.total))} units")
        for note in table.notes:
            narrate(note)
