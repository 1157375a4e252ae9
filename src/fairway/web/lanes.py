"""Pods of some nodes as lanes over time, and the nodes' states.

In: a run, names of nodes, a stretch. Out: intervals, each with its lane: packed first fit by start over the whole run,
so that a pod keeps its lane however the window moves. Of more than 2,000 intervals only how many there were and
what they held, over time. A name that was used twice is two nodes. Called by `routes`.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairway.web.curves import equal_edges, step_curve
from fairway.web.page_error import PageError
from fairway.web.paging import columns_of
from fairway.web.picture_shapes import LaneColumns, LanesAnswer, NodeStretch
from fairway.web.questions import LanesQuestion
from fairway.web.shapes import CurveAnswer
from fairway.web.sources import RunSource

__all__ = ["MOST_INTERVALS", "first_fit", "lanes"]

MOST_INTERVALS: Final = 2000
POINTS: Final = 480


def lanes(source: RunSource, question: LanesQuestion) -> LanesAnswer:
    """The answer."""
    begin, end = source.stretch(question.begin, question.end)
    amounts = "".join(f', "{column}"' for column in source.run.resources.values())
    states = source.rows(
        f"""
        SELECT node, node_id, from_seconds, to_seconds, change, gone, is_ready, is_unschedulable, pods{amounts}
        FROM nodes WHERE node IN (SELECT unnest($names)) ORDER BY node_id, from_seconds, rowid
        """,
        names=question.node,
    )
    _check_names(source, question.node, {state["node"] for state in states})
    rows = source.rows(
        f"""
        SELECT node, node_id, pod, pod_id, from_seconds, to_seconds, reason{amounts} FROM occupancy
        WHERE node_id IN (SELECT unnest($nodes)) ORDER BY node_id, from_seconds, pod_id, rowid
        """,
        nodes=sorted({state["node_id"] for state in states}),
    )
    packed = _packed(rows, source.end)
    shown = [row for row in packed if row["from_seconds"] < end and _until(row, source.end) > begin]
    stretches = [_stretch(source, state) for state in states if _until(state, source.end) >= begin]
    stretches = [stretch for stretch in stretches if stretch.from_seconds <= end]
    if len(shown) <= MOST_INTERVALS:
        whose = _whose(source, [row["pod_id"] for row in shown])
        told = [row | whose[row["pod_id"]] | {"amounts": _amounts(source, row)} for row in shown]
        return LanesAnswer(False, len(shown), columns_of(LaneColumns, told), None, stretches)
    edges = equal_edges(begin, end, POINTS)
    times = np.array([[row["from_seconds"], _until(row, source.end)] for row in shown]).T.ravel()
    held = {"pods": [1.0] * len(shown)} | {
        name: [float(row[column] or 0) for row in shown] for name, column in source.run.resources.items()
    }
    series = {name: step_curve(times, _steps(values), edges).tolist() for name, values in held.items()}
    curve = CurveAnswer("amounts", ((edges[:-1] + edges[1:]) / 2).tolist(), series)
    return LanesAnswer(True, len(shown), columns_of(LaneColumns, []), curve, stretches)


def _steps(amounts: Sequence[float]) -> NDArray[np.float64]:
    """All up, then all down again."""
    up = np.array(amounts)
    return np.concatenate([up, -up])


def _whose(source: RunSource, pods: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What lanes can be coloured by, by pod."""
    device = "gpu_index" if "gpu_index" in source.run.pods.columns else "NULL"  # earlier versions do not say
    sql = f"SELECT pod_id, owner, user_name AS user, priority, {device} AS gpu_index FROM pods"
    return {row["pod_id"]: row for row in source.rows(f"{sql} WHERE pod_id IN (SELECT unnest($pods))", pods=pods)}


def first_fit(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """For each interval, in order of start, the first lane that is free then."""
    lanes: list[int] = []
    free: list[int] = []  # lanes that were used before, the first one first
    busy: list[tuple[float, int]] = []  # until when, and which
    for begin, end in intervals:
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, lane))
        lanes.append(lane)
    return lanes


def _packed(rows: Sequence[dict[str, Any]], end: float) -> list[dict[str, Any]]:
    by_node: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_node.setdefault(row["node_id"], []).append(row)
    packed = []
    for some in by_node.values():
        numbers = first_fit([(row["from_seconds"], _until(row, end)) for row in some])
        packed += [row | {"lane": lane} for row, lane in zip(some, numbers, strict=True)]
    return packed


def _until(row: dict[str, Any], end: float) -> float:
    return end if row["to_seconds"] is None else float(row["to_seconds"])


def _amounts(source: RunSource, row: dict[str, Any]) -> dict[str, int]:
    return {name: int(row[column] or 0) for name, column in source.run.resources.items()}


def _stretch(source: RunSource, state: dict[str, Any]) -> NodeStretch:
    names = [name for name in NodeStretch.__struct_fields__ if name != "allocatable"]
    return NodeStretch(
        **{name: state[name] for name in names}, allocatable=_amounts(source, state) | {"pods": state["pods"]}
    )


def _check_names(source: RunSource, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, {node for node in source.nodes.subject.names if node}, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else ""
            raise PageError(404, "no_such_node", f"the run has no node {name}", hint)
