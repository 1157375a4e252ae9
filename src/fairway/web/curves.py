"""Curves of a run: means over equal stretches of time, by whatever people want to tell apart.

In: a run and a `CurveQuestion`. Out: middles of the stretches and the series. A mean over a stretch is the area of what
happened in it, so that nothing is lost between points; rates are counted in it and divided by its length. Called by
`routes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.model.device_need import WHOLE_DEVICE
from fairway.record.curves import means_between
from fairway.record.gpu_history import CAUSES, GpuHistory, gpu_history
from fairway.record.load import Curve
from fairway.web.device_subject import DEVICE
from fairway.web.heat import spread
from fairway.web.page_error import PageError
from fairway.web.questions import CurveQuestion
from fairway.web.shapes import CurveAnswer
from fairway.web.sources import RunSource

__all__ = ["Named", "curve_means", "curves", "equal_edges", "rate_columns", "span_means", "step_curve"]

AT_ONCE: Final = 1 << 16
"""So many amounts are laid over each other at a time: a million of them would take a hundred MiB."""

Floats = NDArray[np.float64]
Series = dict[str, Floats]


class Named(NamedTuple):
    """Moments with names and weights, from a question in SQL."""

    names: list[str]
    number: NDArray[np.int64]  # (num_rows,) of the name
    time: Floats  # (num_rows,)
    weight: Floats  # (num_rows,)

    @classmethod
    def of(cls, source: RunSource, question: str) -> Named:
        """From columns `time`, `name`, `weight`; a name is made into text once, not for each row."""
        names = [row["name"] for row in source.rows(f"SELECT DISTINCT name FROM ({question}) ORDER BY name")]
        rows = source.run.sql(
            f"""
            WITH asked AS ({question}), names AS (
                SELECT name, (row_number() OVER (ORDER BY name) - 1)::BIGINT AS number
                FROM (SELECT DISTINCT name FROM asked)
            )
            SELECT number, time, weight::DOUBLE AS weight FROM asked JOIN names USING (name)
            """
        ).numpy()
        return cls(names, rows["number"], rows["time"], rows["weight"])


def curves(source: RunSource, question: CurveQuestion) -> CurveAnswer:
    """The answer; what `by` may be depends on what is asked."""
    unit, groups, draw = DRAWN[question.what]
    by = next(iter(groups), "") if question.by is None else question.by
    if by not in groups and question.by is not None:
        hint = f"there are: {', '.join(groups)}" if groups else "leave it out"
        raise PageError(400, "bad_parameter", f"by: {question.what} is not told apart by {by}", hint)
    begin, end = source.stretch(question.begin, question.end)
    edges = equal_edges(begin, end, question.points)
    series = draw(source, edges, groups.get(by, ""))
    middles = (edges[:-1] + edges[1:]) / 2
    return CurveAnswer(unit, middles.tolist(), {name: values.tolist() for name, values in series.items()})


def equal_edges(begin: float, end: float, num_stretches: int) -> Floats:
    """Edges of equal stretches, (num_stretches + 1,); of no time at all those of the shortest that can be told."""
    shortest = max(1e-9, num_stretches * float(np.spacing(abs(begin))))
    return np.linspace(begin, max(end, begin + shortest), num_stretches + 1)


def span_means(begin: Floats, end: Floats, amount: Floats, edges: Floats) -> Floats:
    """The mean of all amounts that hold, each from its begin to its end, over equal stretches: (num_edges - 1,)."""
    width, means = edges[1] - edges[0], np.zeros(len(edges) - 1)
    for first in range(0, len(begin), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        left, right = (begin[part] - edges[0]) / width, (end[part] - edges[0]) / width
        means += spread(np.zeros(len(left), np.int32), left, right, amount[part], (1, len(means)))[0]
    return means


def step_curve(times: Floats, changes: Floats, edges: Floats) -> Floats:
    """The mean of a running sum of changes, over each stretch: (num_edges - 1,)."""
    first = min(float(edges[0]), float(times.min(initial=edges[0])))
    times, changes = np.concatenate([[first], times]), np.concatenate([[0.0], changes])
    order = np.argsort(times, kind="stable")
    return means_between(Curve(times[order], np.cumsum(changes[order])), edges)


def curve_means(curve: Curve, edges: Floats) -> Floats:
    """The mean of a step function over each stretch; before its first time it is 0."""
    if len(curve.times) and curve.times[0] <= edges[0]:
        return means_between(curve, edges)
    first = min(float(edges[0]), float(curve.times.min(initial=edges[0])))
    return means_between(Curve(np.append(first, curve.times), np.append(0.0, curve.values)), edges)


def rate_columns(rows: Named, edges: Floats) -> Series:
    """Each name's sum of weights a second, the largest first."""
    names, numbers, time, weight = rows
    inside = (time >= edges[0]) & (time <= edges[-1])
    stretch = np.clip(np.searchsorted(edges, time, "right") - 1, 0, len(edges) - 2)
    shape = len(names), len(edges) - 1
    cells = (numbers * shape[1] + stretch)[inside]
    sums = np.bincount(cells, weight[inside], minlength=shape[0] * shape[1]).reshape(shape) / np.diff(edges)
    largest = np.argsort(-sums.sum(axis=1), kind="stable")
    return {names[number]: sums[number] for number in largest.tolist()}


