"""Pods that two runs treat otherwise: those that got another node, or theirs after another wait.

In: two runs of the server. Out: a page of `ComparedPods`. Pods are the same if they have the same name, and were the
same of that name: the first that was made, the second. Called by `routes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fairway.web.compared.comparison import runs_of
from fairway.web.paging import columns_of, next_word, page_begin
from fairway.web.pods import WAIT
from fairway.web.questions import ComparedPodsQuestion
from fairway.web.shapes import ComparedPodColumns, ComparedPods
from fairway.web.sources import RunSource, RunSources

__all__ = ["compared_pods"]

INSTANT: Final = 1e-6
"""Seconds that are none: what is left of adding and taking away."""

Row = dict[str, Any]
SORTS: Final[dict[str, Callable[[Row], Any]]] = {
    "delay": lambda row: (row["delay_seconds"], row["created_seconds"], row["pod"]),
    "created": lambda row: (row["created_seconds"], row["pod"]),
    "pod": lambda row: (row["pod"], row["created_seconds"]),
}


class _Joined(NamedTuple):
    rows: list[Row]
    num_both: int
    num_elsewhere: int
    num_only_first: int
    num_only_other: int


def compared_pods(sources: RunSources, question: ComparedPodsQuestion) -> ComparedPods:
    """Those whom the other run has wait longest, first, unless asked otherwise."""
    first, other = runs_of(sources, question.run)
    key = ("compared pods", first.id, other.id, question.sort)
    joined = first.cache.value(key, lambda: _sorted(first, other, question.sort), lambda made: 400 * len(made.rows))
    begin = page_begin(question)
    rows = joined.rows[begin : begin + question.limit]
    total = len(joined.rows)
    return ComparedPods(
        *joined[1:], columns_of(ComparedPodColumns, rows), len(rows), total,
        next_word(question, begin, len(rows), total),
    )  # fmt: skip


def _sorted(first: RunSource, other: RunSource, sort: str) -> _Joined:
    joined = _join(_pods(first), _pods(other))
    joined.rows.sort(key=SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))
    return joined


def _pods(source: RunSource) -> dict[tuple[str, int], Row]:
    """By name, and the how many-th of that name."""
    rows = source.rows(
        f"""
        SELECT pod, row_number() OVER (PARTITION BY pod ORDER BY created_seconds, pod_id) AS number,
            created_seconds, node, {WAIT} AS wait_seconds
        FROM pods
        """,
        at=source.end,
    )
    return {(row["pod"], row["number"]): row for row in rows}


def _join(ours: dict[tuple[str, int], Row], theirs: dict[tuple[str, int], Row]) -> _Joined:
    both = ours.keys() & theirs.keys()
    rows, num_elsewhere = [], 0
    for key in both:
        one, two = ours[key], theirs[key]
        delay = two["wait_seconds"] - one["wait_seconds"]
        is_elsewhere = one["node"] != two["node"]
        num_elsewhere += is_elsewhere
        if is_elsewhere or abs(delay) > INSTANT:
            more = {"other_node": two["node"], "other_wait_seconds": two["wait_seconds"], "delay_seconds": delay}
            rows.append(one | more)
    return _Joined(rows, len(both), num_elsewhere, len(ours) - len(both), len(theirs) - len(both))
