"""Which volumes and which nodes go together: the vectorised half of VolumeBinding.

In: claims and rows. Out: per claim and row the volume it would be bound to there (`match_claims`), and the rows on
which a volume could be made for it (`allowed_mask`, `capacity_mask`). A claim takes the volume that already points at
it, else the smallest free one whose node affinity the node meets and that no earlier claim of the pod took. Volumes
of local disks, thousands with one label each, are looked up by label value; all other affinities are judged once for
all rows. Matches component-helpers v0.36.4 `storage/volume/pv_helpers.go` and kube-scheduler 1.36.4
`volumebinding/binder.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairway.cluster.node_selection import matcher_mask, requirements_mask
from fairway.cluster.volumes.volume_columns import KeyedVolumes, VolumeColumns, claim_class
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_VOLUME = -1
NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")
"""Provisioners of classes whose volumes people make by hand."""


def match_claims(claims: Sequence[PersistentVolumeClaim], nodes: Nodes) -> NDArray[np.intp]:
    """For each claim, in this order, and each row: the slot of its volume among those of its class, or NO_VOLUME."""
    chosen = np.full((len(claims), len(nodes)), NO_VOLUME, np.intp)  # (num_claims, num_rows)
    for index, claim in enumerate(claims):
        name = claim_class(claim)
        columns = nodes.cluster.storage.by_class.get(name)
        if columns is not None:
            taken = [chosen[earlier] for earlier in range(index) if claim_class(claims[earlier]) == name]
            chosen[index] = _match_claim(claim, columns, nodes, taken)
    return chosen


def _match_claim(
    claim: PersistentVolumeClaim, columns: VolumeColumns, nodes: Nodes, taken: list[NDArray[np.intp]]
) -> NDArray[np.intp]:
    slots = np.full(len(nodes), NO_VOLUME, np.intp)
    open_rows = np.ones(len(nodes), bool)
    for slot in columns.bound_to(claim):
        # Where such a volume is out of reach, no other one will do.
        here = open_rows & ~_is_taken(np.full(len(nodes), slot), taken)
        slots[here & _affinity_mask(columns, int(columns.columns["affinity"][slot]), nodes)] = slot
        open_rows &= ~here
    fitting = columns.fitting(claim)
    if fitting.any() and open_rows.any():
        smallest = _smallest(columns, fitting, nodes, taken)
        slots[open_rows] = smallest[open_rows]
    return slots


def _smallest(
    columns: VolumeColumns, fitting: NDArray[np.bool_], nodes: Nodes, taken: list[NDArray[np.intp]]
) -> NDArray[np.intp]:
    """Per row the slot of the smallest fitting volume within reach, or NO_VOLUME."""
    order, ranks = columns.order(), columns.ranks()
    none = len(order)
    best = np.full(len(nodes), none, np.intp)  # (num_rows,) as ranks, so that the least is the smallest
    for key, keyed in columns.keyed().items():
        slots = _smallest_keyed(nodes, key, keyed, fitting, taken)
        best = np.minimum(best, np.where(slots == NO_VOLUME, none, ranks[slots]))
    for affinity, candidates in columns.other_affinities(fitting).items():
        reached = _affinity_mask(columns, affinity, nodes)
        # No more volumes are taken than there are earlier claims: one of these is free, or they were all there are.
        for slot in candidates[: len(taken) + 1].tolist():
            here = reached & ~_is_taken(np.full(len(nodes), slot), taken)
            best[here] = np.minimum(best[here], ranks[slot])
            reached &= ~here
    return np.append(order, NO_VOLUME)[best]


def _smallest_keyed(
    nodes: Nodes, key: str, keyed: KeyedVolumes, fitting: NDArray[np.bool_], taken: list[NDArray[np.intp]]
) -> NDArray[np.intp]:
    """The same among volumes whose affinity is one label: each row looks its own value up."""
    column = nodes.table.labels.column(key)
    is_fitting = fitting[keyed.slots]
    candidates = np.append(keyed.slots[is_fitting], NO_VOLUME)
    last = len(candidates) - 1
    counts = np.bincount(keyed.values[is_fitting], minlength=len(keyed.texts))
    ends = np.cumsum(counts)
    ids = keyed.column_ids(column)
    spans = np.full((2, len(column.values) + 1), last, np.intp)  # by value id, first and end; the last: no label
    spans[:, ids] = ends - counts, ends
    spans[:, -1] = last
    position, end = spans[:, column.ids[nodes.rows]]
    for _ in taken:
        slots = candidates[np.where(position < end, position, last)]
        position = position + _is_taken(slots, taken)
    return candidates[np.where(position < end, position, last)]


def _is_taken(slots: NDArray[np.intp], taken: list[NDArray[np.intp]]) -> NDArray[np.bool_]:
    mask = np.zeros(len(slots), bool)
    for others in taken:
        mask |= (others == slots) & (slots != NO_VOLUME)
    return mask


def _affinity_mask(columns: VolumeColumns, affinity: int, nodes: Nodes) -> NDArray[np.bool_]:
    if affinity < 0:
        return np.ones(len(nodes), bool)
    return matcher_mask(nodes.cluster, columns.affinities[affinity], nodes.rows)


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
