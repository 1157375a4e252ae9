"""What the API answers about heat maps and lanes, as types; the rest is in `shapes`.

Seconds are of the run's clock; amounts count what `KnownRun.resources` says.
"""

from __future__ import annotations

import msgspec

from fairway.web.shapes import CurveAnswer

__all__ = ["CellAnswer", "LaneColumns", "LanesAnswer", "NodeStretch", "RowSpans", "RowsAnswer"]


class CellAnswer(msgspec.Struct):
    """One cell of a heat map; of many nodes and pods the first 20 are named."""

    begin: float
    end: float
    share: float | None
    num_nodes: int
    nodes: list[str]
    num_pods: int
    pods: list[str]


class RowSpans(msgspec.Struct):
    """When nodes took no pods: they were not ready, or cordoned; `to_seconds` null: until the end of the run."""

    row: list[int]
    from_seconds: list[float]
    to_seconds: list[float | None]
    is_ready: list[bool]
    is_unschedulable: list[bool]


class RowsAnswer(msgspec.Struct):
    """Rows of a heat map, and what the whole of it can be ordered by."""

    total: int
    first: int
    names: list[str]  # of the rows asked for, from the first
    numbers: list[int]  # and what tells them apart: of nodes their node_id
    labels: list[str]  # keys, those with the fewest values first
    groups: list[str]  # values of the label that it is ordered by; none if there are more than 1,000
    group_rows: list[int]  # the first row of each
    fullest: str | None  # of which most was held over the whole run; None: of nothing anything
    fullest_share: float | None
    spans: RowSpans  # of the rows asked for


class LaneColumns(msgspec.Struct):
    """Who held what, from when to when; `to_seconds` null: until the end of the run."""

    node: list[str]
    node_id: list[int]
    lane: list[int]
    pod: list[str]
    pod_id: list[int]
    from_seconds: list[float]
    to_seconds: list[float | None]
    reason: list[str | None]
    owner: list[str | None]
    user: list[str]
    priority: list[int]
    gpu_index: list[str | None]  # devices, as 0-1-2
    amounts: list[dict[str, int]]


class NodeStretch(msgspec.Struct):
    """A state of a node."""

    node: str
    node_id: int
    from_seconds: float
    to_seconds: float | None
    change: str
    gone: str | None
    is_ready: bool
    is_unschedulable: bool
    allocatable: dict[str, int]


class LanesAnswer(msgspec.Struct):
    """Pods of some nodes; of too many only how many there were and what they held, as means over 480 stretches."""

    collapsed: bool
    num_intervals: int
    lanes: LaneColumns
    counts: CurveAnswer | None
    states: list[NodeStretch]
