"""A cluster as a placement problem: which pods may be moved where, and what stays.

In: a cluster, its profiles, and pods that are on its nodes or wait. Out: a `PlacementProblem` for `record.quality`.
Amounts of resources and devices, and filters that read nothing but the pod and the node (taints, node affinity, and the
like, users' own included), are in it. Filters that depend on where other pods go (spread constraints, affinity between
pods, ports, volumes) are not: the optimum is then a bound, and `not_looked_at` names them. Pods of DaemonSets and pods
that nobody asks about stay where they are. Called for `try --optimum` and `compare --optimum`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import PODS, Aspect, Cluster, Nodes, PodClass
from fairway.cluster.pod_class import without_place
from fairway.cycle import Profile
from fairway.model import Pod, UserError
from fairway.model.device_need import WHOLE_DEVICE
from fairway.plugin import Plugin, Refusal, Restriction, Skip
from fairway.record.quality.gpu_optimum import GpuInstance
from fairway.record.quality.instance import Instance
from fairway.record.quality.judgement import PlacementProblem

__all__ = ["placement_problem"]

FIT, DEVICES = "NodeResourcesFit", "GpuShare"
"""Filters that the problem's own numbers stand for; devices only where the goal is about them."""


def placement_problem(
    cluster: Cluster, profiles: Mapping[str, Profile], pods: Sequence[Pod], domain_label: str = ""
) -> PlacementProblem:
    """The problem of placing these pods, given all others; pods of schedulers without a profile stay, too."""
    rows = np.array(sorted(cluster.nodes.row_of.values()), np.intp)
    if not len(rows):
        raise UserError("there is no node to place anything on", "name a cluster that has nodes")
    movable = [pod for pod in pods if pod.spec.scheduler_name in profiles and not _is_daemon(pod)]
    movable.sort(key=lambda pod: pod.metadata.uid not in cluster.pods.by_uid)  # those on nodes first
    classes = [profiles[pod.spec.scheduler_name].classify(without_place(pod)) for pod in movable]
    number_of = {row: number for number, row in enumerate(rows.tolist())}
    placed = [cluster.pods.by_uid.get(pod.metadata.uid) for pod in movable]
    placement = np.array([-1 if one is None else number_of[one.row] for one in placed], np.intp)
    columns = _columns(cluster, classes)
    requests = np.array([[_amount(kind, cluster, column) for column in columns] for kind in classes], np.int64)
    requests = requests.reshape(len(movable), len(columns))
    allocatable = cluster.nodes.allocatable[rows][:, columns]
    held = cluster.nodes.requested[rows][:, columns]
    is_placed = placement >= 0
    np.subtract.at(held, placement[is_placed], requests[is_placed])
    names = [cluster.nodes.resources[column] for column in columns]
    moved = {pod.metadata.uid for pod in movable}
    allowed, not_looked_at = _allowed(cluster, profiles, movable, classes, rows)
    # Whatever the rules say now, the policy's own placement was one.
    allowed[np.flatnonzero(is_placed), placement[is_placed]] = True
    staying = [one for one in cluster.pods.by_uid.values() if one.pod.metadata.uid not in moved]
    in_use = np.zeros(len(rows), np.bool_)
    for one in staying:
        in_use[number_of[one.row]] |= not _is_daemon(one.pod)
    instance = Instance(
        tuple(names),
        requests,
        allocatable,
        allowed,
        tuple(pod.key for pod in movable),
        tuple(cluster.nodes.names[row] for row in rows.tolist()),
        np.maximum(held, 0),
        in_use,
        _domains(cluster, rows, domain_label, np.asarray(allowed.any(axis=0))),
    )
    gpus = _gpus(cluster, classes, moved, instance, rows)
    return PlacementProblem(instance, placement, gpus, not_looked_at, domain_label, len(staying))


def _is_daemon(pod: Pod) -> bool:
    owner = pod.metadata.controller if pod.metadata.owner_references else None
    return owner is not None and owner.kind == "DaemonSet"


def _columns(cluster: Cluster, classes: Sequence[PodClass]) -> list[int]:
    """Cpu, memory, room for pods, and what else any of the pods asks for."""
    wanted = {column for kind in set(classes) for column, _ in kind.taken}
    return sorted(wanted | {cluster.nodes.resources.find("cpu"), cluster.nodes.resources.find("memory"), PODS})


