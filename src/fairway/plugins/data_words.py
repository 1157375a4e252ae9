"""What lies behind a node's score for data: for each dataset the copy that counts, and how it counts.

In: a class's `DataUse` and a row. Out: `DataStep`s, one for each dataset, for records and programs, and the same as
lines for people: the nearest copy, the rung of the ladder, the load of its node, the points; then what is stale, and
whose word was not believed. Worked out copy by copy, for one node at a time. Used by DataLocality.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from fairway.cluster.datasets.data_copies import DataCopies
from fairway.cluster.datasets.data_ground import HOSTNAME
from fairway.plugin import DataStep
from fairway.plugins.data_use import DataUse

if TYPE_CHECKING:
    from fairway.cluster import Cluster

__all__ = ["data_lines", "data_steps"]

RUNG_WORDS: Final = {
    HOSTNAME: "host",
    "fairway.dev/rack": "rack",
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
}
SHOWN: Final = 5


def data_steps(cluster: Cluster, use: DataUse, row: int) -> list[DataStep]:
    """For each dataset, in the pod's order, which copy counts on that row."""
    return [
        _step(cluster, use, name, copies, points, row)
        for (name, copies), points in zip(use.copies.items(), use.points_on(row), strict=True)
    ]


def data_lines(cluster: Cluster, use: DataUse, row: int) -> list[str]:
    """The same for people."""
    lines = []
    for step in data_steps(cluster, use, row):
        copies = use.copies[step.dataset]
        lines.append(f"{step.dataset}: {_words(step, copies)}")
        lines += (f"  {line}" for line in _remarks(copies))
    return lines


def _step(cluster: Cluster, use: DataUse, name: str, copies: DataCopies, points: float, row: int) -> DataStep:
    rows = copies.serving
    missing = "" if copies.exists else "does not exist"
    if copies.unready:
        missing = f"is not ready: {copies.unready}"
    if not len(rows):
        return DataStep(name, missing=missing or "no copy is known")
    loads = use.load(rows)
    best = (-1.0, 0, "", 0.0)  # worth, place, rung, load
    for rung in reversed(use.args.ladder):
        ids = use.ground.ids(rung.key)
        own = ids.item(row)
        equal = np.flatnonzero((ids.take(rows) == own) & (own >= 0))
        worth = rung.points * (1.0 - use.args.load_penalty * loads.take(equal))
        if len(equal) and worth.max() >= best[0]:
            place = int(equal.item(int(worth.argmax())))
            best = float(worth.max()), place, rung.key, float(loads.item(place))
    _, place, rung_key, load = best
    if not rung_key:
        return DataStep(name, missing=missing)
    is_gateway = len(copies.gateways) > 0
    return DataStep(name, cluster.nodes.names[rows.item(place)], is_gateway, rung_key, load, points, missing)


def _words(step: DataStep, copies: DataCopies) -> str:
    if not step.node:
        if step.missing:
            return step.missing
        number = len(copies.serving)
        return f"{number} cop{'ies' if number > 1 else 'y'}, none on the ladder, 0 points"
    what = "gateway" if step.is_gateway else "copy"
    word = RUNG_WORDS.get(step.rung, step.rung)
    where = "its own host" if step.rung == HOSTNAME else f"same {word}"
    text = f"{what} on {step.node}, {where}, load {step.load:.0%}, {step.points:.4g} points"
    return f"{text} ({step.missing})" if step.missing else text


def _remarks(copies: DataCopies) -> Iterator[str]:
    stale = [f"{one.where} ({one.why})" for one in copies.stale[:SHOWN]]
    if len(copies.stale) > SHOWN:
        stale.append(f"and {len(copies.stale) - SHOWN} more")
    if stale:
        yield f"stale: {', '.join(stale)}"
    if copies.known is not None and copies.known.overruled:
        yield f"told by {copies.known.group}, which is believed, and by {', '.join(copies.known.overruled)}"
