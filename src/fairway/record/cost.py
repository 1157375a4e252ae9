"""What a day costs: the nodes' prices, times how long they are there, or have something to do.

In: a `Run` whose nodes say what an hour of them costs (label `fairway.dev/price`), and its `LoadHistory`. Out: a `Cost`
for `Metrics`, None where no node has a price. Prices are numbers in whatever currency; a node's first one counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from fairway.record.load import LoadHistory
from fairway.record.manifests import node_of
from fairway.record.placement import busy_spans
from fairway.record.run import Run

__all__ = ["PRICE", "Cost", "cost_of", "price_of"]

PRICE: Final = "fairway.dev/price"
"""The label of a node that says what an hour of it costs."""

HOUR, DAY_HOURS = 3_600, 24


@dataclass(frozen=True, slots=True)
class Cost:
    """Of an average day of the run."""

    per_day: float  # of all nodes, ready or not, while they are there
    used_per_day: float  # of nodes while they have a pod, as if the others were switched off
    unpriced_nodes: int | None  # which cost nothing here; None: all have a price


def cost_of(run: Run, history: LoadHistory) -> Cost | None:
    """What the nodes of the run cost."""
    rows = run.sql(
        "SELECT node_id, min(from_seconds) AS begin, first(manifest ORDER BY from_seconds) AS manifest,"
        " sum(coalesce(to_seconds, $1) - from_seconds) AS seconds FROM nodes GROUP BY node_id",
        history.end,
    )
    prices = np.full(history.num_nodes, np.nan)  # (num_nodes,) per hour; NaN where there is none
    seconds = np.zeros(history.num_nodes)  # (num_nodes,) that it was there
    for row in rows:
        seconds[row["node_id"]] = row["seconds"]
        if row["manifest"] and PRICE in row["manifest"]:
            price = price_of(node_of(run, row["manifest"]).metadata.labels)
            prices[row["node_id"]] = np.nan if price is None else price
    length = history.end - history.begin
    if np.isnan(prices).all() or length <= 0:
        return None
    node, begin, end = busy_spans(history)
    paid = np.nan_to_num(prices)
    per_day = float(paid @ seconds) / length * DAY_HOURS
    used = float(paid[node] @ (end - begin)) / length * DAY_HOURS
    return Cost(per_day, used, int(np.isnan(prices).sum()) or None)


def price_of(labels: Mapping[str, str]) -> float | None:
    """What an hour of a node with these labels costs; None if they do not say, or nothing that makes sense."""
    try:
        price = float(labels.get(PRICE, ""))
    except ValueError:
        return None
    return price if math.isfinite(price) and price >= 0 else None
