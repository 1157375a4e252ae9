"""`fairway metrics`: what each metric means.

In: names of metrics, or parts of them; without any, all. Out: a table with unit, which way is better, and meaning.
Called by `fairway.cli.main`; `record.metric_definitions` knows them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.main import CommandError
from fairway.cli.output import Column, emit, output_option

if TYPE_CHECKING:
    from fairway.record.metric_definitions import Definition

__all__ = ["metrics"]

HELP = """\b
Examples:
  fairway metrics                        all of them
  fairway metrics wait                   those whose names have this in them
  fairway metrics utilisation_cpu        one, for a resource

Say what the metrics of runs mean, as `sim` and `compare` print them and --fail-if judges them.

{} in a name stands for a resource (cpu, memory, nvidia.com/gpu), or for a plugin and its extension point. In tables the
words of a name stand apart, without what is before the slash of a resource: utilisation_nvidia.com/gpu is "utilisation
gpu".
"""
COLUMNS = (
    Column("metric", "METRIC"),
    Column("unit", "UNIT"),
    Column("better", "BETTER"),
    Column("meaning", "MEANING"),
)


@click.command(cls=Command, help=HELP, context_settings=CONTEXT)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@output_option
def metrics(names: Sequence[str], output: str) -> None:
    """See HELP, which is what users read."""
    from fairway.record.metric_definitions import DEFINITIONS

    found = list(DEFINITIONS) if not names else list(dict.fromkeys(one for name in names for one in _named(name)))
    rows = [
        {"metric": one.name, "unit": one.unit or None, "better": one.better or None, "meaning": one.meaning}
        for one in found
    ]
    emit(rows, COLUMNS, output)


def _named(name: str) -> list[Definition]:
    """The metric of that name, or else those that have it in theirs; words may stand apart, as tables have them."""
    from fairway.record.metric_definitions import DEFINITIONS, definition_of

    wanted = name.strip().replace(" ", "_")
    if (exact := definition_of(wanted)) is not None:
        return [exact]
    found = [one for one in DEFINITIONS if wanted in one.name]
    if found:
        return found
    near = difflib.get_close_matches(wanted, [one.name for one in DEFINITIONS], 3, 0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`fairway metrics` lists them all"
    raise CommandError(f"there is no metric {name}", hint)
