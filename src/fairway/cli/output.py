"""How every command prints: `-o table|wide|json|yaml|csv|name`, and a progress bar.

In: rows (mappings) and the columns to show of them, or a whole document. Out: data on stdout; narration and progress
on stderr. On a terminal tables are styled; piped, they are plain text without colour, truncation or spinner.
`NO_COLOR` is honoured. Called by the commands in `fairway.cli`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from fairway.tables import Column, cell_text, plain_table
from fairway.words import safe_cell, visible

__all__ = [
    "FORMATS",
    "Column",
    "again",
    "emit",
    "is_structured",
    "narrate",
    "output_option",
    "paint",
    "plain_table",
    "progress",
    "say",
    "word",
]

FORMATS: Final = ("table", "wide", "json", "yaml", "csv", "name")

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print: for people (table, wide), for programs (json, yaml, csv), or names only.",
)
"""The option every command has; it arrives as the argument `output`."""


def is_structured(output: str) -> bool:
    """Is this output read by a program, so that nothing but data may be printed?"""
    return output not in {"table", "wide"}


def emit(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], output: str, document: Any = None, name: str = ""
) -> None:
    """Print rows the way the user asked for.

    `document` is what json and yaml print instead of the list of rows; `name` is the key of what `-o name` prints,
    the first column's unless said otherwise.
    """
    if output in {"json", "yaml"}:
        say(_encoded(list(rows) if document is None else document, output))
    elif output == "csv":
        say(_csv(rows, columns), nl=False)
    elif output == "name":
        for row in rows:
            say(cell_text(row.get(name or columns[0].key)))
    else:
        shown = [column for column in columns if output == "wide" or not column.wide]
        if sys.stdout.isatty():
            _print_styled(rows, shown)
        else:
            say(plain_table(rows, shown), nl=False)


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text, whoever wrote it: what would move the cursor or hide is shown, not done."""
    click.echo(visible(text), err=err, nl=nl)


def word(name: str) -> str:
    """A name from elsewhere as one word of a command line that people paste."""
    return shlex.quote(visible(name, one_line=True))


def again(*more: str) -> str:
    """The command that is being run, with more words, as people may paste it."""
    given = click.get_current_context().find_root().obj or ()
    return " ".join(("fairway", *map(word, (*given, *more))))


def paint(cell: str, is_better: bool) -> str:
    """The cell in the colour of good or bad news, where there are colours."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return cell
    return click.style(cell, fg="green" if is_better else "red")


def narrate(text: str) -> None:
    """Tell the user something that is not data."""
    say(text, err=True)


@contextlib.contextmanager
def progress(description: str, total: float) -> Iterator[Callable[[float], None]]:
    """A bar with an estimate of the time left, if stderr is a terminal; call what it yields to advance."""
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    shown = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda amount: bar.advance(task, amount)


def _encoded(document: Any, output: str) -> str:
    if output == "json":
        return json.dumps(document, indent=2, ensure_ascii=False)
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
    return text.rstrip("\n")


def _csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.key for column in columns)
    for row in rows:
        writer.writerow(_cell(row.get(column.key)) for column in columns)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    return safe_cell(visible(value, one_line=True)) if isinstance(value, str) else value


def _print_styled(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(row.get(column.key))) for column in columns))
    Console(highlight=False).print(table)
