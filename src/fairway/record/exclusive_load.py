"""What pods keep from others: their requests, and on nodes that they have exclusively all there is.

In: a `Run` and its `LoadHistory`. Out: the share of each resource that was allocated so, for `Metrics`; none for runs
whose schedulers know no exclusive nodes, or in which nobody had one, unless there are queues. A pod that has its node
to itself is charged with all of it but what pods of DaemonSets there request, which are charged with that: together,
the whole node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from fairway.cluster.intents.shared_wishes import SharedWishes
from fairway.cluster.pods import PodTable
from fairway.model.tenant import EXCLUSIVE, exclusive_scope
from fairway.record.load import Floats, LoadHistory, Spans
from fairway.record.manifests import object_of, pod_of
from fairway.record.placement import busy_stretches
from fairway.record.run import Run
from fairway.record.snapshot import pod_at
from fairway.record.vocabulary import ObjectVerb

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
    spoken_for = _spoken_for(run)
    rows = run.sql(
        "SELECT pod_id, scheduler, annotations FROM pods WHERE NOT starts_with(coalesce(owner, ''), 'DaemonSet/')"
        " AND (contains(annotations, $1) OR list_contains($2, pod_id))",
        EXCLUSIVE,
        list(spoken_for),
    )
    return [
        row["pod_id"]
        for row in rows
        if row["scheduler"] in aware
        and exclusive_scope({EXCLUSIVE: spoken_for.get(row["pod_id"], ""), **_said(row["annotations"])})[0]
    ]


def _said(text: str | None) -> dict[str, str]:
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else {}
    except msgspec.MsgspecError:
        return {}


def _spoken_for(run: Run) -> dict[int, str]:
    """What objects of jobs say for their pods, as it was when those got their nodes, by number of the pod."""
    speakers = {_key(row) for row in run.objects.where("contains(manifest, ?)", EXCLUSIVE).rows()}
    changes = deque(row for row in run.objects.rows() if _key(row) in speakers) if speakers else deque()
    if not changes:
        return {}
    templates = {row["template_id"]: pod_of(run, row["manifest"]) for row in run.templates.rows()}
    wishes, found = SharedWishes(PodTable()), {}
    for row in run.sql("SELECT * FROM pods WHERE bound_seconds IS NOT NULL ORDER BY bound_seconds, pod_id"):
        while changes and changes[0]["time_seconds"] <= row["bound_seconds"]:
            change = changes.popleft()
            wishes.note(object_of(run, change["manifest"]), change["verb"] == ObjectVerb.DELETED)
        pod = pod_at(run, row, templates[row["template_id"]], row["bound_seconds"])
        if (text := wishes.of(pod)) is not None:
            found[row["pod_id"]] = text
    return found


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row["namespace"], row["name"]


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
