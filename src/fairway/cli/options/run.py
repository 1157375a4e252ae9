"""The options of commands that read a run: which file, and which moment of it.

In: nothing. Out: click options whose values arrive as `run_path` and `at` (seconds of the run's clock). Used by `why`,
`try` and `status`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from fairway.record import Run

__all__ = ["RunTime", "at_option", "run_option", "tell_notes"]

CLOCK: Final = re.compile(r"(?:(\d+)d[ T]?)?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")
DAY, HOUR, MINUTE = 86_400, 3_600, 60


class RunTime(click.ParamType[float]):
    """A time of a run: 90, 15m, 1h30m, or as clocks show it, 00:14:09 or 2d 03:00:00."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since the run began."""
        from fairway.scenario.fields import read_duration

        if clock := CLOCK.fullmatch(str(value).strip()):
            days, hours, minutes, seconds = clock.groups()
            return int(days or 0) * DAY + int(hours) * HOUR + int(minutes) * MINUTE + float(seconds)
        try:
            return float(read_duration(value))
        except ValueError:
            self.fail(f"{value!r} is not a time of a run; allowed: 90 (seconds), 15m, 1h30m, 00:14:09", param, ctx)


run_option = click.option(
    "--run", "run_path", type=click.Path(), metavar="RUN", help="A run that `fairway sim --save RUN` wrote."
)
at_option = click.option(
    "--at",
    type=RunTime(),
    metavar="TIME",
    help="A moment of the run, such as 1h30m or 00:14:09.  [default: its end]",
)


def tell_notes(run: Run) -> None:
    """Whoever asks a run is told how far it goes, and what it does not know."""
    from fairway.cli.output import narrate
    from fairway.explain.run_time import run_notes

    for note in run_notes(run):
        narrate(f"note: {note}")
