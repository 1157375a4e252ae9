"""`fairway export`: a run for other tools.

In: a run and where to put it. Out: a directory of Parquet or CSV files, one a table, or a trace for Perfetto and
chrome://tracing. What was written is listed. Called by `fairway.cli.main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option

__all__ = ["export"]

HELP = """\b
Examples:
  fairway export day.duckdb tables/                            Parquet, a file a table
  fairway export day.duckdb tables/ --format csv --table pods --table decisions
  fairway export day.duckdb pods.csv --table pods              one table, one file
  fairway export day.duckdb day.json.gz                        a trace: open it in ui.perfetto.dev
  fairway export day.duckdb nobody.duckdb --anonymise          a run to show to others

Write a run in a form that other tools read.

TARGET is a directory for tables; a file that ends in .csv or .parquet for one of them; or one that ends in .json or
.json.gz for a trace in Chrome's format: pods as slices on their nodes, and the schedulers' own time, attempt by
attempt; in CPU time, with each plugin's within it, if the run was recorded with --plugin-times. With --anonymise it is
a run, with other names in the place of all names. What is there already is replaced if an earlier export wrote it, and
left alone if not.
"""

COLUMNS = (Column("file", "FILE"), Column("what", "WHAT"), Column("rows", "ROWS", right=True))
TRACE = (".json", ".json.gz")
ONE_TABLE = (".csv", ".parquet")


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("path", metavar="RUN", type=click.Path())
@click.argument("target", metavar="TARGET", type=click.Path())
@click.option("--format", "form", type=click.Choice(["parquet", "csv"]), help="Of tables.  [default: parquet]")
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Only this table; may be repeated.")
@click.option("--anonymise", is_flag=True, help="Write a run in which nobody is named.")
@output_option
def export(path: str, target: str, form: str | None, tables: Sequence[str], anonymise: bool, output: str) -> None:
    """Write a run; see HELP."""
    from fairway.cli.options.run import tell_notes
    from fairway.record import Run, export_csv, export_parquet, export_table, export_trace
    from fairway.record.schema import TABLES

    is_trace = target.endswith(TRACE)
    unknown = [name for name in tables if name not in TABLES]
    if unknown:
        raise click.BadParameter(
            f"there is no {', '.join(unknown)}; there are: {', '.join(TABLES)}", param_hint="--table"
        )
    rows: list[dict[str, Any]]
    if anonymise:
        if is_trace or form is not None or tables:
            raise click.UsageError("--anonymise writes a run: name it, and nothing else", click.get_current_context())
        _anonymise(path, target)
        emit([{"file": target, "what": "run", "rows": None}], COLUMNS, output)
        return
    is_file = target.endswith(ONE_TABLE) and not Path(target).is_dir()
    _check_target(target, form, tables, is_trace=is_trace, is_file=is_file)
    with Run.open(path) as run:
        tell_notes(run)
        if is_trace:
            rows = [{"file": target, "what": "trace", "rows": export_trace(run, target)}]
        elif is_file:
            export_table(run, target, tables[0])
            rows = [{"file": target, "what": tables[0], "rows": len(run.tables[tables[0]])}]
        else:
            write = export_csv if form == "csv" else export_parquet
            files = write(run, Path(target), tables or TABLES)
            rows = [{"file": str(file), "what": file.stem, "rows": len(run.tables[file.stem])} for file in files]
    emit(rows, COLUMNS, output)
    if is_trace and not is_structured(output):
        narrate("→ open it in https://ui.perfetto.dev, which reads it in the browser and sends it nowhere")


def _check_target(target: str, form: str | None, tables: Sequence[str], *, is_trace: bool, is_file: bool) -> None:
    """Complain about options that do not go with what the target is."""
    context = click.get_current_context()
    if is_trace and (form is not None or tables):
        given = "--format" if form is not None else "--table"
        raise click.UsageError(f"{given} is for a directory of tables; {target} is a trace", context)
    if not is_file:
        return
    if form is not None and not target.endswith(form):
        raise click.UsageError(f"--format {form} and the name {target} contradict each other", context)
    if len(tables) != 1:
        raise click.UsageError(
            f"{target} is a file for one table: which? --table pods, say; or name a directory, for all of them", context
        )


def _anonymise(path: str, target: str) -> None:
    from fairway.own_file import CannotWriteError
    from fairway.record.writing.anonymous_rows import anonymise_run

    if Path(target).exists() and Path(path).exists() and Path(target).samefile(path):
        raise CannotWriteError(f"{target} is the run that is read; an anonymous one needs a name of its own")
    anonymise_run(path, target)
