"""The persistent volumes of one storage class as columns, so that a claim is matched against all of them at once.

In: volumes as `Storage` hears of them, and the claims they are bound to (for real, or assumed by VolumeBinding's
reserve). Out: `fitting(claim)`, the free volumes that would do, smallest first; `bound_to(claim)`, those that point
at the claim already; and what a volume's node affinity asks of nodes. What fits is decided as in component-helpers
`storage/volume/pv_helpers.go` v0.36.4; among volumes of one size the first to come is taken.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.interning import Interner
from fairway.cluster.labels import LabelColumn
from fairway.model import (
    MAX_INT64,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    VolumeNodeAffinity,
)
from fairway.model.selector import NodeMatcher, compile_node_selector, compile_selector

STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""Older than the field, and stronger than it."""

NANO = 10**9
COLUMNS = np.dtype(
    [
        ("free", bool),  # phase Available, bound to nobody, not being deleted
        ("units", np.int64),  # capacity: whole bytes
        ("nanos", np.int64),  # and billionths
        ("mode", np.int32),  # volumeMode
        ("attributes", np.int32),  # volumeAttributesClassName
        ("access", np.int64),  # access modes, one bit each
        ("affinity", np.int32),  # into `affinities`; -1: any node
    ]
)


class KeyedVolumes:
    """The volumes whose affinity is one label with certain values, as local disks have: pairs of volume and value.

    Pairs are sorted by value and, within a value, by the size of the volume.
    """

    __slots__ = ("_column_ids", "_known", "_pairs", "slots", "texts", "values")

    def __init__(self) -> None:
        self.texts: Interner[str] = Interner()
        self.slots = np.empty(0, np.intp)  # (num_pairs,)
        self.values = np.empty(0, np.intp)  # (num_pairs,) into texts
        self._pairs: tuple[list[int], list[int]] = ([], [])
        self._known: tuple[object, int, int] = (None, -1, -1)
        self._column_ids = np.empty(0, np.intp)

    def add(self, slot: int, values: tuple[str, ...]) -> None:
        """One more volume; the caller then calls `sort`."""
        for value in values:
            self._pairs[0].append(slot)
            self._pairs[1].append(self.texts.id_of(value))

    def sort(self, ranks: NDArray[np.intp]) -> None:
        """Bring the pairs into order."""
        slots, values = np.array(self._pairs[0], np.intp), np.array(self._pairs[1], np.intp)
        order = np.lexsort((ranks[slots], values))
        self.slots, self.values = slots[order], values[order]

    def column_ids(self, column: LabelColumn) -> NDArray[np.intp]:
        """The ids that the label's column has for `texts`; -1 for values that no node has."""
        known = (column.values, column.values.version, len(self.texts))
        if self._known[0] is not known[0] or self._known[1:] != known[1:]:
            self._known = known
            self._column_ids = np.array([column.values.find(text) for text in self.texts.values], np.intp)
        return self._column_ids


