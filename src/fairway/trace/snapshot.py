"""A snapshot of a real cluster, as `kubectl get nodes,pods,... -A -o json` or `-o yaml` prints it.

In: one file or several, big ones too. Out: a `Workload` that begins where the cluster was: pods on nodes are there at
the start, pods without a node arrive at 0 in the order they were created. Real clusters are odd: pods that have ended,
that are being deleted, whose node or namespace is not in the file. Each is dealt with and told. Called by scenarios and
by users.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from fairway.model import (
    SYSTEM_PRIORITIES,
    DecodeError,
    Loaded,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PriorityClass,
    default_object,
    default_objects,
    object_name,
    skipped_notes,
)
from fairway.model.text_file import Progress
from fairway.trace.annotations import DURATION, check_annotations, seconds_text
from fairway.trace.manifest_objects import Paths, paths_of, read_objects
from fairway.trace.problems import Problems
from fairway.trace.workload import Arrival, Workload

__all__ = ["read_snapshot"]

GRACE_SECONDS: Final = 30
LONG_AGO: Final = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


def read_snapshot(
    paths: Paths, *, pending: bool = True, strict: bool = False, progress: Progress | None = None
) -> Workload:
    """Read a cluster; without `pending` only what is on nodes. What makes no sense is a problem, or an error."""
    problems = Problems(strict=strict)
    loaded, others = read_objects(paths, problems, progress)
    things = [one.object for one in _sound(_completed(loaded), problems)]
    nodes = [thing for thing in things if isinstance(thing, Node)]
    if not nodes:
        said = f"; the first problem: {problems.first}" if problems.first else ""
        raise DecodeError(f"holds no nodes: kubectl get nodes,pods -A -o json{said}", source=", ".join(paths_of(paths)))
    told: Counter[str] = Counter()
    names = {node.metadata.name for node in nodes}
    pods = [pod for pod in (_alive(thing, names, told) for thing in things if isinstance(thing, Pod)) if pod]
    waiting = [pod for pod in pods if not pod.spec.node_name] if pending else []
    waiting.sort(key=lambda pod: (pod.metadata.creation_timestamp or LONG_AGO, pod.key))
    objects: list[Any] = [thing for thing in things if not isinstance(thing, Node | Pod)]
    objects += _missing_namespaces(things, told)
    objects += [pod for pod in pods if pod.spec.node_name]
    if not pending:
        told["pods without a node left out"] += sum(not pod.spec.node_name for pod in pods)
    return Workload(
        name="+".join(Path(path).name for path in paths_of(paths)),
        nodes=nodes,
        objects=objects,
        arrivals=[Arrival(0.0, pod) for pod in waiting],
        num_arrivals=len(waiting),
        problems=problems.texts(),
        notes=[*(f"{what}: {count}" for what, count in told.items() if count), *skipped_notes(others)],
    )


def _completed(loaded: Sequence[Loaded]) -> list[Loaded]:
    """With what an API server fills in, should the file have been edited; an unknown class gives no priority."""
    classes = {one.object.metadata.name for one in loaded if isinstance(one.object, PriorityClass)}
    classes |= {"", *SYSTEM_PRIORITIES}
    known = []
    for one in loaded:
        thing = one.object
        if isinstance(thing, Pod) and thing.spec.priority is None and thing.spec.priority_class_name not in classes:
            thing = msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, priority=0))
        known.append(one if thing is one.object else Loaded(thing, one.source))
    return default_objects(known)


def _sound(loaded: Iterable[Loaded], problems: Problems) -> Iterator[Loaded]:
    """Without what has no name, is there before in another state, or says nonsense about its times."""
    seen: dict[str, Loaded] = {}
    for one in loaded:
        title = object_name(one.object)
        if not one.object.metadata.name:
            problems.add(
                DecodeError("must not be empty", source=one.source, subject=one.object.kind, field="metadata.name")
            )
        elif title in seen:
            if seen[title].object != one.object:
                problem = f"is there twice and not the same; first in {seen[title].source}, which counts"
                problems.add(DecodeError(problem, source=one.source, subject=title))
        elif wrong := check_annotations(one.object, one.source):
            problems.add(wrong[0])
        else:
            seen[title] = one
            yield one


def _alive(pod: Pod, nodes: set[str], told: Counter[str]) -> Pod | None:
    """The pod as the simulation begins with it; None if it plays no part any more."""
    node = pod.spec.node_name
    if pod.is_finished:
        told["pods left out, having ended already"] += 1
        return None
    if pod.is_terminating and not node:
        told["pods left out, being deleted before they had a node"] += 1
        return None
    if node and node not in nodes:
        told["pods left out, being on nodes that are not in the snapshot"] += 1
        return None
    if not pod.is_terminating:
        return pod
    told["pods being deleted, which go when their grace period ends"] += 1
    grace = pod.metadata.deletion_grace_period_seconds
    annotations = pod.metadata.annotations | {DURATION: seconds_text(GRACE_SECONDS if grace is None else grace)}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def _missing_namespaces(things: Sequence[Any], told: Counter[str]) -> list[Any]:
    """The namespaces that objects are in but that are not in the file; they have no labels of their own."""
    known = {thing.metadata.name for thing in things if isinstance(thing, Namespace)}
    used = {thing.metadata.namespace for thing in things if thing.metadata.namespace}
    missing = sorted(used - known)
    told["namespaces not in the snapshot, taken to have no labels"] += len(missing) if known else 0
    return [default_object(Namespace(metadata=ObjectMeta(name=name))) for name in missing]
