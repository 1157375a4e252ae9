"""The rules of DataLocality said again, slowly: a loop over nodes, datasets and copies, from API objects alone.

In: the objects of a cluster, a pod, the plugin's arguments. Out: each node's score, the nodes refused and for which
dataset, and what the pod has to wait for. Nothing here knows of rows, groups or caches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fairway.model import Dataset, DatasetInternal, Node, Pod
from fairway.model.requests import pod_requests
from fairway.plugins.data_locality_args import DataLocalityArgs

HOST = "kubernetes.io/hostname"
NEW, OLD = "datashim.io/v1alpha1", "com.ie.ibm.hpsys/v1alpha1"


class NaiveAnswer(NamedTuple):
    """What the rules say."""

    waits_for: list[str]
    refused: dict[str, str]  # node -> dataset
    scores: dict[str, int]


def naive_answer(objects: Iterable[Any], pod: Pod, args: DataLocalityArgs) -> NaiveAnswer:
    world = list(objects)
    nodes = [thing for thing in world if isinstance(thing, Node)]
    wanted = wanted_names(pod)
    mode = pod.metadata.annotations.get("fairway.dev/data-mode")
    requires = (mode if mode in ("prefer", "require") else args.mode) == "require"
    waits_for: list[str] = []
    refused: dict[str, str] = {}
    points: dict[str, dict[str, float]] = {node.name: {} for node in nodes}
    sizes = []
    for name in wanted:
        dataset, internal = known(world, pod.metadata.namespace, name)
        declared = [node for node in nodes if labelled(node, name, "copy") or labelled(node, name, "gateway")]
        told_gateways, told_copies = told(internal)
        gateways = [n for n in nodes if is_ready(n) and (meant(n, told_gateways) or labelled(n, name, "gateway"))]
        locations = [n for n in nodes if is_ready(n) and (meant(n, told_copies) or labelled(n, name, "copy"))]
        serving = gateways or locations
        has_gateways = bool(told_gateways) or any(labelled(node, name, "gateway") for node in nodes)
        is_local = bool(locations) and not has_gateways
        if requires:
            if dataset is None and internal is None and not declared:
                waits_for.append(f'dataset "{name}" does not exist')
            elif dataset is not None and unready(dataset):
                waits_for.append(f'dataset "{name}" is not ready: {unready(dataset)}')
        for node in nodes:
            if (requires or is_local) and not any(near_enough(node, copy, args) for copy in serving):
                refused.setdefault(node.name, name)
            worth = [
                ladder_points(node, copy, args) * (1 - args.load_penalty * load(copy, world, args)) for copy in serving
            ]
            best = max(worth, default=0.0)
            if gateways and any(node.name == location.name for location in locations):
                best *= args.gateway_on_storage
            points[node.name][name] = best
        sizes.append(size_of(dataset))
    return NaiveAnswer(waits_for, refused, {node: mean(list(by.values()), sizes) for node, by in points.items()})


def wanted_names(pod: Pod) -> list[str]:
    """Labels by number, then the annotation; none twice. (Names here are all well-formed.)"""
    numbered = sorted(
        (int(key.split(".")[1]), value)
        for key, value in pod.metadata.labels.items()
        if key.startswith("dataset.") and key.endswith(".id") and key.split(".")[1].isdigit()
    )
    written = pod.metadata.annotations.get("fairway.dev/data", "")
    names = [name for _, name in numbered] + [name for name in written.split(",") if name]
    return list(dict.fromkeys(names))


def known(world: list[Any], namespace: str, name: str) -> tuple[Dataset | None, DatasetInternal | None]:
    found: list[Any] = []
    for kind in (Dataset, DatasetInternal):
        those = {
            str(thing.api_version): thing
            for thing in world
            if isinstance(thing, kind) and (thing.metadata.namespace, thing.metadata.name) == (namespace, name)
        }
        found.append(those.get(NEW) or those.get(OLD))
    return found[0], found[1]


def told(internal: DatasetInternal | None) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    if internal is None:
        return [], []
    placements = internal.status.caching.placements
    return (
        [(one.key, one.value) for one in placements.gateways],
        [(one.key, one.value) for one in placements.data_locations],
    )


def label(node: Node, key: str) -> str | None:
    return node.metadata.labels.get(key, node.name if key == HOST else None)


def meant(node: Node, placements: list[tuple[str, str]]) -> bool:
    return any(value and label(node, key) == value for key, value in placements)


def labelled(node: Node, name: str, value: str) -> bool:
    return node.metadata.labels.get(f"data.fairway.dev/{name}") == value


def is_ready(node: Node) -> bool:
    return not any(one.type == "Ready" and one.status != "True" for one in node.status.conditions)


def unready(dataset: Dataset) -> str:
    state = dataset.status.provision
    if not state.status:
        state = dataset.status.caching
        if state.status in ("", "Disabled"):
            return ""
    if state.status == "OK":
        return ""
    return f"{state.status}, {state.info}" if state.info else state.status


def equal(node: Node, copy: Node, key: str) -> bool:
    return label(node, key) is not None and label(node, key) == label(copy, key)


def ladder_points(node: Node, copy: Node, args: DataLocalityArgs) -> float:
    return next((float(rung.points) for rung in args.ladder if equal(node, copy, rung.key)), 0.0)


def near_enough(node: Node, copy: Node, args: DataLocalityArgs) -> bool:
    return any(equal(node, copy, key) for key in near_keys(args))


def near_keys(args: DataLocalityArgs) -> Iterator[str]:
    keys = [rung.key for rung in args.ladder]
    for key in keys if args.require_within in keys else ():
        yield key
        if key == args.require_within:
            return
    yield args.require_within


def load(node: Node, world: list[Any], args: DataLocalityArgs) -> float:
    if args.load_from == "annotation":
        try:
            told_load = float(node.metadata.annotations.get("data.fairway.dev/load", "0"))
        except ValueError:
            return 0.0
        return min(max(told_load, 0.0), 1.0)
    requests = [pod_requests(thing) for thing in world if isinstance(thing, Pod) and thing.spec.node_name == node.name]
    has = node.status.allocatable
    cpu = has["cpu"].milli if "cpu" in has else 0
    memory = has["memory"].value if "memory" in has else 0
    of_cpu = sum(request.get("cpu", 0) for request in requests) / max(cpu, 1)
    of_memory = sum(request.get("memory", 0) for request in requests) / max(memory, 1)
    return min(max(of_cpu, of_memory), 1.0)


def size_of(dataset: Dataset | None) -> int | None:
    return None if dataset is None else dataset.size


def mean(points: list[float], sizes: list[int | None]) -> int:
    if not points:
        return 0
    weights = [float(size) for size in sizes if size is not None]
    if len(weights) < len(sizes):
        weights = [1.0] * len(points)
    total = sum(point * weight for point, weight in zip(points, weights, strict=True))
    return math.floor(total / sum(weights) + 0.5 + 1e-9)