class VolumeColumns:
    """Columns over the volumes of one storage class; a volume keeps its slot until the columns are made anew."""

    def __init__(self) -> None:
        self._bound: dict[str, list[int]] = {}  # claim key -> slots that point at it
        self._refs: dict[int, ObjectReference] = {}
        self._clear()

    def _clear(self) -> None:
        self._words: Interner[str] = Interner()
        self._modes: Interner[str] = Interner()
        self.volumes: list[PersistentVolume | None] = []  # by slot
        self.slot_of: dict[str, int] = {}
        self.columns = np.zeros(16, COLUMNS)  # (capacity,)
        self.affinities: Interner[NodeMatcher] = Interner()
        self._bound.clear()
        self._refs.clear()
        self._keyed: dict[str, KeyedVolumes] = {}
        self._is_keyed: list[bool] = []  # by affinity
        self._is_sorted = True
        self._order = self._ranks = np.empty(0, np.intp)

    def put(self, volume: PersistentVolume, claim_ref: ObjectReference | None) -> None:
        """Write a volume, new or changed, bound to what `claim_ref` says."""
        name, spec = volume.metadata.name, volume.spec
        matcher = affinity_matcher(spec.node_affinity)
        affinity = -1 if matcher is None else self.affinities.id_of(matcher)
        slot = self.slot_of.get(name)
        if slot is not None and self.columns["affinity"][slot] != affinity:
            self.drop(name)
            slot = None
        if slot is None:
            slot = self._new_slot(name, matcher, affinity)
        self._unbind(slot)
        if claim_ref is not None:
            self._refs[slot] = claim_ref
            self._bound.setdefault(f"{claim_ref.namespace}/{claim_ref.name}", []).append(slot)
        units, nanos = _split(spec.capacity.get("storage"))
        before = self.columns[slot]
        self._is_sorted = self._is_sorted and bool(before["units"] == units and before["nanos"] == nanos)
        self.volumes[slot] = volume
        self.columns[slot] = (
            volume.status.phase == "Available" and claim_ref is None and volume.metadata.deletion_timestamp is None,
            units,
            nanos,
            self._words.id_of(spec.volume_mode or "Filesystem"),
            self._words.id_of(spec.volume_attributes_class_name or ""),
            self._bits(spec.access_modes),
            affinity,
        )

    def drop(self, name: str) -> None:
        """A volume is gone. Its slot stays empty; when most are, everything is written anew."""
        slot = self.slot_of.pop(name)
        self._unbind(slot)
        self.columns["free"][slot] = False
        self.volumes[slot] = None
        if len(self.volumes) > 16 and 2 * len(self.slot_of) < len(self.volumes):
            kept = [(volume, self._refs.get(slot)) for slot, volume in enumerate(self.volumes) if volume is not None]
            self._clear()
            for volume, claim_ref in kept:
                self.put(volume, claim_ref)

    def fitting(self, claim: PersistentVolumeClaim) -> NDArray[np.bool_]:
        """By slot: is the volume free, and would it satisfy the claim somewhere?"""
        columns = self.columns[: len(self.volumes)]
        units, nanos = _split(claim.spec.resources.requests.get("storage"))
        access = self._bits(claim.spec.access_modes)
        mask: NDArray[np.bool_] = columns["free"] & (columns["units"] >= units)
        mask &= (columns["units"] > units) | (columns["nanos"] >= nanos)
        mask &= columns["mode"] == self._words.find(claim.spec.volume_mode or "Filesystem")
        mask &= columns["attributes"] == self._words.find(claim.spec.volume_attributes_class_name or "")
        mask &= columns["access"] & access == access
        if claim.spec.selector is not None:
            selector = compile_selector(claim.spec.selector)
            for slot in np.flatnonzero(mask).tolist():
                volume = self.volumes[slot]
                mask[slot] = volume is not None and selector.matches(volume.metadata.labels)
        return mask

    def bound_to(self, claim: PersistentVolumeClaim) -> list[int]:
        """Slots of the volumes that point at the claim and are large enough for it, in the order they came."""
        found = []
        for slot in sorted(self._bound.get(claim.key, ())):
            volume = self.volumes[slot]
            uid = self._refs[slot].uid
            if (
                volume is not None
                and (not uid or uid == claim.metadata.uid)
                and volume.metadata.deletion_timestamp is None
                and _split(volume.spec.capacity.get("storage")) >= _split(claim.spec.resources.requests.get("storage"))
                and (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
                and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
            ):
                found.append(slot)
        return found

    def order(self) -> NDArray[np.intp]:
        """All slots, smallest volume first."""
        self._sort()
        return self._order

    def ranks(self) -> NDArray[np.intp]:
        """By slot: its place in `order`."""
        self._sort()
        return self._ranks

    def keyed(self) -> dict[str, KeyedVolumes]:
        """By label key: the volumes whose affinity is that one label alone."""
        self._sort()
        return self._keyed

    def other_affinities(self, mask: NDArray[np.bool_]) -> dict[int, NDArray[np.intp]]:
        """The affinities (-1: none) that `keyed` does not answer for, each with its slots, smallest volume first."""
        affinities = self.columns["affinity"][: len(self.volumes)]
        others = self.order()[(mask & ~np.array([*self._is_keyed, False])[affinities])[self._order]]
        found = affinities[others]
        return {affinity: others[found == affinity] for affinity in np.unique(found).tolist()}

    def _sort(self) -> None:
        if self._is_sorted:
            return
        columns = self.columns[: len(self.volumes)]
        self._order = np.lexsort((columns["nanos"], columns["units"]))
        self._ranks = np.empty(len(self._order), np.intp)
        self._ranks[self._order] = np.arange(len(self._order))
        for keyed in self._keyed.values():
            keyed.sort(self._ranks)
        self._is_sorted = True

    def _bits(self, modes: tuple[str, ...]) -> int:
        bits = 0
        for mode in modes:
            bits |= 1 << self._modes.id_of(mode)
        return bits

    def _new_slot(self, name: str, matcher: NodeMatcher | None, affinity: int) -> int:
        slot = self.slot_of[name] = len(self.volumes)
        self.volumes.append(None)
        if slot == len(self.columns):
            wider = np.zeros(2 * slot, COLUMNS)
            wider[:slot] = self.columns
            self.columns = wider
        single = _single_label(matcher)
        if affinity == len(self._is_keyed):
            self._is_keyed.append(single is not None)
        if single is not None:
            key, values = single
            self._keyed.setdefault(key, KeyedVolumes()).add(slot, values)
        self._is_sorted = False
        return slot

    def _unbind(self, slot: int) -> None:
        ref = self._refs.pop(slot, None)
        if ref is not None:
            key = f"{ref.namespace}/{ref.name}"
            self._bound[key].remove(slot)
            if not self._bound[key]:
                del self._bound[key]


def volume_class(volume: PersistentVolume) -> str:
    """The storage class of a volume, "" for none."""
    return volume.metadata.annotations.get(STORAGE_CLASS_ANNOTATION, volume.spec.storage_class_name)


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The storage class a claim asks for, "" for none."""
    return claim.metadata.annotations.get(STORAGE_CLASS_ANNOTATION, claim.spec.storage_class_name or "")


def affinity_matcher(affinity: VolumeNodeAffinity | None) -> NodeMatcher | None:
    """What a volume asks of nodes: None if nothing. Only labels are looked at, a node's name is not a label."""
    if affinity is None or affinity.required is None:
        return None
    terms = []
    for term in compile_node_selector(affinity.required).terms:
        if term.problems:
            continue
        if not term.requirements:
            return None
        terms.append(msgspec.structs.replace(term, fields=()))
    return NodeMatcher(tuple(terms))


def _single_label(matcher: NodeMatcher | None) -> tuple[str, tuple[str, ...]] | None:
    if matcher is None or len(matcher.terms) != 1 or len(matcher.terms[0].requirements) != 1:
        return None
    requirement = matcher.terms[0].requirements[0]
    return (requirement.key, requirement.values) if requirement.operator == "In" else None


def _split(quantity: Quantity | None) -> tuple[int, int]:
    """Whole units and billionths, so that exact amounts fit into integer columns."""
    units, nanos = (0, 0) if quantity is None else divmod(quantity.nanos, NANO)
    return min(units, MAX_INT64), nanos
