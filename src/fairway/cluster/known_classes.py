"""Classes found without working out their keys: by the very objects that pods share.

In: a pod whose class was worked out, kept with it; later another pod, or another version of it. Out: the class, if the
two have the same spec and labels in memory and nothing else tells them apart; None if one has to look. Pods of a
template and versions of a pod share these objects, and a key is an encoding of all of them. What is remembered of a
class ends with it. Called by `Cluster`.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairway.cluster.annotations import ReadAnnotations
from fairway.cluster.pod_class import PodClass
from fairway.model.device_need import GPU_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairway.model import ObjectMeta, Pod, PodSpec, PodStatus

MOST = 4096
"""Specs that are remembered: a bound, for those who make a new one for every pod."""


PATIENCE = 64
"""After so many that were kept in vain, only one in so many is."""


class Known(NamedTuple):
    """A class, and the pod it was worked out for as far as that matters."""

    spec: PodSpec
    meta: ObjectMeta
    annotations: Mapping[str, str]
    pod_class: weakref.ref[PodClass]  # known classes end when nobody else needs them


class KnownClasses:
    """Classes of pods without a node, by the identity of their specs."""

    def __init__(self, annotations: ReadAnnotations) -> None:
        self._annotations = annotations
        self._by_spec: dict[int, Known] = {}
        self._num_vain = 0  # how many were kept since one was found

    def find(self, pod: Pod) -> PodClass | None:
        """The class of a pod, if that is easily seen."""
        known = self._by_spec.get(id(pod.spec))
        if known is None or known.spec is not pod.spec:
            return None
        meta, before = pod.metadata, known.meta
        if (
            meta.labels is before.labels
            and meta.owner_references == before.owner_references
            and meta.namespace == before.namespace
            and not _has_resources(pod.status)
            and (meta.annotations is before.annotations or self._annotations.of(pod) == known.annotations)
        ):
            self._num_vain = 0
            return known.pod_class()
        return None

    def keep(self, pod: Pod, pod_class: PodClass) -> None:
        """Remember the class of a pod, unless more than what is compared here makes it so."""
        self._num_vain += 1
        if self._num_vain > PATIENCE and self._num_vain % PATIENCE:
            return  # here pods do not share anything, as where each is read from text of its own
        spec = pod.spec
        if spec.node_name or _has_resources(pod.status) or any(volume.ephemeral is not None for volume in spec.volumes):
            return
        if len(self._by_spec) >= MOST:
            self._by_spec.clear()
        by_spec, number = self._by_spec, id(spec)

        def drop(reference: weakref.ref[PodClass]) -> None:
            known = by_spec.get(number)
            if known is not None and known.pod_class is reference:
                del by_spec[number]

        by_spec[number] = Known(spec, pod.metadata, self._annotations.of(pod), weakref.ref(pod_class, drop))


def keeps_class(old: Pod, new: Pod) -> bool:
    """Is a placed pod, or one that was assumed, easily seen to be of the class it was?"""
    before, after = old.metadata, new.metadata
    if not (
        before.labels is after.labels
        and before.annotations is after.annotations
        and before.owner_references is after.owner_references
        and GPU_INDEX not in before.annotations  # a wish before, a fact after
        and not _has_resources(old.status)
        and not _has_resources(new.status)
    ):
        return False
    spec = new.spec
    return old.spec is spec or msgspec.structs.replace(old.spec, node_name=spec.node_name) == spec


def _has_resources(status: PodStatus) -> bool:
    """Does it say what a pod has been given, after a resize?"""
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
    )
