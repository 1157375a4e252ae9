"""`fairway examples` and `fairway demo`: something to run right after the installation.

In: a folder to copy to, or options for the simulation. Out: the examples that travel with the package, as a list or as
files; or the comparison of two policies over a cluster's day, as `fairway sim` prints it and, if wanted, as pages.
Called by `fairway.cli.main`.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from fairway.cli.help_text import CONTEXT, Command, ExamplesFirst
from fairway.cli.output import Column, emit, narrate, output_option, word

__all__ = ["demo", "examples"]

COLUMNS: Final = (Column("name", "EXAMPLE"), Column("about", "ABOUT"), Column("path", "PATH", wide=True))
POLICIES: Final = ("default", "packed")

EXAMPLES_HELP = """\b
Examples:
  fairway examples                     what is there?
  fairway examples copy playground     copy all of them into a folder

Scenarios, clusters, workloads, plugins and configurations that travel with the package.
"""

COPY_HELP = """\b
Examples:
  fairway examples copy playground

Copy all examples into a folder, which is made if need be. What is there already stays as it is: a file of the same name
that differs is an error, and then nothing is copied.
"""

DEMO_HELP = """\b
Examples:
  fairway demo                  a day of a thousand nodes under two policies: which is better?
  fairway demo --until 2h       only its first two hours
  fairway demo --ui             and both beside each other in a browser

Run the example scenarios/day.yaml: kube-scheduler's default policy beside one that packs. Takes the options of
`fairway sim`. With --ui both runs are served on this machine until Ctrl-C, and are gone then, unless --save keeps them.
"""


class ExamplesGroup(ExamplesFirst, click.Group):
    """Help as commands have it."""


@click.group(
    cls=ExamplesGroup, help=EXAMPLES_HELP, context_settings=CONTEXT, invoke_without_command=True, no_args_is_help=False
)
@output_option
@click.pass_context
def examples(context: click.Context, output: str) -> None:
    """List the examples; see EXAMPLES_HELP."""
    if context.invoked_subcommand is not None:
        return
    from fairway.cli.examples.example_files import list_examples

    rows = [{"name": one.name, "about": one.about, "path": str(one.path)} for one in list_examples()]
    emit(rows, COLUMNS, output)
    if output == "table":
        narrate("→ fairway examples copy DIR")


@examples.command(cls=Command, help=COPY_HELP, context_settings=CONTEXT)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
def copy(folder: str) -> None:
    """Copy the examples; see COPY_HELP."""
    from fairway.cli.examples.example_files import copy_examples

    written = copy_examples(Path(folder))
    number = f"{len(written)} file{'' if len(written) == 1 else 's'}"
    narrate(f"{number} copied to {folder}" if written else f"all examples are in {folder} already")
    narrate(f"→ fairway sim {word(str(Path(folder) / 'scenarios' / 'day.yaml'))}")


@click.command(
    cls=Command,
    help=DEMO_HELP,
    context_settings={**CONTEXT, "ignore_unknown_options": True, "help_option_names": ["-h", "--help"]},
)
@click.option("--ui", "is_shown", is_flag=True, help="Show both runs in the browser, side by side.")
@click.option("--save", metavar="RUN", type=click.Path(), help="Keep the runs: RUN-default and RUN-packed.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF SIM]")
def demo(options: Sequence[str], *, is_shown: bool, save: str | None) -> Any:
    """Simulate the day; see DEMO_HELP."""
    if not is_shown:
        code = _simulate(options, save)
        narrate("→ fairway demo --ui   # both beside each other, in a browser")
        return code
    from fairway.cli.options.scenario import run_path
    from fairway.cli.pages.ui import show_runs

    with tempfile.TemporaryDirectory(prefix="fairway-demo-") as folder:
        path = save or str(Path(folder) / "demo.duckdb")
        code = _simulate(options, path)
        runs = [file for policy in POLICIES if Path(file := run_path(path, policy, None)).is_file()]
        if len(runs) < len(POLICIES):
            return code  # something else was asked for, such as --print-scenario
        if save is None:
            narrate(f"note: the runs are in {folder} for as long as they are shown; --save demo.duckdb keeps them")
        show_runs(runs, is_opened=True, is_compared=True)
        return code


def _simulate(options: Sequence[str], save: str | None) -> Any:
    from fairway.cli.examples.example_files import example_folder
    from fairway.cli.sim import sim

    chosen = [word for policy in POLICIES for word in ("--policy", policy)]
    kept = [] if save is None else ["--save", save]
    arguments = [str(example_folder() / "scenarios" / "day.yaml"), *chosen, *options, *kept]
    narrate(f"$ fairway sim {shlex.join(arguments)}")
    return sim.main(args=arguments, prog_name="fairway sim", standalone_mode=False)
