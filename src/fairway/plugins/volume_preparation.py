"""Volumes before the pod: what VolumeBinding reserved, as something to be written and waited for.

In: the cluster, a decided pod and its node. Out: a `Preparation`: volumes are given to claims (`claimRef`), claims are
told their node (`selected-node`), and the pod is bound when all of these claims are. The volume controller and the
provisioner do the rest. Patches carry the version that was decided upon, so an object that has changed since is a
failure, not a loss. Matches `BindPodVolumes` of kube-scheduler 1.36.4 `volumebinding/binder.go`. Called by the plugin's
`pre_bind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.cluster import Cluster
from fairway.cluster.volumes.storage import SELECTED_NODE_ANNOTATION
from fairway.cluster.volumes.volume_columns import affinity_matcher
from fairway.model import PersistentVolume, PersistentVolumeClaim, Pod
from fairway.model.codec import object_name
from fairway.plugin import Code, Patch, Preparation, Refusal, Write, patch_of

__all__ = ["BIND_COMPLETED_ANNOTATION", "prepare_volumes"]

BIND_COMPLETED_ANNOTATION = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONERS = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
DOING = "binding volumes"


def prepare_volumes(cluster: Cluster, pod: Pod, node: str, timeout_seconds: float) -> Preparation | Refusal | None:
    """What has to happen to the pod's volumes before it is bound; None if nothing has to."""
    storage = cluster.storage
    reservation = storage.reservations.get(pod.metadata.uid)
    if reservation is None or reservation.is_empty:
        return None
    claims = {}
    for key in (*(key for key, _ in reservation.bindings), *reservation.provisions):
        if key not in storage.claims:
            return _broken(_claim_missing(key))
        claims[key] = storage.claims[key]
    writes: list[Write] = []
    for key, name in reservation.bindings:
        if name not in storage.volumes:
            return _broken(f'persistentvolume "{name}" not found')
        writes.append(_gift(storage.volumes[name], claims[key]))
    selection = {"metadata": {"annotations": {SELECTED_NODE_ANNOTATION: node}}}
    writes += [patch_of(claims[key], selection) for key in reservation.provisions]
    num_bindings = len(reservation.bindings)

    def are_bound(versions: Sequence[int]) -> bool | Refusal:
        written = dict(zip(reservation.provisions, versions[num_bindings:], strict=True))
        problem, is_complete = "", True
        for key in claims:
            claim = storage.claims.get(key)
            problem = problem or _problem(cluster, claim, key, node, written.get(key))
            is_complete = is_complete and claim is not None and _is_bound(cluster, claim)
        return _broken(f"{DOING}: {problem}") if problem else is_complete

    about = frozenset(map(object_name, claims.values()))
    return Preparation(tuple(writes), are_bound, timeout_seconds, about=about, doing=DOING)


def _gift(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Patch:
    """Give the volume to the claim."""
    meta = claim.metadata
    ref = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    changes: dict[str, Any] = {"spec": {"claimRef": ref}}
    if volume.spec.claim_ref is None:
        changes["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return patch_of(volume, changes)


def _is_bound(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    name = claim.spec.volume_name
    return bool(name) and BIND_COMPLETED_ANNOTATION in claim.metadata.annotations and name in cluster.storage.volumes


def _problem(cluster: Cluster, claim: PersistentVolumeClaim | None, key: str, node: str, written: int | None) -> str:
    """Why waiting for the claim is pointless; `written` is the version in which we told it its node, if we did."""
    if claim is None:
        return _claim_missing(key)
    if written is not None and not claim.spec.volume_name and _version(claim) >= written:
        notes = claim.metadata.annotations
        if (
            notes.get(SELECTED_NODE_ANNOTATION) != node
        ):  # a provisioner that can not make it there takes the choice back
            is_provisioned = any(name in notes for name in PROVISIONERS)
            words = "provisioning failed" if is_provisioned else "selectedNode annotation reset"
            return f'{words} for PVC "{claim.metadata.name}"'
    return (
        _out_of_reach(cluster, cluster.storage.volumes[claim.spec.volume_name], node)
        if _is_bound(cluster, claim)
        else ""
    )


def _out_of_reach(cluster: Cluster, volume: PersistentVolume, node: str) -> str:
    """A volume that was made elsewhere is of no use to the pod."""
    row = cluster.nodes.row_of.get(node)
    if row is None:
        return f'node "{node}" not found'
    matcher, there = affinity_matcher(volume.spec.node_affinity), cluster.nodes.objects[row]
    if matcher is None or there is None or matcher.matches(there.metadata.labels, node):
        return ""
    return f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node}": no matching NodeSelectorTerms'


def _claim_missing(key: str) -> str:
    return f'persistentvolumeclaim "{key.partition("/")[2]}" not found'


def _broken(words: str) -> Refusal:
    return Refusal((words,), Code.ERROR)


def _version(claim: PersistentVolumeClaim) -> int:
    text = claim.metadata.resource_version
    return int(text) if text.isdigit() else 0
