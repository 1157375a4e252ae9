"""A run's cluster as it was at one time, as API objects.

In: a run and a time. Out: the nodes, pods and other objects that were there, to load into a `Cluster` and ask it
anything: `why` and `try` do so. Annotations, labels and requests of a pod are the last ones it had in the run.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import msgspec

from fairway.model import ApiObject, Node, Pod, PodStatus
from fairway.model.device_need import GPU_INDEX
from fairway.model.meta import EPOCH
from fairway.record.manifests import annotations_of, node_of, object_of, pod_of
from fairway.record.run import Run

__all__ = ["nodes_at", "objects_at", "pod_at", "pods_at"]


def nodes_at(run: Run, at: float) -> list[Node]:
    """The nodes that were there."""
    there = run.nodes.where("from_seconds <= ? AND (? < to_seconds OR to_seconds IS NULL)", at, at)
    return [node_of(run, row["manifest"]) for row in there.select("manifest")]


def pods_at(run: Run, at: float, start: dt.datetime = EPOCH) -> list[Pod]:
    """The pods that were there, on their nodes or waiting; `start` is the date at 0 seconds."""
    there = run.pods.where("created_seconds <= ? AND (? < ended_seconds OR ended_seconds IS NULL)", at, at)
    numbers = {row["template_id"] for row in there.select("template_id")}
    templates = {
        row["template_id"]: pod_of(run, row["manifest"])
        for row in run.templates.rows()
        if row["template_id"] in numbers
    }
    return [pod_at(run, row, templates[row["template_id"]], at, start) for row in there.rows()]


def pod_at(run: Run, row: Mapping[str, Any], template: Pod, at: float, start: dt.datetime = EPOCH) -> Pod:
    """A pod as it was at that time, from its row of `pods` and its row of `templates`."""
    is_bound = row["bound_seconds"] is not None and row["bound_seconds"] <= at
    is_started = row["started_seconds"] is not None and row["started_seconds"] <= at
    annotations = {**template.metadata.annotations, **annotations_of(run, row["annotations"])}
    if is_bound and row.get("gpu_index"):
        annotations[GPU_INDEX] = row["gpu_index"]
    metadata = msgspec.structs.replace(
        template.metadata,
        namespace=row["namespace"],
        name=row["pod"].removeprefix(row["namespace"] + "/"),
        uid=row["uid"],
        annotations=annotations,
        creation_timestamp=start + dt.timedelta(seconds=row["created_seconds"]),
    )
    spec = msgspec.structs.replace(template.spec, node_name=row["node"] if is_bound else "")
    leaving = row.get("leaving_seconds")
    if leaving is not None and leaving <= at:
        metadata = msgspec.structs.replace(metadata, deletion_timestamp=start + dt.timedelta(seconds=leaving))
    began = row.get("start_seconds", row["bound_seconds"])  # runs of version 1 do not say
    is_taken = is_bound and began is not None and began <= at
    status = PodStatus(
        phase="Running" if is_started else "Pending",
        start_time=start + dt.timedelta(seconds=began) if is_taken else None,
    )
    return Pod(metadata=metadata, spec=spec, status=status)


def objects_at(run: Run, at: float) -> list[ApiObject]:
    """Everything else that was there."""
    there: dict[tuple[str, str, str], str] = {}
    for row in run.objects.where("time_seconds <= ?", at).rows():
        key = row["kind"], row["namespace"], row["name"]
        if row["verb"] == "Deleted":
            there.pop(key, None)
        else:
            there[key] = row["manifest"]
    return [object_of(run, manifest) for manifest in there.values()]
