"""Classes found without working out their keys: by the very objects that pods share.

In: a pod whose class was worked out, kept with it; later another pod, or another version of it. Out: the class, if the
two have the same spec and labels in memory and nothing else tells them apart; None if one has to look. Pods of a
template and versions of a pod share these objects, and a key is an encoding of all of them. What is remembered of a
class ends with it. Of pods that plugins say something about the latest is remembered: members of a job come one after
the other, each read from text of its own. Called by `Cluster`.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairway.cluster.annotations import ReadAnnotations
from fairway.cluster.pod_class import ENCODER, Extra, PodClass
from fairway.model.device_need import GPU_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        self._by_spec: dict[tuple[int, Extra], Known] = {}
        self._num_vain = 0  # how many were kept since one was found
        self.latest: LatestClass | None = None

    def find(self, pod: Pod, extra: Extra = ()) -> PodClass | None:
        """The class of a pod, if that is easily seen; `extra` as in `may_keep`."""
        known = self._by_spec.get((id(pod.spec), extra))
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

    @staticmethod
    def may_keep(extra: Extra) -> bool:
        """Is what plugins say of a pod told apart by comparing it? True and 1, say, are equal, and two classes."""
        return all(said is True or type(said) is str for _, said in extra)

    def keep(self, pod: Pod, pod_class: PodClass, extra: Extra = ()) -> None:
        """Remember the class of a pod, unless more than what is compared here makes it so."""
        self._num_vain += 1
        if self._num_vain > PATIENCE and self._num_vain % PATIENCE:
            return  # here pods do not share anything, as where each is read from text of its own
        spec = pod.spec
        if spec.node_name or not _is_plain(pod):
            return
        if len(self._by_spec) >= MOST:
            self._by_spec.clear()
        by_spec, key = self._by_spec, (id(spec), extra)

        def drop(reference: weakref.ref[PodClass]) -> None:
            known = by_spec.get(key)
            if known is not None and known.pod_class is reference:
                del by_spec[key]

        by_spec[key] = Known(spec, pod.metadata, self._annotations.of(pod), weakref.ref(pod_class, drop))


class LatestClass:
    """The class of a pod and of what plugins say about it, for the next one."""

    __slots__ = ("_extra", "_pod", "_pod_class", "_text")

    def __init__(self, pod: Pod, extra: Extra, pod_class: PodClass) -> None:
        self._pod = pod
        self._pod_class = weakref.ref(pod_class)
        self._text: bytes | None = None  # made when the first comes that may be equal
        self._extra = extra

    def find(self, pod: Pod, extra: Extra) -> PodClass | None:
        """The class of another pod, if everything is equal that makes a class."""
        meta, before = pod.metadata, self._pod.metadata
        if not (
            meta.namespace == before.namespace
            and meta.labels == before.labels
            and meta.annotations == before.annotations
            and meta.owner_references == before.owner_references
            and (pod.status == self._pod.status or not _has_resources(pod.status))  # of ours, see below
        ):
            return None
        if self._text is None:
            if not _is_plain(self._pod):
                return None
            self._text = ENCODER.encode((self._pod.spec, self._extra))
        # As text, like the key: amounts are equal that are written differently, and so are True and 1.
        return self._pod_class() if ENCODER.encode((pod.spec, extra)) == self._text else None


def num_alike(pods: Sequence[Pod], first: int) -> int:
    """How many pods, from the first on, are easily seen to ask for the same, and to say the same, but for their names.

    At least that one.
    """
    one = pods[first]
    if not _is_plain(one):
        return 1
    before, spec = one.metadata, one.spec
    for index in range(first + 1, len(pods)):
        other = pods[index]
        after = other.metadata
        if not (
            before.namespace == after.namespace
            and before.labels == after.labels
            and before.annotations == after.annotations
            and before.owner_references == after.owner_references
            and spec == other.spec
            and not _has_resources(other.status)
        ):
            return index - first
    return len(pods) - first


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


def _is_plain(pod: Pod) -> bool:
    """Do spec, labels, annotations, namespace and owner make its class, and nothing else of it?"""
    volumes = pod.spec.volumes
    return not _has_resources(pod.status) and (not volumes or all(each.ephemeral is None for each in volumes))


def _has_resources(status: PodStatus) -> bool:
    """Does it say what a pod has been given, after a resize?"""
    return bool(
        status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
    )