def _utilisation(source: RunSource, edges: Floats, _: str) -> Series:
    times, series = source.nodes.held_times(), {}
    for resource in source.run.resources:
        there = source.nodes.there(resource)
        whole = span_means(there.begin, there.end, there.amount, edges)
        if whole.any():
            held = span_means(times.begin, times.end, source.nodes.held_amounts(resource), edges)
            series[resource] = np.divide(held, whole, out=np.zeros_like(held), where=whole > 0)
    return series


def _nodes_used(source: RunSource, edges: Floats, _: str) -> Series:
    """How many nodes hold a pod: intervals of each are laid over each other."""
    held = source.nodes.held_times()
    order = np.lexsort((held.begin, held.thing))
    node, begin, end = held.thing[order], held.begin[order], held.end[order]
    # The latest end so far, of each node: ends are shifted by node so that one maximum serves all.
    shift = node.astype(float) * (float(end.max(initial=0.0)) + 1.0)
    latest = np.maximum.accumulate(end + shift) if len(end) else end
    is_first = np.append(True, begin[1:] + shift[1:] > latest[:-1]) if len(end) else np.zeros(0, bool)
    starts = np.flatnonzero(is_first)
    lasts = np.append(starts[1:] - 1, len(end) - 1) if len(starts) else starts
    return {"nodes": span_means(begin[starts], latest[lasts] - shift[lasts], np.ones(len(starts)), edges)}


def _waiting(source: RunSource, edges: Floats, _: str) -> Series:
    rows = source.run.sql(
        f"""
        SELECT created_seconds AS begin,
            greatest(created_seconds, coalesce(bound_seconds, ended_seconds, {float(source.end)!r})) AS until FROM pods
        """
    ).numpy()
    return {"pods": span_means(rows["begin"], rows["until"], np.ones(len(rows["begin"])), edges)}


def _queue(source: RunSource, edges: Floats, by: str) -> Series:
    """+1 where a pod comes to, -1 where it came from."""
    source.check_queue()
    place = f"|| ' ' || {by}" if by else ""
    rows = Named.of(
        source,
        f"""
        SELECT time_seconds AS time, place {place} AS name, 1.0 AS weight FROM queue_moves WHERE place IS NOT NULL
        UNION ALL
        SELECT time_seconds, origin {place}, -1.0 FROM queue_moves WHERE origin IS NOT NULL
        """,
    )
    return {
        name: step_curve(rows.time[rows.number == number], rows.weight[rows.number == number], edges)
        for number, name in enumerate(rows.names)
    }


