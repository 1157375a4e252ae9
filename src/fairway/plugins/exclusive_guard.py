"""The taint that keeps other schedulers off exclusive nodes, and when it has to come and to go.

In: a cluster, as it is. Out: `guarding`, what has to be written before an exclusive pod is bound to a node, for the
plugin `ExclusiveNode`; and `taint_repairs`, the patches after which every node's taint agrees with the pods on it, for
the world, which asks again and again. Only the taint of this key is ever touched; patches name the version of the node
that they were made for, so nobody's change is lost. Profiles with `ExclusiveNode` do not look at it: they see the pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from fairway.cluster.tallies.tenants import Tenants
from fairway.model import Node, Pod
from fairway.model.codec import to_builtins
from fairway.model.tenant import exclusive_scope, is_aside, job_of, job_uid
from fairway.plugin import Cluster, Patch, Preparation, Refusal, patch_of

__all__ = ["TAINT", "guarding", "has_taint", "taint_repairs"]

TAINT: Final = "fairway.dev/exclusive"
EFFECT: Final = "NoSchedule"
PATIENCE_SECONDS: Final = 60.0


def guarding(cluster: Cluster, pod: Pod, row: int) -> Preparation | None:
    """What makes the node guarded; None if it is. Members that come at once wait for the first one's taint."""
    node = cluster.nodes.objects[row]
    if node is None or _is_guarded(cluster, row, node):
        return None
    name = node.metadata.name
    uid = pod.metadata.uid

    def is_guarded(versions: Sequence[int]) -> bool | Refusal:
        here = cluster.nodes.row_of.get(name)
        there = None if here is None else cluster.nodes.objects[here]
        if here is None or there is None:
            return Refusal((f"node {name} is gone",))
        if _is_guarded(cluster, here, there):
            return True
        if not versions and not _is_being_guarded(cluster, here, uid):
            return Refusal((f"nobody has put the taint {TAINT} on node {name}",))
        return False

    waits = _is_being_guarded(cluster, row, uid)
    return Preparation(
        () if waits else (_patch(node, job_uid(job_of(pod))),),
        is_guarded,
        timeout_seconds=PATIENCE_SECONDS,
        about=frozenset() if waits else frozenset({f"Node {name}"}),  # the other one may give up at any event
        doing=f"waiting for the taint {TAINT} on node {name}",
    )


def taint_repairs(cluster: Cluster) -> Iterator[Patch]:
    """What has to be written so that the nodes of exclusive pods, and no others, are guarded."""
    for row in sorted({*cluster.tally(Tenants).exclusive_rows(), *_tainted_rows(cluster)}):
        node = cluster.nodes.objects[row]
        if node is None or _agrees(cluster, row, node):
            continue
        jobs = _exclusive_jobs(cluster, row)
        if not jobs:
            yield _patch(node, None)
        elif any(not placed.assumed and _is_exclusive(placed.pod) for placed in cluster.pods.on_row(row)):
            yield _patch(node, job_uid(jobs[0]))  # where nobody is bound yet, who is to be bound sees to it


def has_taint(node: Node) -> bool:
    """Does it have a taint of the key?"""
    return any(taint.key == TAINT for taint in node.spec.taints)


def _agrees(cluster: Cluster, row: int, node: Node) -> bool:
    return _is_guarded(cluster, row, node) if _exclusive_jobs(cluster, row) else not has_taint(node)


def _is_guarded(cluster: Cluster, row: int, node: Node) -> bool:
    """Does it have one taint of the key, for a job that is there exclusively?"""
    taints = [taint for taint in node.spec.taints if taint.key == TAINT]
    uids = {job_uid(job) for job in _exclusive_jobs(cluster, row)}
    return len(taints) == 1 and taints[0].effect == EFFECT and taints[0].value in uids


def _is_being_guarded(cluster: Cluster, row: int, uid: str) -> bool:
    """Is another exclusive pod, chosen before this one, on its way to the node?"""
    for placed in cluster.pods.on_row(row):
        if placed.pod.metadata.uid == uid:
            return False
        if placed.assumed and _is_exclusive(placed.pod):
            return True
    return False


def _tainted_rows(cluster: Cluster) -> list[int]:
    """Rows whose node has a taint of the key; each distinct set of taints is looked at once."""
    table = cluster.nodes
    marked = [
        number
        for number, taints in enumerate(table.taint_values.values)
        if taints and any(taint.key == TAINT for taint in taints)
    ]
    found: list[int] = np.flatnonzero(np.isin(table.taint_sets[: table.num_rows], marked)).tolist() if marked else []
    return found


def _exclusive_jobs(cluster: Cluster, row: int) -> list[str]:
    """Jobs of exclusive pods on a row, in the order in which they came."""
    pods = (placed.pod for placed in cluster.pods.on_row(row))
    return list(dict.fromkeys(job_of(pod) for pod in pods if _is_exclusive(pod)))


def _is_exclusive(pod: Pod) -> bool:
    return bool(exclusive_scope(pod.metadata.annotations)[0]) and not is_aside(pod)


def _patch(node: Node, value: str | None) -> Patch:
    """The node with that taint, or without any of the key; all others stay as they are."""
    taints: list[Any] = [to_builtins(taint) for taint in node.spec.taints if taint.key != TAINT]
    if value is not None:
        taints.append({"key": TAINT, "value": value, "effect": EFFECT})
    return patch_of(node, {"spec": {"taints": taints}})
