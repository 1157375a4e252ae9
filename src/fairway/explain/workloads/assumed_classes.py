"""Storage classes that claims ask for and the files of a cluster do not have.

In: the claims of pods that are to be placed, and the objects of the files. Out: for each such class one that makes
volumes for its first consumer, as most do, with a note. Called by `cluster_gaps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fairway.cluster.volumes.volume_columns import claim_class
from fairway.model import Loaded, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Source, StorageClass

__all__ = ["assumed_classes"]

ASSUMED: Final = "fairway.dev/assumed"
DEFAULT_MARK: Final = "storageclass.kubernetes.io/is-default-class"
DEFAULT_NAME: Final = "default"


def assumed_classes(
    claims: Sequence[PersistentVolumeClaim], objects: Sequence[Loaded], notes: list[str]
) -> Iterator[Loaded]:
    """Classes that claims ask for and the cluster's files do not have, each with a note."""
    there = {one.object.metadata.name for one in objects if isinstance(one.object, StorageClass)}
    volumes = [one.object for one in objects if isinstance(one.object, PersistentVolume)]
    by_hand = {volume.spec.storage_class_name for volume in volumes}
    missing: dict[str, None] = {}
    for claim in claims:
        if claim.spec.volume_name or claim.status.phase == "Bound":
            continue
        name = claim_class(claim) if _names_class(claim) else (DEFAULT_NAME if not there else "")
        if name and name not in there and name not in by_hand:
            missing[name] = None
    for name in missing:
        what = "StorageClass" if name == DEFAULT_NAME else f"StorageClass {name}"
        notes.append(f"no {what} in the cluster's files: took one that makes volumes, WaitForFirstConsumer")
        mark = {DEFAULT_MARK: "true"} if name == DEFAULT_NAME else {}
        made = StorageClass(
            metadata=ObjectMeta(name=name, annotations=mark),
            provisioner=ASSUMED,
            volume_binding_mode="WaitForFirstConsumer",
        )
        yield Loaded(made, Source("<assumed>"))


def _names_class(claim: PersistentVolumeClaim) -> bool:
    return claim.spec.storage_class_name is not None or bool(claim_class(claim))