def _amount(kind: PodClass, cluster: Cluster, column: int) -> int:
    return 1 if column == PODS else kind.requests.get(cluster.nodes.resources[column], 0)


def _allowed(
    cluster: Cluster,
    profiles: Mapping[str, Profile],
    pods: Sequence[Pod],
    classes: Sequence[PodClass],
    rows: NDArray[np.intp],
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Where each pod may go by filters that no other pod matters to, and the names of the others that take part."""
    masks: dict[tuple[str, PodClass], NDArray[np.bool_]] = {}
    others: dict[str, None] = {}
    for pod, kind in zip(pods, classes, strict=True):
        key = (pod.spec.scheduler_name, kind)
        if key not in masks:
            masks[key], names = _allowed_by(profiles[pod.spec.scheduler_name], cluster, kind, rows)
            others |= dict.fromkeys(names)
    allowed = [masks[pod.spec.scheduler_name, kind] for pod, kind in zip(pods, classes, strict=True)]
    return np.array(allowed, np.bool_).reshape(len(pods), len(rows)), tuple(sorted(others))


def _allowed_by(
    profile: Profile, cluster: Cluster, kind: PodClass, rows: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], list[str]]:
    nodes = Nodes(cluster, rows)
    mask = np.full(len(rows), not kind.missing)
    if kind.devices is not None and kind.devices.models:
        mask &= cluster.devices.is_allowed(kind.devices.models)[cluster.devices.model[rows]]
    others = []
    for plugin in profile.filters:
        state = plugin.pre_filter(kind, cluster.view()) if plugin in profile.pre_filters else None
        if isinstance(state, Skip) or plugin.name == FIT or (plugin.name == DEVICES and kind.devices is None):
            continue
        if not _is_about_nodes(plugin):
            others.append(plugin.name)
        elif isinstance(state, Refusal):
            mask[:] = False
        elif isinstance(state, Restriction):
            mask &= np.isin(nodes.names, list(state.names)) & plugin.filter(kind, nodes, state.state)
        else:
            mask &= plugin.filter(kind, nodes, state)
    return mask, others


def _is_about_nodes(plugin: Plugin) -> bool:
    """Does its verdict follow from the pod and the node alone?"""
    return not plugin.reads & ~Aspect.NODE


def _domains(cluster: Cluster, rows: NDArray[np.intp], label: str, is_open: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The domain of each node; a node that none of the pods may go to is in none."""
    if not label:
        return np.where(is_open, np.arange(len(rows)), -1)
    nodes = [cluster.nodes.objects[row] for row in rows.tolist()]
    values = [None if node is None else node.metadata.labels.get(label) for node in nodes]
    known = {value: number for number, value in enumerate(sorted({value for value in values if value is not None}))}
    if not known:
        raise UserError(f"no node has the label {label}", "name a label of nodes, such as topology.kubernetes.io/zone")
    domains = np.array([-1 if value is None else known[value] for value in values], np.intp)
    return np.where(is_open, domains, -1)


def _gpus(
    cluster: Cluster, classes: Sequence[PodClass], moved: set[str], instance: Instance, rows: NDArray[np.intp]
) -> GpuInstance | None:
    """The devices, as the pods that stay leave them."""
    devices = cluster.devices
    needs = [kind.devices for kind in classes]
    if not devices.num_devices or all(need is None for need in needs):
        return None
    free = devices.free[rows].astype(np.int64)
    number_of = {row: number for number, row in enumerate(rows.tolist())}
    for uid in moved:
        placed = cluster.pods.by_uid.get(uid)
        need = None if placed is None else placed.pod_class.devices
        if placed is not None and need is not None:
            for index in devices.indices_of(uid):
                free[number_of[placed.row], index] += need.milli
    return GpuInstance(
        instance,
        np.array([0 if need is None else need.milli for need in needs], np.int64),
        np.array([0 if need is None else need.count for need in needs], np.int64),
        np.minimum(free, WHOLE_DEVICE),
        devices.total_milli,
    )
