"""The table of a trial: which of its rows are shown, in which order, and where many are one.

In: rows of `try`, a row a pod. Out: those that were asked for (`--only`), sorted (`--sort`); in a table for people that
would be longer than a screen, the pods of one controller that fared alike are one row. Called by `try`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from fairway.words import count_text, nodes_text

__all__ = ["SCREEN", "chosen_rows", "folded_rows", "table_options"]

F = TypeVar("F", bound=Callable[..., Any])
Row = Mapping[str, Any]

SCREEN: Final = 40  # lines; a longer table is folded, and what it comes to is said before it
PLACED: Final = ("scheduled", "preempts")
ONLY: Final = ("failed", "placed")
KEYS: Final[dict[str, Callable[[Row], Any]]] = {
    "pod": lambda row: row["pod"],
    "node": lambda row: (row["node"] is None, row["node"] or "", row["pod"]),
    "result": lambda row: (row["result"] in PLACED, row["result"], row["pod"]),
    "priority": lambda row: (-row["priority"], row["pod"]),
    "from": lambda row: (row["from"], row["pod"]),
}

OPTIONS = (
    click.option("--only", type=click.Choice(ONLY), help="Only pods that get no node, or only those that get one."),
    click.option("--sort", type=click.Choice(list(KEYS)), help="Order of the rows.  [default: the queue's]"),
)


def table_options(command: F) -> F:
    """Add the options; their values arrive as `only` and `sort`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def chosen_rows(rows: Sequence[dict[str, Any]], only: str | None, sort: str | None) -> list[dict[str, Any]]:
    """The rows that were asked for, in the order that was asked for."""
    chosen = [row for row in rows if only is None or (row["result"] in PLACED) == (only == "placed")]
    return chosen if sort is None else sorted(chosen, key=KEYS[sort])


def folded_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods of one controller with the same result in one row, at the place of the first; if there are many rows."""
    if len(rows) <= SCREEN:
        return list(rows)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["from"], row["result"]), []).append(row)
    return [_folded(alike) if len(alike) > 1 else alike[0] for alike in groups.values()]


def _folded(alike: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = alike[0]
    nodes = list(dict.fromkeys(row["node"] for row in alike if row["node"] is not None))
    details = {row["detail"] for row in alike}
    words = f"{count_text(len(alike))} pods"
    if nodes and len(nodes) < len(alike):
        most = max(sum(row["node"] == node for row in alike) for node in nodes)
        words += f", at most {count_text(most)} on a node"
    victims = [victim for row in alike for victim in row.get("evicts", ())]
    if victims:
        words += f", evicting {count_text(len(victims))}"
    return first | {
        "pod": first["from"],
        "node": None if not nodes else nodes[0] if len(nodes) == 1 else nodes_text(len(nodes)),
        "detail": f"{words}: {first['detail']}" if len(details) == 1 else words,
    }
