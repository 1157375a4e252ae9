"""Which volumes and which nodes go together: the vectorised half of VolumeBinding.

In: claims and rows. Out: per claim and row the volume it would be bound to there (`match_claims`), and the rows on
which a volume could be made for it (`allowed_mask`, `capacity_mask`). A claim takes the volume that already points at
it, else the smallest free one whose node affinity the node meets and that no earlier claim of the pod took
(`volume_stock`). Matches component-helpers v0.36.4 `storage/volume/pv_helpers.go` and kube-scheduler 1.36.4
`volumebinding/binder.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairway.cluster.node_selection import matcher_mask, requirements_mask
from fairway.cluster.volumes.volume_columns import claim_class
from fairway.model import (
    CSIStorageCapacity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolumeClaim,
    Quantity,
    StorageClass,
)
from fairway.model.selector import compile_node_selector, compile_selector
from fairway.plugin import Cluster, Nodes
from fairway.plugins.volume_stock import NO_VOLUME, Stock

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")
"""Provisioners of classes whose volumes people make by hand."""


def match_claims(claims: Sequence[PersistentVolumeClaim], nodes: Nodes) -> list[NDArray[np.intp]]:
    """For each claim, in this order, by row: the slot of its volume among those of its class, or NO_VOLUME."""
    by_class: dict[str, list[PersistentVolumeClaim]] = {}
    for claim in claims:
        by_class.setdefault(claim_class(claim), []).append(claim)
    known = nodes.cluster.storage.by_class
    stocks = {name: Stock(known[name], nodes, some) for name, some in by_class.items() if name in known}
    nothing = np.full(len(nodes), NO_VOLUME, np.intp)
    return [stocks[name].take(claim) if (name := claim_class(claim)) in stocks else nothing for claim in claims]


# -- volumes that are yet to be made -----------------------------------------------------------------------------------


def allowed_mask(storage_class: StorageClass, nodes: Nodes) -> NDArray[np.bool_]:
    """Rows where the class makes volumes at all."""
    if storage_class.provisioner in NO_PROVISIONER:
        return np.zeros(len(nodes), bool)
    if not storage_class.allowed_topologies:
        return np.ones(len(nodes), bool)
    terms = tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement(key=line.key, operator="In", values=line.values)
                for line in term.match_label_expressions
            )
        )
        for term in storage_class.allowed_topologies
    )
    matcher = compile_node_selector(NodeSelector(node_selector_terms=terms))
    return matcher_mask(nodes.cluster, matcher, nodes.rows)


def capacity_mask(claim: PersistentVolumeClaim, storage_class: StorageClass, nodes: Nodes) -> NDArray[np.bool_] | None:
    """Rows where the driver has room for a volume of that size; None if nobody keeps count."""
    storage = nodes.cluster.storage
    size = claim.spec.resources.requests.get("storage")
    driver = storage.drivers.get(storage_class.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return None
    mask = np.zeros(len(nodes), bool)
    for capacity in storage.capacities.values():
        limit = volume_size_limit(capacity)
        if (
            capacity.storage_class_name == storage_class.metadata.name
            and limit is not None
            and limit.value >= size.value
        ):
            mask |= _reach(nodes.cluster, capacity, nodes)
    return mask


def volume_size_limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """The largest volume that fits into it."""
    return capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity


def _reach(cluster: Cluster, capacity: CSIStorageCapacity, nodes: Nodes) -> NDArray[np.bool_]:
    try:
        selector = compile_selector(capacity.node_topology)
    except ValueError:  # reaches no node, as in kube-scheduler
        return np.zeros(len(nodes), bool)
    if selector.is_nothing:
        return np.zeros(len(nodes), bool)
    mask = requirements_mask(cluster, selector.requirements, nodes.rows)
    return np.ones(len(nodes), bool) if mask is None else mask
