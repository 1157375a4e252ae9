"""Known kinds of API versions that are gone: read as what replaced them.

In: an object of such a version, as parsed. Out: the same object in the version that Fairway reads, with what the old
version filled in and the new one does not: the selector. None for everything else. Old manifests are still about;
`manifest_files` reads them and says that no present cluster would. Matches the removals of Kubernetes 1.16 to 1.27.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairway.model import ApiObject, DecodeError, Skipped, decode_object

__all__ = ["present_version", "read_as"]

PRESENT: Final = {
    **dict.fromkeys(
        [
            (f"{version}", kind)
            for version in ("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2")
            for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
        ],
        "apps/v1",
    ),
    ("batch/v1beta1", "CronJob"): "batch/v1",
    ("batch/v2alpha1", "CronJob"): "batch/v1",
    ("extensions/v1beta1", "Job"): "batch/v1",
    ("policy/v1beta1", "PodDisruptionBudget"): "policy/v1",
    ("scheduling.k8s.io/v1alpha1", "PriorityClass"): "scheduling.k8s.io/v1",
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): "scheduling.k8s.io/v1",
    ("storage.k8s.io/v1beta1", "StorageClass"): "storage.k8s.io/v1",
    ("storage.k8s.io/v1beta1", "CSIDriver"): "storage.k8s.io/v1",
    ("storage.k8s.io/v1beta1", "CSINode"): "storage.k8s.io/v1",
    ("storage.k8s.io/v1alpha1", "CSIStorageCapacity"): "storage.k8s.io/v1",
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity"): "storage.k8s.io/v1",
}
"""Old version and kind, and the version that has the kind now."""

SELECTING: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


def present_version(one: Skipped) -> ApiObject | None:
    """The object as the version of today has it, if its own is an old one."""
    version = PRESENT.get((one.api_version, one.kind))
    return None if version is None else read_as(one, f"{version} {one.kind}")


def read_as(one: Skipped, version_and_kind: str) -> ApiObject:
    """The object read as one of another kind that has the same form."""
    version, _, kind = version_and_kind.rpartition(" ")
    tree: dict[str, Any] = {**one.tree, "apiVersion": version, "kind": kind}
    spec = tree.get("spec")
    if kind in SELECTING and isinstance(spec, Mapping) and not spec.get("selector"):
        tree["spec"] = {**spec, "selector": {"matchLabels": _labels(spec)}}
    try:
        return decode_object(tree, one.source)
    except DecodeError as error:
        subject = error.subject.replace(kind, f"{one.kind} ({one.api_version})", 1)
        raise DecodeError(error.problem, source=error.source, subject=subject, field=error.field) from error


def _labels(spec: Mapping[str, Any]) -> Any:
    template = spec.get("template")
    meta = template.get("metadata") if isinstance(template, Mapping) else None
    return (meta.get("labels") if isinstance(meta, Mapping) else None) or {}
