"""Whose the rows of a heat map are: names, groups of a label, and when nodes took no pods.

In: a run, an order, a filter, some rows. Out: their names and the spans in which they were cordoned or not ready; for
all rows, the labels that can be ordered by, and where the groups of the one ordered by begin. Called by `routes`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from fairway.web.device_subject import DEVICE
from fairway.web.heat_map import HeatMap, HeatView
from fairway.web.nodes import row_order
from fairway.web.paging import columns_of
from fairway.web.picture_shapes import RowsAnswer, RowSpans
from fairway.web.questions import DeviceRowsQuestion, RowsQuestion
from fairway.web.sources import RunSource

__all__ = ["device_rows", "label_groups", "node_rows"]

MOST_LABELS: Final = 100
MOST_GROUPS: Final = 1000


def node_rows(source: RunSource, question: RowsQuestion) -> RowsAnswer:
    """Nodes."""
    view = HeatView(source.resource(question.resource), question.order, question.filter)
    order = row_order(source.nodes, view)
    shown = order.thing[question.first : question.first + question.count].tolist()
    states = source.rows(
        """
        SELECT node_id, from_seconds, to_seconds, is_ready, is_unschedulable FROM nodes
        WHERE node_id IN (SELECT unnest($shown)) AND (is_unschedulable OR NOT is_ready)
        ORDER BY node_id, from_seconds, rowid
        """,
        shown=shown,
    )
    rows = [{"row": int(order.row[state["node_id"]]), **state} for state in states]
    return _answer(source.nodes, view, question, columns_of(RowSpans, rows))


def device_rows(source: RunSource, question: DeviceRowsQuestion) -> RowsAnswer:
    """GPU devices."""
    view = HeatView(DEVICE, question.order, question.filter)
    return _answer(source.devices, view, question, RowSpans([], [], [], [], []))


def _answer(heat: HeatMap, view: HeatView, question: RowsQuestion | DeviceRowsQuestion, spans: RowSpans) -> RowsAnswer:
    order = row_order(heat, view)
    names, labels = heat.subject.names, heat.subject.labels
    shown = order.thing[question.first : question.first + question.count].tolist()
    values: dict[str, set[str]] = {}
    for some in labels:
        for label, value in some.items():
            values.setdefault(label, set()).add(value)
    by_size = sorted(values, key=lambda label: (len(values[label]), label))
    groups: list[tuple[str, int]] = []
    if question.order.startswith("label:"):
        label = question.order.removeprefix("label:")
        groups = label_groups([labels[number].get(label, "") for number in order.thing.tolist()])
    shares = np.nan_to_num(heat.shares(view.resource)[order.thing])
    fullest = int(shares.argmax()) if shares.any() else None
    return RowsAnswer(
        order.num_rows,
        question.first,
        [names[number] for number in shown],
        shown,
        by_size[:MOST_LABELS],
        [value for value, _ in groups],
        [row for _, row in groups],
        None if fullest is None else names[order.thing[fullest]],
        None if fullest is None else float(shares[fullest]),
        spans,
    )


def label_groups(values: list[str]) -> list[tuple[str, int]]:
    """Each run of equal values and where it begins; none at all of more than 1,000."""
    found = np.array(values, object)
    is_first = np.append(True, found[1:] != found[:-1]) if len(found) else np.zeros(0, bool)
    starts = np.flatnonzero(is_first).tolist()
    return [(values[row], row) for row in starts] if len(starts) <= MOST_GROUPS else []
