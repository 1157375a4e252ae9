"""What the scheduler believes beside what the watch has told it: pods on nodes, pods that wait, nodes.

In: a scheduler and the watch's stores. Out: `FalseBelief`s, each with the events that mend it, for the ordinary way of
events. The scheduler hears of everything at the very moment at which a store does, so between two turns of the loop
they agree, but for what is decided and under way; there is nothing to wait for. Called by `cache_check`, in slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from fairway.cluster import Event, Verb
from fairway.live.watches.object_store import ObjectStore
from fairway.model import Node, Pod
from fairway.scheduler import Scheduler

__all__ = ["FalseBelief", "differences"]


class FalseBelief(NamedTuple):
    """Something believed that is not so."""

    kind: str  # for the metric: pod_missing, pod_redundant, pod_misplaced, pod_not_queued, node_missing, ...
    name: str
    words: str
    mending: tuple[Event, ...]


def differences(scheduler: Scheduler, pods: ObjectStore, nodes: ObjectStore) -> Iterator[FalseBelief | None]:
    """Whatever differs; None for each object that was looked at. To be gone through in slices, mending as one goes."""
    cluster = scheduler.cluster
    for thing in list(nodes):
        yield _of_node(scheduler, nodes, thing.metadata.name)
    for name in list(cluster.nodes.row_of):
        yield _of_node(scheduler, nodes, name)
    for thing in list(pods):
        assert isinstance(thing, Pod)
        current = pods.find(thing.key)
        yield _of_pod(scheduler, current) if isinstance(current, Pod) else None
    for placed in list(cluster.pods.by_uid.values()):
        yield _of_stranger(scheduler, pods, placed.pod)
    for queued in scheduler.queue:
        yield _of_stranger(scheduler, pods, queued.pod)


def _of_node(scheduler: Scheduler, nodes: ObjectStore, name: str) -> FalseBelief | None:
    table, there = scheduler.cluster.nodes, nodes.find(name)
    here = table.objects[table.row_of[name]] if name in table.row_of else None
    if there is None and here is not None:
        return FalseBelief("node_redundant", name, "it is no more", (Event(Verb.DELETED, here),))
    if there is None or here is there:
        return None
    assert isinstance(there, Node)
    if here is None:
        return FalseBelief("node_missing", name, "the cache does not have it", (Event(Verb.ADDED, there),))
    if here.metadata.resource_version == there.metadata.resource_version:
        return None
    return FalseBelief("node_outdated", name, "the cache has another version", (Event(Verb.MODIFIED, there),))


def _of_pod(scheduler: Scheduler, pod: Pod) -> FalseBelief | None:
    """A pod that the watch has told of: is it where it belongs?"""
    if pod.is_finished:
        if pod.metadata.uid not in scheduler.cluster.pods.by_uid:
            return None
        return FalseBelief("pod_redundant", pod.key, "it has finished", (Event(Verb.MODIFIED, pod),))
    if pod.spec.node_name:
        return _of_bound(scheduler, pod)
    if scheduler.queue.serves(pod) and not scheduler.has_decided(pod.metadata.uid):
        return _of_waiting(scheduler, pod)
    return None


def _of_bound(scheduler: Scheduler, pod: Pod) -> FalseBelief | None:
    cluster, uid, name = scheduler.cluster, pod.metadata.uid, pod.spec.node_name
    placed, row = cluster.pods.by_uid.get(uid), cluster.nodes.row_of.get(name)
    told = (Event(Verb.MODIFIED, pod),)
    if placed is None and row is not None:
        return FalseBelief("pod_missing", pod.key, f"it is on {name}, the cache has it nowhere", told)
    if placed is not None and placed.row != row:
        there = cluster.nodes.names[placed.row]
        return FalseBelief("pod_misplaced", pod.key, f"it is on {name}, the cache has it on {there}", told)
    if uid in scheduler.queue:
        return FalseBelief("pod_misplaced", pod.key, f"it is on {name}, the cache has it waiting", told)
    return None


def _of_waiting(scheduler: Scheduler, pod: Pod) -> FalseBelief | None:
    placed = scheduler.cluster.pods.by_uid.get(pod.metadata.uid)
    if placed is not None:
        there = scheduler.cluster.nodes.names[placed.row]
        mending = (Event(Verb.DELETED, _on(pod, there)), Event(Verb.ADDED, pod))
        return FalseBelief("pod_misplaced", pod.key, f"it waits, the cache has it on {there}", mending)
    if pod.metadata.uid in scheduler.queue or pod.is_terminating:
        return None  # one that is being deleted is not tried any more
    return FalseBelief("pod_not_queued", pod.key, "it waits, and is not in the queue", (Event(Verb.ADDED, pod),))


def _of_stranger(scheduler: Scheduler, pods: ObjectStore, pod: Pod) -> FalseBelief | None:
    """A pod that the cache has: does it exist?"""
    there, uid = pods.find(pod.key), pod.metadata.uid
    if there is not None and there.metadata.uid == uid:
        return None
    placed = scheduler.cluster.pods.by_uid.get(uid)
    if placed is None and uid not in scheduler.queue:
        return None  # gone since we began to look
    last = placed.pod if placed is not None else pod
    if placed is not None:
        last = _on(last, scheduler.cluster.nodes.names[placed.row])
    return FalseBelief("pod_redundant", pod.key, "it is no more", (Event(Verb.DELETED, last),))


def _on(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
