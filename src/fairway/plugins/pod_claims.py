"""The claims of a pod, sorted by what a node must offer for them.

In: the cluster's storage and a pod. Out: `PodClaims`: the volumes of bound claims with what these ask of nodes, claims
for which a node was chosen before, and claims that are still to be matched; or why the pod can not be placed at all.
Matches `GetPodVolumeClaims` in kube-scheduler 1.36.4 `volumebinding/binder.go`. Called by `VolumeBinding`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairway.cluster.volumes.csi_migration import in_tree_plugin, migrate_volume
from fairway.cluster.volumes.storage import Storage
from fairway.cluster.volumes.volume_columns import affinity_matcher, claim_class
from fairway.cluster.volumes.volume_use import ownership_problem
from fairway.model import PersistentVolume, PersistentVolumeClaim, Pod
from fairway.model.selector import NodeMatcher, compile_selector
from fairway.plugin import Code, PodClass, Refusal
from fairway.plugins.volume_hints import MIGRATED_PLUGINS_ANNOTATION
from fairway.plugins.volume_preparation import BIND_COMPLETED_ANNOTATION

__all__ = ["BoundVolume", "PodClaims", "claim_problem", "sort_claims"]


@dataclass(frozen=True, slots=True)
class BoundVolume:
    """The volume of a bound claim: what it asks of nodes."""

    matcher: NodeMatcher | None  # None: any node will do
    migrated_nodes: frozenset[str] = frozenset()  # nodes where a CSI driver took over, which has labels of its own
    migrated_matcher: NodeMatcher | None = None
    problem: str = ""  # why it can not be put in that driver's words


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The pod's claims, by what has to be done about them."""

    bound: list[BoundVolume | None] = field(default_factory=list)  # None: the volume does not exist
    selected: list[tuple[PersistentVolumeClaim, str]] = field(
        default_factory=list
    )  # to be made on a node chosen before
    unbound: list[PersistentVolumeClaim] = field(default_factory=list)  # smallest request first
    problem: str = ""  # why no volume can be matched


def claim_problem(storage: Storage, pod: Pod, name: str, is_ephemeral: bool) -> str | None:
    """Why the pod can not have this claim yet, in kube-scheduler's words."""
    claim = storage.claims.get(f"{pod.metadata.namespace}/{name}")
    if claim is None:
        if is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_problem(pod, claim) if is_ephemeral else None


def sort_claims(storage: Storage, pod: PodClass) -> PodClaims | Refusal:
    """The claims, all of which are there, by what has to be done about them; or why nothing can be."""
    bound: list[BoundVolume | None] = []
    selected: list[tuple[PersistentVolumeClaim, str]] = []
    unbound: list[PersistentVolumeClaim] = []
    is_immediate, problem = False, ""
    for key in pod.claims:
        claim = storage.claims[key]
        if claim.spec.volume_name and BIND_COMPLETED_ANNOTATION in claim.metadata.annotations:
            volume = storage.volumes.get(claim.spec.volume_name)
            bound.append(None if volume is None else _bound_volume(storage, volume))
            continue
        class_name = claim_class(claim)
        storage_class = storage.classes.get(class_name) if class_name else None
        if storage_class is not None and storage_class.volume_binding_mode is None:
            return Refusal((f'VolumeBindingMode not set for StorageClass "{class_name}"',), Code.ERROR)
        if (
            storage_class is None
            or storage_class.volume_binding_mode != "WaitForFirstConsumer"
            or claim.spec.volume_name
        ):
            is_immediate = True
        elif (node := storage.selected_node(claim)) is not None:
            selected.append((claim, node))
        else:
            unbound.append(claim)
            problem = problem or _selector_problem(claim)
    if is_immediate:
        return Refusal(("pod has unbound immediate PersistentVolumeClaims",), Code.UNRESOLVABLE)
    unbound.sort(key=_requested_nanos)
    return PodClaims(bound, selected, unbound, problem)


def _bound_volume(storage: Storage, volume: PersistentVolume) -> BoundVolume:
    matcher = affinity_matcher(volume.spec.node_affinity)
    plugin = in_tree_plugin(volume.spec)
    if not plugin:
        return BoundVolume(matcher)
    nodes = frozenset(
        name
        for name, csi_node in storage.csi_nodes.items()
        if plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION, "").split(",")
    )
    try:
        migrated = migrate_volume(volume)
    except ValueError as problem:
        return BoundVolume(matcher, nodes, None, f"could not translate pv: {problem}")
    return BoundVolume(matcher, nodes, affinity_matcher(migrated.node_affinity) if migrated is not None else matcher)


def _requested_nanos(claim: PersistentVolumeClaim) -> int:
    request = claim.spec.resources.requests.get("storage")
    return 0 if request is None else request.nanos


def _selector_problem(claim: PersistentVolumeClaim) -> str:
    try:
        compile_selector(claim.spec.selector)
    except ValueError as problem:
        return f"error creating internal label selector for claim: {claim.key}: {problem}"
    return ""
