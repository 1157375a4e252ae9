"""Datasets, and where copies of them are, in one line each.

In: what matters to the test, as keywords. Out: complete API objects for `cluster(objects=...)`, of the newer group
unless told otherwise; a pod uses a dataset with `pod(labels={"dataset.0.id": "data"})`.
"""

from __future__ import annotations

from typing import Any, cast

from fairway.model import Dataset, DatasetInternal, ObjectMeta, default_object
from fairway.model.dataset import (
    DATA_GROUPS,
    CachingPlacements,
    DataPlacement,
    DatasetInternalCaching,
    DatasetInternalStatus,
    DatasetLocal,
    DatasetSpec,
    DatasetStatus,
    DataState,
)
from fairway.testing.notation import TOPOLOGIES, OneOrMore, several

__all__ = ["dataset", "dataset_internal"]


def dataset(
    name: str = "data",
    *,
    namespace: str = "default",
    size: Any = None,
    provision: str = "OK",
    info: str = "",
    caching: str = "",
    old_group: bool = False,
    annotations: dict[str, str] | None = None,
) -> Dataset:
    """A dataset that can be used; `provision=""` leaves out the status."""
    made = Dataset(
        api_version=_api_version(old_group),
        metadata=_meta(name, namespace, old_group, annotations),
        spec=DatasetSpec(local=DatasetLocal(size=size)),
        status=DatasetStatus(caching=DataState(status=caching), provision=DataState(status=provision, info=info)),
    )
    return cast(Dataset, default_object(made))


def dataset_internal(
    name: str = "data",
    *,
    namespace: str = "default",
    gateways: OneOrMore[str | DataPlacement] = (),
    copies: OneOrMore[str | DataPlacement] = (),
    old_group: bool = False,
) -> DatasetInternal:
    """Where it is served and where it lies: names of nodes, or placements by another label."""
    placements = CachingPlacements(
        gateways=tuple(map(_placement, several(gateways))), data_locations=tuple(map(_placement, several(copies)))
    )
    made = DatasetInternal(
        api_version=_api_version(old_group),
        metadata=_meta(name, namespace, old_group, None),
        status=DatasetInternalStatus(caching=DatasetInternalCaching(placements=placements)),
    )
    return cast(DatasetInternal, default_object(made))


def _api_version(old_group: bool) -> Any:
    return f"{DATA_GROUPS[old_group]}/v1alpha1"


def _meta(name: str, namespace: str, old_group: bool, annotations: dict[str, str] | None) -> ObjectMeta:
    uid = f"{namespace}/{name}{'/old' if old_group else ''}"
    return ObjectMeta(name=name, namespace=namespace, uid=uid, annotations=annotations or {})


def _placement(where: str | DataPlacement) -> DataPlacement:
    return where if isinstance(where, DataPlacement) else DataPlacement(key=TOPOLOGIES["node"], value=where)
