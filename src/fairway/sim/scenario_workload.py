"""A scenario's cluster and workload, read and put together.

In: `ClusterSource` and `WorkloadSource`s, the folder their paths begin at, the seed. Out: one `Workload`: the nodes, what is
there at the start, and arrivals in order of time. Manifests of the cluster and of the workload are read together, so
that pods find their priority classes and nothing is there twice. What cannot be read is a `ScenarioError`. Called by
`Scenario.workload`.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np

from fairway.model import DecodeError, Node
from fairway.sim.scenario_checks import workload_paths
from fairway.sim.scenario_fields import Problem, ScenarioError
from fairway.sim.scenario_file import NodeGroup, Racks, ScenarioSpec, WorkloadSource
from fairway.sim.scenario_nodes import build_nodes
from fairway.trace import (
    RACK,
    Arrival,
    Workload,
    assign_racks,
    combine,
    read_manifests,
    read_openb,
    read_snapshot,
    read_swf,
    synthetic,
)
from fairway.trace.text_file import Progress

__all__ = ["build_workload"]

Reading = tuple[str, Callable[[Progress | None], Workload]]
"""The field that says what to read, and how to read it."""

UNCHANGED: Final = ("start", "stop", "limit", "copies", "time_scale", "duration_scale", "delay")


def build_workload(
    spec: ScenarioSpec, name: str, source: str, folder: str, progress: Progress | None = None
) -> Workload:
    """Everything the scenario speaks of; `progress` is told parts that add up to 1."""
    readings = list(_readings(spec, folder))
    part = None if progress is None else lambda amount: progress(amount / len(readings))
    path = "spec"
    parts = []
    try:
        for path, read in readings:
            parts.append(read(part))
        path = "spec"
        whole = combine([*parts, Workload(name="")], name=name)
    except DecodeError as error:
        inside = f"{path}.{error.field}" if error.field and not error.source else ""
        problem = Problem(inside or path, error.problem if inside else str(error))
        raise ScenarioError(source, [problem]) from error
    if not whole.nodes and not any(group.joins for group in spec.cluster.nodes):
        wanted = "give nodes, files or a snapshot with nodes, or openb"
        raise ScenarioError(source, [Problem("spec.cluster", f"there is no node; {wanted}")])
    if spec.cluster.racks is not None:
        whole = replace(whole, nodes=_in_racks(whole.nodes, spec.cluster.racks))
    return whole


def _readings(spec: ScenarioSpec, folder: str) -> Iterator[Reading]:
    cluster, strict = spec.cluster, spec.strict

    def paths(files: tuple[str, ...]) -> list[str]:
        return [os.path.join(folder, file) for file in files]  # noqa: PTH118 - texts, as people wrote them

    if cluster.nodes:
        yield "spec.cluster.nodes", lambda _: _generated(cluster.nodes)
    if cluster.snapshot:
        yield "spec.cluster.snapshot", lambda told: read_snapshot(paths(cluster.snapshot), strict=strict, progress=told)
    if cluster.openb is not None:
        (nodes,) = paths((cluster.openb.nodes,))
        yield "spec.cluster.openb", lambda told: read_openb(nodes, strict=strict, progress=told)
    sources = list(workload_paths(spec))
    together = [source for _, source in sources if source.files and _is_unchanged(source)]
    if files := [*cluster.files, *(file for source in together for file in source.files)]:
        field = "spec.cluster.files" if cluster.files else "spec.workload"
        yield field, lambda told: read_manifests(paths(tuple(files)), strict=strict, progress=told)
    for index, (path, source) in enumerate(sources):
        if source not in together:
            yield _reading(source, path, paths, spec, index)


def _reading(
    source: WorkloadSource, path: str, paths: Callable[[tuple[str, ...]], list[str]], spec: ScenarioSpec, index: int
) -> Reading:
    strict = spec.strict
    read: Callable[[Progress | None], Workload]
    if source.synthetic is not None:
        wanted, path = source.synthetic, f"{path}.synthetic"
        seed = np.random.SeedSequence((zlib.crc32(b"workload"), spec.seed, index)).generate_state(1, np.uint32)
        read = lambda _: synthetic(wanted, int(seed[0]))  # noqa: E731
    elif source.swf is not None:
        log, path = source.swf, f"{path}.swf"
        read = lambda told: read_swf(paths((log.file,))[0], log, strict=strict, progress=told)  # noqa: E731
    elif source.openb is not None:
        pods, path = source.openb, f"{path}.openb"
        read = lambda told: read_openb(  # noqa: E731
            None, paths((pods.pods,))[0], pods, strict=strict, progress=told
        )
    else:
        path = f"{path}.files"
        read = lambda told: read_manifests(paths(source.files), strict=strict, progress=told)  # noqa: E731
    return path, lambda told: _changed(read(told), source)


def _is_unchanged(source: WorkloadSource) -> bool:
    return all(getattr(source, name) == getattr(WorkloadSource(), name) for name in UNCHANGED)


def _changed(workload: Workload, source: WorkloadSource) -> Workload:
    """As the other fields of the source want it, in their order."""
    if source.start or source.stop is not None:
        workload = workload.between(float(source.start), float("inf") if source.stop is None else float(source.stop))
    if source.limit is not None:
        workload = workload.limited(source.limit)
    if source.copies > 1:
        workload = workload.replicated(source.copies)
    workload = workload.scaled(source.time_scale, source.duration_scale)
    return workload.delayed(float(source.delay)) if source.delay else workload


def _generated(groups: tuple[NodeGroup, ...]) -> Workload:
    nodes: list[Node] = []
    late: list[Arrival] = []
    for group in groups:
        made = build_nodes(group)
        if group.racks is not None:
            made = _in_racks(made, group.racks)
        if group.joins:
            late += [Arrival(float(group.joins), node) for node in made]
        else:
            nodes += made
    late.sort(key=lambda arrival: arrival.time)
    return Workload(name="nodes", nodes=nodes, arrivals=late, num_arrivals=len(late))
