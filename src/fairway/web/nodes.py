"""Rows of heat maps, with what is known of them: nodes and GPU devices in the order of the tiles, cells for the hover.

In: a run, an order, a filter, a time. Out: pages of nodes with their state and load then, pages of devices, and single
cells with the names of their nodes and pods. Called by `routes`.
"""

from __future__ import annotations

from typing import Final

from fairway.web.device_subject import DEVICE, DeviceSubject
from fairway.web.heat_map import HeatCell, HeatMap, HeatView, RowOrder
from fairway.web.page_error import PageError
from fairway.web.paging import PageOf, columns_of, page_begin, page_of
from fairway.web.picture_shapes import CellAnswer
from fairway.web.questions import CellQuestion, DeviceCellQuestion, DevicesQuestion, NodesQuestion
from fairway.web.shapes import DeviceColumns, NodeColumns
from fairway.web.sources import RunSource

__all__ = ["device_cell", "devices_page", "node_cell", "nodes_page", "row_order"]

NAMED: Final = 20


def nodes_page(source: RunSource, question: NodesQuestion) -> PageOf[NodeColumns]:
    """Nodes in the order of the tiles; those that are not there at that time have no state."""
    at = source.time(question.at)
    resource = source.resource(question.resource or next(iter(source.known.resources)))
    order = row_order(source.nodes, HeatView(resource, question.order, question.filter))
    begin = page_begin(question)
    numbers = order.thing[begin : begin + question.limit].tolist()
    known, names = source.run.resources, source.nodes.subject.names
    there = {row["node_id"]: row for row in source.run.node_load(at).where("node_id IN (SELECT unnest(?))", numbers)}
    rows = []
    for row, number in enumerate(numbers, begin):
        load = there.get(number)
        columns = {
            "row": row, "node": names[number], "node_id": number, "is_there": load is not None, "is_ready": None,
            "is_unschedulable": None, "pods": None, "share": None, "held": None, "allocatable": None,
        }  # fmt: skip
        if load is not None:
            held = {name: int(load[column]) for name, column in known.items()} | {"pods": load["num_pods"]}
            free = {name: int(load[f"allocatable_{column}"] or 0) for name, column in known.items()}
            free["pods"] = load["allocatable_pods"]
            columns |= {
                "is_ready": load["is_ready"], "is_unschedulable": load["is_unschedulable"], "pods": load["num_pods"],
                "share": held[resource] / free[resource] if free[resource] else None, "held": held, "allocatable": free,
            }  # fmt: skip
        rows.append(columns)
    return page_of(question, columns_of(NodeColumns, rows), begin, len(rows), order.num_rows)


def devices_page(source: RunSource, question: DevicesQuestion) -> PageOf[DeviceColumns]:
    """GPU devices in the order of their tiles."""
    heat = source.devices
    subject = heat.subject
    assert isinstance(subject, DeviceSubject)
    order = row_order(heat, HeatView(DEVICE, question.order, question.filter))
    begin = page_begin(question)
    numbers = order.thing[begin : begin + question.limit].tolist()
    columns = DeviceColumns(
        list(range(begin, begin + len(numbers))),
        *([of[number] for number in numbers] for of in (subject.names, subject.nodes, subject.index, subject.models)),
    )
    return page_of(question, columns, begin, len(numbers), order.num_rows)


def node_cell(source: RunSource, question: CellQuestion) -> CellAnswer:
    """One cell of the heat map of nodes."""
    view = HeatView(source.resource(question.resource), question.order, question.filter, question.stat)
    return _cell(source, source.nodes, view, question)


def device_cell(source: RunSource, question: DeviceCellQuestion) -> CellAnswer:
    """One cell of the heat map of devices."""
    return _cell(source, source.devices, HeatView(DEVICE, question.order, question.filter, question.stat), question)


def row_order(heat: HeatMap, view: HeatView) -> RowOrder:
    """The order, or what is wrong with it."""
    try:
        return heat.order(view)
    except ValueError as error:
        raise PageError(400, "bad_parameter", f"order or filter: {error}") from error


def _cell(source: RunSource, heat: HeatMap, view: HeatView, question: CellQuestion | DeviceCellQuestion) -> CellAnswer:
    order = row_order(heat, view)
    if question.node >= order.num_rows:
        what = f"node: there is no row {question.node}"
        raise PageError(404, "no_such_row", what, f"there are {order.num_rows}, from 0 on")
    cell: HeatCell = heat.cell(view, question.z, question.k, question.time, question.node)
    names = heat.subject.names
    pods = source.rows(
        "SELECT pod FROM pods WHERE pod_id IN (SELECT unnest($pods)) ORDER BY pod_id", pods=cell.pods[:NAMED]
    )
    return CellAnswer(
        cell.begin,
        cell.end,
        cell.share,
        len(cell.things),
        [names[number] for number in cell.things[:NAMED]],
        len(cell.pods),
        [row["pod"] for row in pods],
    )