def _moves(source: RunSource, edges: Floats, by: str) -> Series:
    """Moves in the queue a second, by what moved the pods."""
    source.check_queue()
    sql = f"SELECT time_seconds AS time, {by} AS name, 1.0 AS weight FROM queue_moves"
    return rate_columns(Named.of(source, sql), edges)


def _decisions(source: RunSource, edges: Floats, by: str) -> Series:
    sql = f"SELECT time_seconds AS time, {by} AS name, 1.0 AS weight FROM decisions"
    return rate_columns(Named.of(source, sql), edges)


def _refusals(source: RunSource, edges: Floats, by: str) -> Series:
    """Attempts a second that failed, by who refused a node in them."""
    sql = f"""
        SELECT time_seconds AS time, name, 1.0 AS weight
        FROM (SELECT DISTINCT decision_id, {by} AS name FROM filter_counts) JOIN decisions USING (decision_id)
    """
    return rate_columns(Named.of(source, sql), edges)


def _plugin_time(source: RunSource, edges: Floats, by: str) -> Series:
    if not source.run.meta.get("options", {}).get("plugin_times"):
        raise PageError(404, "not_recorded", "the run does not say what plugins took: nobody measured it",
                        "fairway sim SCENARIO --plugin-times --save RUN")  # fmt: skip
    sql = f"SELECT time_seconds AS time, {by} AS name, cpu_seconds AS weight FROM plugin_times"
    return rate_columns(Named.of(source, sql), edges)


def _gpu_causes(source: RunSource, edges: Floats, by: str) -> Series:
    if by:
        return _devices_by_model(source, edges)

    def size(made: GpuHistory | None) -> int:
        return 1 if made is None else 100 * len(made.node)

    history = source.cache.value((source.id, "gpu history"), lambda: gpu_history(source.run), size)
    if history is None:
        raise PageError(404, "no_devices", f"no node of {source.id} has GPU devices")
    amounts = {"allocated": history.there - history.idle}
    amounts |= {cause: history.by_cause[:, number] for number, cause in enumerate(CAUSES)}
    return {name: curve_means(history.curve(values), edges) for name, values in amounts.items()}


def _devices_by_model(source: RunSource, edges: Floats) -> Series:
    """Devices that were allocated, those of models of which most were first."""
    subject = source.devices.subject
    times, amounts = subject.held_times(), subject.held_amounts(DEVICE) / WHOLE_DEVICE
    models = np.array([labels["model"] for labels in subject.labels], object)
    series = {}
    for model in sorted(set(models.tolist())):
        held = models[times.thing] == model
        series[model] = span_means(times.begin[held], times.end[held], amounts[held], edges)
    return dict(sorted(series.items(), key=lambda item: -float(item[1].sum())))


Draw = Callable[[RunSource, Floats, str], Series]
DRAWN: Final[Mapping[str, tuple[str, Mapping[str, str], Draw]]] = {
    "utilisation": ("share", {"resource": ""}, _utilisation),
    "waiting": ("pods", {}, _waiting),
    "queue": ("pods", {"place": "", "scheduler": "scheduler"}, _queue),
    "moves": ("1/s", {"event": "event", "scheduler": "scheduler"}, _moves),
    "nodes-used": ("nodes", {}, _nodes_used),
    "decisions": ("1/s", {"outcome": "outcome", "scheduler": "scheduler"}, _decisions),
    "refusals": ("1/s", {"plugin": "plugin", "reason": "plugin || ': ' || reason"}, _refusals),
    "plugin-time": (
        "s/s",
        {"plugin": "plugin", "point": "point", "scheduler": "scheduler", "both": "point || ' ' || plugin"},
        _plugin_time,
    ),
    "gpu-causes": ("devices", {"cause": "", "model": "model"}, _gpu_causes),
}
"""By what is asked: the unit, by what it can be told apart, each with its expression in SQL, and who draws it."""
