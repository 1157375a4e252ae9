"""From a controller's template to its pods.

In: an owner (anything with a kind and metadata), its pod template, and what tells one pod from the next: a name,
labels, annotations. Out: pods as the API server would store them, owned by their controller. A `Stencil` completes
the template once for all pods that only differ in name. Called by `owned`, by `fairway try` and by the controllers of
the simulation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Protocol

from fairway.model.codec import encode_json
from fairway.model.default_pod import default_pod
from fairway.model.meta import ObjectMeta, OwnerReference
from fairway.model.pod import Pod, PodSpec, PodTemplateSpec
from fairway.model.workload import PriorityClass

__all__ = ["Owner", "Stencil", "name_suffix", "owner_reference", "pod_from_template", "template_hash", "template_pod"]

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, no words: k8s.io/apimachinery/pkg/util/rand
SUFFIX_LENGTH = 5
NUM_SUFFIXES = len(ALPHABET) ** SUFFIX_LENGTH
STRIDE = 5_431_789  # without a factor of 3, as ALPHABET has: all suffixes come before one comes again


class Owner(Protocol):
    """Whatever can own a pod."""

    @property
    def api_version(self) -> str:
        """Its group and version."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name and uid."""


def owner_reference(owner: Owner) -> OwnerReference:
    """How an object names the controller that it belongs to."""
    meta = owner.metadata
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=meta.name,
        uid=meta.uid,
        controller=True,
        block_owner_deletion=True,
    )


def template_hash(template: PodTemplateSpec) -> str:
    """A short name for what a template says: the same for equal templates, on every machine."""
    number = int.from_bytes(hashlib.sha256(encode_json(template)).digest()[:6], "big")
    return _spelled(number % len(ALPHABET) ** 10, 10)


def name_suffix(seed: str, number: int) -> str:
    """Five letters for an owner's n-th pod; the first fourteen million of one seed are all different."""
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    return _spelled((start + number * STRIDE) % NUM_SUFFIXES, SUFFIX_LENGTH)


def _spelled(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


def template_pod(
    owner: Owner,
    template: PodTemplateSpec,
    name: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Pod:
    """The pod as a controller sends it to the API server: not completed yet."""
    inner = template.metadata
    meta = ObjectMeta(
        name=name,
        namespace=owner.metadata.namespace,
        labels={**inner.labels, **labels} if labels else inner.labels,
        annotations={**inner.annotations, **annotations} if annotations else inner.annotations,
        finalizers=inner.finalizers,
        owner_references=(owner_reference(owner),),
    )
    return Pod(metadata=meta, spec=template.spec)


def pod_from_template(
    owner: Owner,
    template: PodTemplateSpec,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    priority_classes: Mapping[str, PriorityClass] | None = None,
) -> Pod:
    """The pod as the API server stores it; `DecodeError` if there is no such priority class."""
    return default_pod(template_pod(owner, template, name, labels, annotations), priority_classes or {})


class Stencil:
    """Makes one owner's pods, completing the template once if all of them have the same spec."""

    __slots__ = ("_classes", "_complete", "_is_shared", "_meta", "_owner", "template")

    def __init__(self, owner: Owner, template: PodTemplateSpec, priority_classes: Mapping[str, PriorityClass]) -> None:
        self.template = template
        self._classes = priority_classes
        self._complete = pod_from_template(owner, template, "pod", priority_classes=priority_classes)
        self._meta = self._complete.metadata
        self._owner = owner
        # What label keys mean depends on each pod's own labels; everything else does not.
        self._is_shared = not _has_label_keys(template.spec)

    def pod(
        self, name: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
    ) -> Pod:
        """A pod, as the API server stores it."""
        if labels and not self._is_shared:
            return default_pod(template_pod(self._owner, self.template, name, labels, annotations), self._classes)
        own = self._meta
        meta = ObjectMeta(
            name=name,
            namespace=own.namespace,
            labels={**own.labels, **labels} if labels else own.labels,
            annotations={**own.annotations, **annotations} if annotations else own.annotations,
            finalizers=own.finalizers,
            owner_references=own.owner_references,
        )
        return Pod(metadata=meta, spec=self._complete.spec, status=self._complete.status)


def _has_label_keys(spec: PodSpec) -> bool:
    if any(one.match_label_keys for one in spec.topology_spread_constraints):
        return True
    if spec.affinity is None:
        return False
    terms = [
        term
        for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity)
        if affinity is not None
        for term in (*affinity.required, *(weighted.pod_affinity_term for weighted in affinity.preferred))
    ]
    return any(term.match_label_keys or term.mismatch_label_keys for term in terms)
