"""What commands about queues have in common: which run, which moment, whose jobs.

In: nothing. Out: click options, and the opened run with the moment that is meant. Used by the commands beside it.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairway.cli.options.run import at_option, run_option, tell_notes
from fairway.words import time_text

if TYPE_CHECKING:
    from fairway.record import Run

__all__ = ["moment_words", "open_moment", "queue_option", "run_options", "user_option"]

F = TypeVar("F", bound=Callable[..., Any])


def run_options(command: F) -> F:
    """Add --run and --at."""
    made: Any = run_option(at_option(command))
    return made  # type: ignore[no-any-return]


queue_option = click.option("--queue", metavar="QUEUE", help="Jobs of this queue only.")
user_option = click.option("--user", metavar="USER", help="Jobs of this user only.")


@contextlib.contextmanager
def open_moment(run_path: str | None, at: float | None) -> Iterator[tuple[Run, float]]:
    """The run and the moment of it, after what is to be said of the run was said."""
    from fairway.explain.run_time import check_time
    from fairway.record import Run

    if run_path is None:
        words = "of what? --run RUN, that `fairway sim --save RUN` wrote"
        raise click.UsageError(words, click.get_current_context())
    with Run.open(run_path) as run:
        tell_notes(run)
        yield run, check_time(run, at)


def moment_words(run_path: str | None, at: float) -> str:
    """The options that mean the same moment, for hints."""
    return f"--run {shlex.quote(run_path or '')} --at {shlex.quote(time_text(at))}"
