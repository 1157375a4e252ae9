"""What `compare` is told about an order-only scenario.

In: the arguments of the command line. Out: `OrderChoices`, and usage errors for options that go with other sources.
Imports nothing heavy: `compare --help` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import click

__all__ = ["OrderChoices", "is_order_scenario", "order_options", "refuse_order_options", "refuse_others"]

F = TypeVar("F", bound=Callable[..., Any])
KIND: Final = b"OrderScenario"
MOST_BYTES: Final = 1 << 20  # of a scenario

OPTIONS: Final = (
    click.option("--trace", "traces", multiple=True, metavar="NAME", help="Of an OrderScenario: only this pod list."),
    click.option("--openb", metavar="DATA", type=click.Path(), help="Of an OrderScenario: where the openb trace is."),
    click.option(
        "--expected", metavar="DIR", type=click.Path(), help="Of an OrderScenario: published results to show beside."
    ),
)
REASONS: Final = {
    "optimum": "pods come until nothing fits, so the best there could be is all GPUs allocated, and its tables say how "
    "much is; try --optimum and compare --optimum judge a placement",
    "fail_if": "its results are curves over the load, not metrics of a run; the tables that --save writes have them",
}
"""Why some options are not for such a scenario."""


class OrderChoices(NamedTuple):
    """What the command line says about an order-only scenario."""

    policies: Sequence[str] = ()
    traces: Sequence[str] = ()
    seed: int | None = None
    seeds: int | None = None
    openb: str | None = None
    expected: str | None = None
    folder: str | None = None
    html: str | None = None
    jobs: int | None = None
    output: str = "table"


def order_options(command: F) -> F:
    """The options that only order-only scenarios have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def is_order_scenario(path: str) -> bool:
    """Does the file say that it is one?"""
    from fairway.model import DecodeError
    from fairway.model.text_file import read_bytes

    try:
        if KIND not in read_bytes(path)[:MOST_BYTES]:
            return False
    except DecodeError:
        return False
    from fairway.experiments.order_scenario import is_order_scenario as says_so

    return says_so(path)


def refuse_order_options(wanted: OrderChoices) -> None:
    """A usage error for options that other sources do not have."""
    for name, value in (("trace", wanted.traces), ("openb", wanted.openb), ("expected", wanted.expected)):
        if value not in (None, ()):
            raise click.UsageError(f"--{name} is for a scenario of kind OrderScenario")


def refuse_others(changes: Mapping[str, Any]) -> None:
    """A usage error for options that order-only scenarios do not have."""
    for name, value in changes.items():
        if name != "seed" and value not in (None, False, ()):
            why = REASONS.get(name, "nothing there takes time")
            raise click.UsageError(f"--{name.replace('_', '-')} is not for an OrderScenario: {why}")
