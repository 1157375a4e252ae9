"""The claims that pods of a kind in the table get.

In: a `Claim` of the table and the object's scope. Out: the claims' templates (`claim_templates`), and a pod with claims
of its own, named after it as a StatefulSet names them (`with_claims`). Called by `custom_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fairway.kinds.controllers import Copy
from fairway.kinds.kind_table import Claim
from fairway.kinds.tree_text import Scope, fill_text, fill_tree, find_value
from fairway.model import PersistentVolumeClaim, Pod, Source, decode_object
from fairway.model.volume import PersistentVolumeClaimVolumeSource, Volume

__all__ = ["claim_templates", "with_claims"]

Template = tuple[str, PersistentVolumeClaim]
"""The name of a volume, and what its claim is to be."""


def with_claims(pod: Pod, templates: Sequence[Template]) -> Copy:
    """The pod with a volume for each template, and the claims."""
    if not templates:
        return pod, ()
    claims = tuple(_claim_of(volume, claim, pod) for volume, claim in templates)
    names = {volume for volume, _ in templates}
    mounted = tuple(
        Volume(
            name=volume or "data",
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim.metadata.name),
        )
        for (volume, _), claim in zip(templates, claims, strict=True)
    )
    others = tuple(volume for volume in pod.spec.volumes if volume.name not in names)
    spec = msgspec.structs.replace(pod.spec, volumes=others + mounted)
    return msgspec.structs.replace(pod, spec=spec), claims


def claim_templates(claim: Claim, scope: Scope, source: Source) -> Iterator[Template]:
    """The volumes' names and their claims' templates."""
    name = fill_text(claim.name, scope)
    trees: list[Mapping[str, Any]] = [{"spec": fill_tree(claim.spec, scope)}] if claim.spec else []
    if claim.path:
        found = find_value(scope, claim.path)
        trees = [tree for tree in (found if isinstance(found, list) else [found]) if isinstance(tree, Mapping)]
    for tree in trees:
        meta = tree.get("metadata") or {}
        whole = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": tree.get("spec") or {}}
        made = decode_object(whole, source)
        assert isinstance(made, PersistentVolumeClaim)
        if not made.spec.access_modes:  # operators take it for granted
            spec = msgspec.structs.replace(made.spec, access_modes=("ReadWriteOnce",))
            made = msgspec.structs.replace(made, spec=spec)
        yield made.metadata.name or name, made


def _claim_of(volume: str, claim: PersistentVolumeClaim, pod: Pod) -> PersistentVolumeClaim:
    name = f"{volume}-{pod.metadata.name}" if volume else pod.metadata.name
    meta = msgspec.structs.replace(claim.metadata, name=name, namespace=pod.metadata.namespace, uid="")
    return msgspec.structs.replace(claim, metadata=meta)
