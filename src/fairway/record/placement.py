"""How well pods lie on nodes: imbalance, nodes used, what these cost, fragmentation.

In: a `LoadHistory`, for prices the `Run` itself. Out: numbers for `Metrics`. Runs with few changes are measured
exactly; of long ones the nodes are looked at in equal steps (`LoadHistory.instants`), which bounds time and memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairway.model.node_price import PRICE, price_of
from fairway.record.load import Floats, LoadHistory, Spans
from fairway.record.manifests import node_of
from fairway.record.run import Run

__all__ = [
    "Cost",
    "Imbalance",
    "NodesUsed",
    "busy_spans",
    "busy_stretches",
    "cost_of",
    "fragmentation",
    "imbalance",
    "nodes_used",
]

DAY_HOURS = 24
NUM_CELLS = 1_000_000  # nodes times instants, for imbalance
NUM_CLASS_CELLS = 200_000  # nodes times instants, for fragmentation, which asks each class of pods about each cell


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How different the nodes' utilisations of one resource are, on average over time."""

    spread: float  # largest minus smallest
    std: float  # standard deviation
    cv: float  # standard deviation over mean: the coefficient of variation; 0 while nothing is used


@dataclass(frozen=True, slots=True)
class NodesUsed:
    """How many nodes had a pod."""

    mean: float  # over time
    peak: int
    ever: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What an average day of the run costs."""

    per_day: float  # of all nodes, ready or not, while they are there
    used_per_day: float  # of nodes while they have a pod, as if the others were switched off
    unpriced_nodes: int | None  # which cost nothing here; None: all have a price


def imbalance(history: LoadHistory) -> dict[str, Imbalance]:
    """By resource, over the ready nodes that have any of it."""
    instants, weights = history.instants(NUM_CELLS)
    found = {}
    for number, resource in enumerate(history.resources):
        capacity = history.there.sums_at(instants, history.num_nodes, number)  # (num_instants, num_nodes)
        counted = capacity > 0
        num_counted = counted.sum(axis=1)
        is_measured = num_counted > 0
        if not is_measured.any():
            continue
        held = history.held.sums_at(instants, history.num_nodes, number)
        shares = np.divide(held, capacity, out=np.zeros_like(held), where=counted)
        spread = np.where(counted, shares, -np.inf).max(axis=1) - np.where(counted, shares, np.inf).min(axis=1)
        divisor = np.maximum(num_counted, 1)
        mean = shares.sum(axis=1) / divisor
        deviations = np.where(counted, shares - mean[:, None], 0.0)
        std = np.sqrt((deviations**2).sum(axis=1) / divisor)
        cv = np.divide(std, mean, out=np.zeros_like(std), where=mean > 0)
        share = weights[is_measured] / weights[is_measured].sum()
        found[resource] = Imbalance(*(float(one[is_measured] @ share) for one in (spread, std, cv)))
    return found


def busy_spans(history: LoadHistory) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Nodes from their first pod's coming to their last pod's going, each time: nodes, begins and ends (num_spans,)."""
    return busy_stretches(history.held)


def busy_stretches(held: Spans, mask: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int32], Floats, Floats]:
    """The same for any spans, or those of a mask."""
    is_real = held.end > held.begin if mask is None else mask & (held.end > held.begin)
    nodes = np.concatenate([held.node[is_real], held.node[is_real]])
    times = np.concatenate([held.begin[is_real], held.end[is_real]])
    steps = np.repeat([1, -1], is_real.sum())
    order = np.lexsort((-steps, times, nodes))  # by node, by time; who comes is counted before who goes
    counts = np.cumsum(steps[order])  # every node ends at 0, so the sum starts afresh with each
    is_begin, is_end = counts - steps[order] == 0, counts == 0
    return nodes[order][is_begin], times[order][is_begin], times[order][is_end]


def nodes_used(history: LoadHistory) -> NodesUsed:
    """Exact: nodes are counted while they have a pod."""
    nodes, begins, ends = busy_spans(history)
    if not len(nodes):
        return NodesUsed(0.0, 0, 0)
    changes = np.repeat([1, -1], len(nodes))
    by_time = np.lexsort((changes, np.concatenate([begins, ends])))  # who is left does not count beside who is entered
    in_use = np.cumsum(changes[by_time])
    seconds = float((ends - begins).sum())
    return NodesUsed(seconds / (history.end - history.begin), int(in_use.max()), len(np.unique(nodes)))


def cost_of(run: Run, history: LoadHistory) -> Cost | None:
    """What the nodes of the run cost by their first price; None where none has any."""
    rows = run.sql(
        "SELECT node_id, first(manifest ORDER BY from_seconds) AS manifest,"
        " sum(coalesce(to_seconds, $1) - from_seconds) AS seconds FROM nodes GROUP BY node_id",
        history.end,
    )
    prices = np.full(history.num_nodes, np.nan)  # (num_nodes,) of an hour; NaN where there is none
    seconds = np.zeros(history.num_nodes)  # (num_nodes,) that it was there
    for row in rows:
        seconds[row["node_id"]] = row["seconds"]
        if row["manifest"] and PRICE in row["manifest"]:  # most runs have none: they need not be read
            price = price_of(node_of(run, row["manifest"]).metadata.labels)
            prices[row["node_id"]] = np.nan if price is None else price
    days = (history.end - history.begin) / DAY_HOURS  # times the seconds of an hour, by which prices are
    if np.isnan(prices).all() or days <= 0:
        return None
    node, begin, end = busy_spans(history)
    paid = np.nan_to_num(prices)
    return Cost(
        per_day=float(paid @ seconds) / days,
        used_per_day=float(paid[node] @ (end - begin)) / days,
        unpriced_nodes=int(np.isnan(prices).sum()) or None,
    )


def fragmentation(history: LoadHistory, requests: NDArray[np.int64], counts: NDArray[np.int64]) -> dict[str, float]:
    """By resource, the share of what is free that the pods of the workload can not use where it is.

    `requests` (num_classes, num_resources) are the kinds of pods, `counts` (num_classes,) how many there are of each.
    At an instant, free amounts on nodes where a kind does not fit are lost to it; the share lost is averaged over the
    kinds that ask for the resource, by their number, and over time. 0 while nothing is free.
    """
    instants, weights = history.instants(NUM_CLASS_CELLS)
    num_resources = len(history.resources)
    if not len(instants) or not len(requests):
        return {}
    free = np.empty((num_resources, len(instants), history.num_nodes))
    for number in range(num_resources):
        there = history.there.sums_at(instants, history.num_nodes, number)
        held = history.held.sums_at(instants, history.num_nodes, number)
        free[number] = np.maximum(there - held, 0)
    total = free.sum(axis=2)  # (num_resources, num_instants)
    lost: Floats = np.zeros(num_resources)
    asking = (requests > 0).astype(np.float64) * counts[:, None]  # (num_classes, num_resources)
    for request, asked in zip(requests, asking, strict=True):
        fits = np.ones(free.shape[1:], np.bool_)
        for number in np.flatnonzero(request).tolist():
            fits &= free[number] >= request[number]
        for number in np.flatnonzero(asked).tolist():
            unusable = np.where(fits, 0.0, free[number]).sum(axis=1)
            share = np.divide(unusable, total[number], out=np.zeros_like(unusable), where=total[number] > 0)
            lost[number] += asked[number] * float(share @ weights)
    demand = asking.sum(axis=0)
    return {
        resource: float(lost[number] / demand[number])
        for number, resource in enumerate(history.resources)
        if demand[number] > 0
    }
