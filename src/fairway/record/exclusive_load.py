"""What pods keep from others: their requests, and on nodes that they have exclusively all there is.

In: a `Run` and its `LoadHistory`. Out: the share of each resource that was allocated so, for `Metrics`; none for runs
whose schedulers know no exclusive nodes, or in which nobody had one, unless there are queues. A pod that has its node
to itself is charged with all of it but what pods of DaemonSets there request, which are charged with that: together,
the whole node.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from fairway.model.tenant import EXCLUSIVE, exclusive_scope
from fairway.record.load import Floats, LoadHistory, Spans
from fairway.record.placement import busy_stretches
from fairway.record.run import Run

__all__ = ["allocated_shares"]

PLUGIN = "ExclusiveNode"


class NodeSpans:
    """Spans, found by their node."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._order = np.argsort(spans.node, kind="stable")  # (num_spans,)
        self._nodes = spans.node[self._order]  # (num_spans,)

    def integral(self, node: int, begin: float, end: float) -> Floats:
        """Amounts on the node times seconds, between two times: (num_resources,)."""
        spans = self._spans
        first, last = np.searchsorted(self._nodes, [node, node + 1])
        here = self._order[first:last]
        seconds = np.minimum(spans.end[here], end) - np.maximum(spans.begin[here], begin)
        total: Floats = (np.maximum(seconds, 0.0)[:, None] * spans.amounts[here]).sum(axis=0)
        return total


def allocated_shares(run: Run, history: LoadHistory, *, is_always: bool = False) -> dict[str, float]:
    """By resource: amounts allocated times seconds by what ready nodes had; `is_always`: though nobody was alone."""
    exclusive = _exclusive_pods(run)
    if not exclusive and not is_always:
        return {}
    is_exclusive = np.isin(run.occupancy.numpy("pod_id")["pod_id"], exclusive)  # in the order of `history.held`
    allocated = history.held.integral()
    held, there = NodeSpans(history.held), NodeSpans(history.there)
    for stretch in zip(*busy_stretches(history.held, is_exclusive), strict=True):
        allocated += np.maximum(there.integral(*stretch) - held.integral(*stretch), 0.0)  # what nobody requested
    total = history.there.integral()
    return {
        resource: float(allocated[number] / total[number])
        for number, resource in enumerate(history.resources)
        if total[number] > 0
    }


def _exclusive_pods(run: Run) -> list[int]:
    """Numbers of the pods that had their nodes to themselves."""
    aware = set(_aware_schedulers(run))
    if not aware:
        return []
    rows = run.sql(
        "SELECT pod_id, scheduler, annotations FROM pods"
        " WHERE contains(annotations, $1) AND NOT starts_with(coalesce(owner, ''), 'DaemonSet/')",
        EXCLUSIVE,
    )
    return [row["pod_id"] for row in rows if row["scheduler"] in aware and _is_exclusive(row["annotations"])]


def _is_exclusive(text: str) -> bool:
    try:
        return bool(exclusive_scope(msgspec.json.decode(text, type=dict[str, str]))[0])
    except msgspec.DecodeError:
        return False


def _aware_schedulers(run: Run) -> Iterator[str]:
    """Names of profiles with the plugin; a run is a stranger's, and may say anything."""
    for scheduler in run.schedulers or ():
        try:
            config = msgspec.convert(scheduler.config, _Config)
        except msgspec.ValidationError:
            continue
        for profile in config.profiles:
            if any(choice.name == PLUGIN for choice in profile.plugins.filter.enabled):
                yield profile.scheduler_name


class _Choice(msgspec.Struct):
    name: str = ""


class _Set(msgspec.Struct):
    enabled: list[_Choice] = []


class _Plugins(msgspec.Struct):
    filter: _Set = msgspec.field(default_factory=_Set)


class _Profile(msgspec.Struct, rename="camel"):
    scheduler_name: str = "default-scheduler"
    plugins: _Plugins = msgspec.field(default_factory=_Plugins)


class _Config(msgspec.Struct):
    profiles: list[_Profile] = []
