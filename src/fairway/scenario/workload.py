"""A scenario's cluster and workload, read and put together.

In: `ClusterSource` and `WorkloadSource`s, the folder their paths begin at, the seed. Out: one `Workload`: the nodes,
what is there at the start, and arrivals in order of time. Manifests of the cluster and of the workload are read
together, so that pods find their priority classes and nothing is there twice. What cannot be read is a
`ScenarioError`. Called by `Scenario.workload`.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from fairway.model import ContainerImage, DecodeError, Node, Pod, PriorityClass, Quantity
from fairway.scenario.checks import workload_paths
from fairway.scenario.datasets import make_datasets
from fairway.scenario.fields import Problem, ScenarioError
from fairway.scenario.offered_load import load_note, scaled_to, smaller
from fairway.scenario.prices import priced, read_prices
from fairway.scenario.scenario_file import GeneratedNodes, ScenarioSpec, WorkloadSource
from fairway.trace import (
    RACK,
    Arrival,
    Arrivals,
    Progress,
    Racks,
    Workload,
    assign_racks,
    combine,
    make_nodes,
    read_manifests,
    read_openb,
    read_snapshot,
    read_swf,
    synthetic,
)

__all__ = ["build_workload"]

Read = Callable[[Progress | None], Workload]
CHANGES: Final = ("start", "stop", "limit", "copies", "time_scale", "duration_scale", "delay")
AS_IT_IS: Final = WorkloadSource()
MOST_PROBLEMS: Final = 5  # that are told when there is no node
OUR_RACK: Final = re.compile(r"rack-([0-9]{1,9})")


def build_workload(
    spec: ScenarioSpec, name: str, source: str, folder: str, progress: Progress | None = None
) -> Workload:
    """Everything the scenario speaks of; `progress` is told parts that add up to 1."""
    sources = _Sources(spec, folder)
    readings = list(sources.readings())
    part = None if progress is None else lambda amount: progress(amount / len(readings))
    for path, read in readings:
        try:
            sources.parts.append(read(part))
        except DecodeError as error:
            inside = bool(error.field) and not error.source  # about an option, not about a file
            problem = Problem(f"{path}.{error.field}", error.problem) if inside else Problem(path, str(error))
            raise ScenarioError(source, [problem]) from error
    try:
        whole = combine([*sources.parts, Workload(name="", num_arrivals=0)], name=name)
    except DecodeError as error:
        raise ScenarioError(source, [Problem("spec", str(error))]) from error
    if not whole.nodes and not any(group.joins for group in spec.cluster.nodes):
        raise ScenarioError(source, _without_nodes(whole))
    if spec.cluster.racks is not None:
        whole = replace(whole, nodes=_in_racks(whole.nodes, spec.cluster.racks))
    if spec.cluster.datasets:
        whole = _with_datasets(whole, spec, source)
    if spec.cluster.prices:
        whole = _with_prices(whole, spec, source, folder)
    if any(each.openb is not None and each.openb.times == "recorded" for each in spec.workloads):
        note = load_note(whole.nodes, whole.arrivals)
        whole = replace(whole, notes=[*whole.notes, note]) if note else whole
    return whole


def _with_datasets(workload: Workload, spec: ScenarioSpec, source: str) -> Workload:
    problems: list[Problem] = []
    made = make_datasets(spec.cluster.datasets, workload.nodes, spec.seed, problems)
    if problems:
        raise ScenarioError(source, problems)
    return replace(workload, objects=[*workload.objects, *made])


def _with_prices(workload: Workload, spec: ScenarioSpec, source: str, folder: str) -> Workload:
    """Nodes say what they cost; those that join later, too, if they are generated."""
    try:
        prices = read_prices(spec.cluster.prices, folder)
    except ValueError as error:
        raise ScenarioError(source, [Problem("spec.cluster.prices", str(error))]) from error
    nodes = [priced(node, prices) for node in workload.nodes]
    if not any(group.joins for group in spec.cluster.nodes):
        return replace(workload, nodes=nodes)

    def arrivals() -> Iterator[Arrival]:
        for one in workload.arrivals:
            yield one._replace(object=priced(one.object, prices)) if isinstance(one.object, Node) else one

    return replace(workload, nodes=nodes, arrivals=Arrivals(arrivals))


def _without_nodes(workload: Workload) -> list[Problem]:
    """Files that make no sense are why there is no node, more often than not."""
    wrong = [Problem("spec.cluster", text) for text in workload.problems[:MOST_PROBLEMS]]
    return [*wrong, Problem("spec.cluster", "there is no node; give nodes, files or a snapshot with nodes, or openb")]


class _Sources:
    """What is to be read, each with the field that says so, in the order in which later ones need earlier ones."""

    def __init__(self, spec: ScenarioSpec, folder: str) -> None:
        self.spec = spec
        self.folder = folder
        self.parts: list[Workload] = []  # what has been read so far

    def readings(self) -> Iterator[tuple[str, Read]]:
        cluster = self.spec.cluster
        if cluster.nodes:
            yield "spec.cluster.nodes", lambda _: _generated(cluster.nodes)
        if cluster.snapshot:
            yield "spec.cluster.snapshot", self._snapshot
        if cluster.openb is not None:
            yield "spec.cluster.openb", self._openb_nodes
        together: list[str] = []
        apart = []
        for index, (path, source) in enumerate(workload_paths(self.spec)):
            if source.files and all(getattr(source, name) == getattr(AS_IT_IS, name) for name in CHANGES):
                together += source.files
            else:
                apart.append(self._reading(path, source, index))
        if together or cluster.files:
            field = "spec.cluster.files" if cluster.files else "spec.workload"
            yield field, lambda told: self._manifests(together, told, cluster.files)
        yield from apart

    def _reading(self, path: str, source: WorkloadSource, index: int) -> tuple[str, Read]:
        kind = next(name for name in ("synthetic", "swf", "openb", "files") if getattr(source, name))
        read = getattr(self, f"_read_{kind}")
        return f"{path}.{kind}", lambda told: _changed(read(source, index, told), source)

    def _read_synthetic(self, source: WorkloadSource, index: int, _: Progress | None) -> Workload:
        assert source.synthetic is not None
        state = np.random.SeedSequence((zlib.crc32(b"workload"), self.spec.seed, index)).generate_state(1)
        things = (thing for part in self.parts for thing in part.objects)
        classes = {thing.metadata.name: thing for thing in things if isinstance(thing, PriorityClass)}
        return synthetic(source.synthetic, int(state[0]), priority_classes=classes)

    def _read_swf(self, source: WorkloadSource, _: int, told: Progress | None) -> Workload:
        assert source.swf is not None
        return read_swf(self._path(source.swf.file), source.swf, strict=self.spec.strict, progress=told)

    def _read_openb(self, source: WorkloadSource, _: int, told: Progress | None) -> Workload:
        assert source.openb is not None
        pods = self._path(source.openb.pods)
        read = read_openb(None, pods, source.openb, strict=self.spec.strict, progress=told)
        if source.openb.load is None:
            return read
        nodes = [node for part in self.parts for node in part.nodes]
        return scaled_to(read, nodes, source.openb.load)

    def _read_files(self, source: WorkloadSource, _: int, told: Progress | None) -> Workload:
        return self._manifests(source.files, told)

    def _manifests(self, files: Iterable[str], told: Progress | None, cluster: Iterable[str] = ()) -> Workload:
        return read_manifests(
            [self._path(file) for file in files],
            cluster=[self._path(file) for file in cluster],
            kinds=[self._path(file) for file in self.spec.kinds],
            there=[thing for part in self.parts for thing in part.objects if isinstance(thing, Pod)],
            strict=self.spec.strict,
            progress=told,
        )

    def _snapshot(self, told: Progress | None) -> Workload:
        files = [self._path(file) for file in self.spec.cluster.snapshot]
        return read_snapshot(files, strict=self.spec.strict, progress=told)

    def _openb_nodes(self, told: Progress | None) -> Workload:
        wanted = self.spec.cluster.openb
        assert wanted is not None
        read = read_openb(self._path(wanted.nodes), strict=self.spec.strict, progress=told)
        return read if wanted.share == 1.0 else replace(read, nodes=smaller(read.nodes, wanted.share))

    def _path(self, file: str) -> str:
        return file if file == "-" else os.path.join(self.folder, file)  # noqa: PTH118 - as people wrote it


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


def _generated(groups: tuple[GeneratedNodes, ...]) -> Workload:
    nodes: list[Node] = []
    late: list[Arrival] = []
    every = iter(make_nodes(groups))
    for group in groups:
        made = [_with_images(node, group.images) for node in islice(every, group.count)]
        if group.joins:
            late += [Arrival(float(group.joins), node) for node in made]
        else:
            nodes += made
    late.sort(key=lambda arrival: arrival.time)
    return Workload(name="nodes", nodes=nodes, arrivals=late, num_arrivals=len(late))


def _with_images(node: Node, sizes: Mapping[str, Quantity]) -> Node:
    if not sizes:
        return node
    images = tuple(ContainerImage(names=(name,), size_bytes=size.value) for name, size in sizes.items())
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, images=images))


def _in_racks(nodes: list[Node], racks: Racks) -> list[Node]:
    """Nodes that stand in no rack yet are put into racks, in place of themselves."""
    homeless = [node for node in nodes if RACK not in node.metadata.labels]
    numbers = (OUR_RACK.fullmatch(node.metadata.labels.get(RACK, "")) for node in nodes)
    free = max((int(number[1]) + 1 for number in numbers if number), default=0)
    placed = {node.metadata.name: node for node in assign_racks(homeless, racks.servers_per_rack, free)}
    return [placed.get(node.metadata.name, node) for node in nodes]
