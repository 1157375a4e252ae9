"""Kubernetes manifests as a workload.

In: files and directories of JSON or YAML, with several documents or lists in them. Out: a `Workload`: pods on a node
and everything that is not a pod exist at the start, other pods arrive at 0. Whatever carries the annotation
`fairway.dev/arrival` arrives when that says. Objects are completed and checked as an API server would; what
it would refuse is a problem, or an error when strict. Kinds that are not decoded are read by the table of kinds
(`other_kinds`). Called by scenarios and by users.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway.model import (
    SYSTEM_PRIORITIES,
    DecodeError,
    Loaded,
    Node,
    Pod,
    PriorityClass,
    Skipped,
    default_object,
    default_objects,
    object_name,
    validate_objects,
)
from fairway.model.text_file import Progress
from fairway.trace.annotations import ARRIVAL, check_annotations, seconds_annotation
from fairway.trace.manifest_objects import Paths, paths_of, read_objects
from fairway.trace.other_kinds import read_others
from fairway.trace.problems import Problems
from fairway.trace.workload import Arrival, Workload

__all__ = ["read_manifests"]


def read_manifests(
    paths: Paths,
    *,
    cluster: Paths = (),
    kinds: Sequence[str] = (),
    there: Sequence[Pod] = (),
    strict: bool = False,
    progress: Progress | None = None,
) -> Workload:
    """Read everything in these files and directories; "-" is standard input.

    Files of the `cluster` have the pods of other kinds already, and so has who read pods that are `there` from
    elsewhere; `kinds` are tables that say what other kinds make.
    """
    problems = Problems(strict=strict)
    in_cluster: list[Skipped] = []
    skipped: list[Skipped] = []
    every = [*paths_of(cluster), *paths_of(paths)]
    share = len(paths_of(cluster)) / len(every) if every else 0.0
    loaded, _ = read_objects(cluster, problems, _part(progress, share), others_kept=in_cluster)
    loaded += read_objects(paths, problems, _part(progress, 1 - share), others_kept=skipped)[0]
    loaded, notes = _without_finished(loaded)
    pods = [*there, *(one.object for one in loaded if isinstance(one.object, Pod))]
    others = read_others(skipped, in_cluster, pods, kinds, problems)
    loaded += others.loaded
    usable = _checked(_completed(loaded, problems), problems)
    nodes: list[Node] = []
    objects: list[Any] = []
    arrivals: list[Arrival] = []
    for one in usable:
        thing = one.object
        time = seconds_annotation(thing, ARRIVAL, one.source)
        is_waiting = isinstance(thing, Pod) and not thing.spec.node_name
        if time is not None or is_waiting:
            arrivals.append(Arrival(time or 0.0, thing))
        elif isinstance(thing, Node):
            nodes.append(thing)
        else:
            objects.append(thing)
    arrivals.sort(key=lambda arrival: arrival.time)  # at the same time, as they stand in the files
    return Workload(
        name="+".join(Path(path).name for path in every),
        nodes=nodes,
        objects=objects,
        arrivals=arrivals,
        num_arrivals=len(arrivals),
        problems=problems.texts(),
        notes=[*notes, *others.notes],
        not_counted=others.not_counted,
    )


def _part(progress: Progress | None, share: float) -> Progress | None:
    return None if progress is None else lambda amount: progress(amount * share)


def _without_finished(loaded: Sequence[Loaded]) -> tuple[list[Loaded], list[str]]:
    kept = [one for one in loaded if not (isinstance(one.object, Pod) and one.object.is_finished)]
    num_finished = len(loaded) - len(kept)
    return kept, [f"pods left out, having ended already: {num_finished}"] if num_finished else []


def _completed(loaded: Sequence[Loaded], problems: Problems) -> list[Loaded]:
    """With what an API server fills in; a pod of an unknown priority class is a problem."""
    classes = {one.object.metadata.name: one.object for one in loaded if isinstance(one.object, PriorityClass)}
    usable = []
    for one in loaded:
        thing = one.object
        name = thing.spec.priority_class_name if isinstance(thing, Pod) and thing.spec.priority is None else ""
        if not name or name in classes or name in SYSTEM_PRIORITIES:
            usable.append(one)
            continue
        try:
            default_object(thing, priority_classes=classes)
        except DecodeError as error:
            title = object_name(thing)
            problems.add(DecodeError(error.problem, source=one.source, subject=title, field=error.field))
    return default_objects(usable)


def _checked(loaded: Sequence[Loaded], problems: Problems) -> list[Loaded]:
    """Without what an API server would refuse, each of which is a problem."""
    refused = set()
    wrong = [*validate_objects(loaded)]
    for one in loaded:
        wrong += check_annotations(one.object, one.source)
    for error in wrong:
        refused.add((error.subject, str(error.source)))
        problems.add(error)
    if not refused:
        return list(loaded)
    return [one for one in loaded if (object_name(one.object), str(one.source)) not in refused]
