"""The options of commands that read a run: which file, and which moment of it.

In: nothing. Out: click options whose values arrive as `run_path` and `at` (seconds of the run's clock), and the words
for times. Used by `why`, `try` and `status`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from fairway.record import Run

__all__ = ["at_option", "check_time", "gap_sentences", "length_text", "run_option", "tell_gaps", "time_text"]

CLOCK: Final = re.compile(r"(?:(\d+)d[ T]?)?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")
DAY, HOUR, MINUTE = 86_400, 3_600, 60


class RunTime(click.ParamType[float]):
    """A time of a run: 90, 15m, 1h30m, or as clocks show it, 00:14:09 or 2d 03:00:00."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since the run began."""
        from fairway.sim.scenario_fields import read_duration

        if clock := CLOCK.fullmatch(str(value).strip()):
            days, hours, minutes, seconds = clock.groups()
            return int(days or 0) * DAY + int(hours) * HOUR + int(minutes) * MINUTE + float(seconds)
        try:
            return float(read_duration(value))
        except ValueError:
            self.fail(f"{value!r} is not a time of a run; allowed: 90 (seconds), 15m, 1h30m, 00:14:09", param, ctx)


run_option = click.option("--run", "run_path", metavar="RUN", help="A run that `fairway sim --save RUN` wrote.")
at_option = click.option(
    "--at",
    type=RunTime(),
    metavar="TIME",
    help="A moment of the run, such as 1h30m or 00:14:09.  [default: its end]",
)


def check_time(run: Run, at: float | None) -> float:
    """The moment meant: the end unless said otherwise; a time after the end is a mistake, an early end is told."""
    from fairway.cli.main import USAGE, CommandError
    from fairway.cli.output import narrate

    if not run.is_complete:
        why = run.meta.get("interruption", "it was interrupted")
        narrate(f"note: {run.path} is incomplete, it ends at {time_text(run.end_seconds)}: {why}")
    tell_gaps(run)
    if at is None:
        return run.end_seconds
    if at > run.end_seconds:
        end = time_text(run.end_seconds)
        raise CommandError(f"the run ended before {time_text(at)}", f"give --at a time up to {end}", USAGE)
    return at


def tell_gaps(run: Run) -> None:
    """Whoever asks a run is told what it does not know."""
    from fairway.cli.output import narrate

    for sentence in gap_sentences(run):
        narrate(f"note: {sentence}")


def gap_sentences(run: Run) -> list[str]:
    """What a run lacks, a sentence for each gap."""
    from fairway.record.gaps import gaps_of

    sentences = []
    for gap in gaps_of(run):
        rows = ", ".join(f"{table} {number}" for table, number in gap.num_rows.items())
        sentences.append(
            f"this run has a gap: {run.path} lacks what happened from {time_text(gap.begin)} to {time_text(gap.end)}, "
            f"{sum(gap.num_rows.values())} rows ({rows}): {gap.reason}"
        )
    return sentences


def time_text(seconds: float) -> str:
    """A moment as a clock shows it, with a fraction only if it has one; `--at` takes it back."""
    thousandths = round(seconds * 1000)
    whole, fraction = divmod(thousandths, 1000)
    days, rest = divmod(whole, DAY)
    clock = f"{rest // HOUR:02}:{rest % HOUR // MINUTE:02}:{rest % MINUTE:02}"
    if fraction:
        clock += f".{fraction:03}".rstrip("0")
    return f"{days}d {clock}" if days else clock


def length_text(seconds: float) -> str:
    """How long something took, in its two largest units: 1d 2h, 17m 17s, 0.4s."""
    if seconds < MINUTE:
        return f"{seconds:.3g}s"
    whole = round(seconds)
    parts = [("d", whole // DAY), ("h", whole % DAY // HOUR), ("m", whole % HOUR // MINUTE), ("s", whole % MINUTE)]
    first = next(place for place, (_, number) in enumerate(parts) if number)
    return " ".join(f"{number}{unit}" for unit, number in parts[first : first + 2] if number)
