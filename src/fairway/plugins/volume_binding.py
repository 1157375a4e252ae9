"""VolumeBinding: a pod goes where its volumes are, or can be found, or can be made.

Claims that are bound must have their volume within reach of the node. Claims that wait for their first consumer must
find a free volume there, or a storage class that can make one there and has room for it. What is decided for such
claims on the chosen node is remembered by `reserve`, so that the next pod does not count on the same volume; before the
pod is bound it is written, and waited for (`volume_preparation`). Matching itself is in `volume_matching`. Matches
kube-scheduler 1.36.4 `volumebinding/volume_binding.go` and `binder.go`; capacity scoring is off there by default, so
this plugin has no scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.cluster.node_selection import matcher_mask
from fairway.cluster.volumes.storage import Reservation
from fairway.cluster.volumes.volume_columns import claim_class
from fairway.cluster.volumes.volume_use import claim_name
from fairway.model import Pod
from fairway.model.selector import NodeMatcher
from fairway.plugin import (
    SKIP,
    Aspect,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Preparation,
    Refusal,
    Refused,
    Relaxation,
)
from fairway.plugins.fewer_volumes import fewer_volumes
from fairway.plugins.pod_claims import PodClaims, claim_problem, sort_claims
from fairway.plugins.unprepared import Unprepared
from fairway.plugins.volume_binding_args import VolumeBindingArgs
from fairway.plugins.volume_hints import VOLUME_HINTS
from fairway.plugins.volume_matching import allowed_mask, capacity_mask, match_claims
from fairway.plugins.volume_preparation import prepare_volumes
from fairway.plugins.volume_stock import NO_VOLUME

if TYPE_CHECKING:
    from numpy.typing import NDArray

REASONS = (
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
)
NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING = (1 << bit for bit in range(len(REASONS)))


@dataclass(frozen=True, slots=True)
class Findings:
    """What the rows asked about have to offer."""

    conflicts: NDArray[np.uint8]  # (num_rows,) bits, one for each of REASONS
    problems: dict[int, str]  # by position among the rows: what is broken there
    slots: Sequence[NDArray[np.intp]]  # by unbound claim its volume on each row, NO_VOLUME: make one


class VolumeBinding(Plugin):
    """Refuses nodes that the pod's volumes can not reach; decides what unbound claims get."""

    annotations = ()
    Args = VolumeBindingArgs
    reads = Aspect.NODE | Aspect.STORAGE
    acts = frozenset({"preScore", "score"})

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        if not pod.claims:
            return SKIP
        for volume in pod.spec.volumes:
            name = claim_name(pod.pod, volume)
            problem = (
                None
                if name is None
                else claim_problem(self.cluster.storage, pod.pod, name, volume.ephemeral is not None)
            )
            if problem is not None:
                return Refusal((problem,), Code.UNRESOLVABLE)
        claims = sort_claims(self.cluster.storage, pod)
        pod.kept[self] = (self.cluster.versions.of(Aspect.STORAGE), claims)
        return claims

    def filter(self, pod: PodClass, nodes: Nodes, state: PodClaims) -> NDArray[np.bool_]:
        findings = self._look(nodes, state)
        fits: NDArray[np.bool_] = findings.conflicts == 0
        fits[list(findings.problems)] = False
        return fits

    def explain(self, pod: PodClass, nodes: Nodes, state: PodClaims) -> Sequence[Refusal]:
        findings = self._look(nodes, state)
        return [
            Refusal((findings.problems[position],), Code.ERROR)
            if position in findings.problems
            else _conflict_refusal(conflicts)
            for position, conflicts in enumerate(findings.conflicts.tolist())
        ]

    def may_fail(self, state: PodClaims) -> bool:
        return bool(state.problem) or any(volume is not None and volume.problem for volume in state.bound)

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        if not pod_class.claims:
            return None
        version, state = pod_class.kept.get(self, (-1, None))
        if version != self.cluster.versions.of(Aspect.STORAGE):
            state = self.pre_filter(pod_class, Nodes(self.cluster))
        if not isinstance(state, PodClaims):
            return state if isinstance(state, Refusal) else None
        nodes = Nodes(self.cluster, np.array([row], np.intp))
        slots = self._look(nodes, state).slots
        storage = self.cluster.storage
        bindings = []
        provisions = [claim.key for claim, _ in state.selected]
        for claim, found in zip(state.unbound, slots, strict=True):
            slot = int(found[0])
            volume = None if slot == NO_VOLUME else storage.by_class[claim_class(claim)].volumes[slot]
            if volume is None:
                provisions.append(claim.key)
            else:
                bindings.append((claim.key, volume.metadata.name))
        storage.reserve(pod.metadata.uid, Reservation(nodes.names[0], tuple(bindings), tuple(provisions)))
        return None

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        self.cluster.storage.forget(pod.metadata.uid)

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its pre-filter it fails; without its filter it found no volumes, so there is nothing to reserve."""
        if point == "reserve" and missing == "filter":
            return Plugin(self.cluster)
        return Unprepared(self, "not found") if point in ("filter", "reserve") else self

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each volume left out in turn."""
        return fewer_volumes(pod)

    def events(self) -> Sequence[Hint]:
        return VOLUME_HINTS

    def pre_bind(self, pod: Pod, pod_class: PodClass, row: int) -> Preparation | Refusal | None:
        if not pod_class.claims:
            return None
        args = self.args or VolumeBindingArgs()
        return prepare_volumes(self.cluster, pod, self.cluster.nodes.names[row], args.bind_timeout_seconds)

    # -- the nodes ---------------------------------------------------------------------------------------------------

    def _look(self, nodes: Nodes, claims: PodClaims) -> Findings:
        conflicts = np.zeros(len(nodes), np.uint8)
        problems: dict[int, str] = {}
        self._look_for_bound(nodes, claims, conflicts, problems)
        slots = [np.full(len(nodes), NO_VOLUME, np.intp)] * len(claims.unbound)
        if claims.selected or claims.unbound:
            open_rows = np.ones(len(nodes), bool)
            for node in {node for _, node in claims.selected}:
                open_rows &= _row_mask(nodes, node)
            conflicts[~open_rows] |= BIND_CONFLICT
            if claims.problem:
                problems.update((position, claims.problem) for position in np.flatnonzero(open_rows).tolist())
            else:
                slots = match_claims(claims.unbound, nodes)
                self._look_for_room(nodes, claims, slots, open_rows, conflicts)
        return Findings(conflicts, problems, slots)

    def _look_for_bound(
        self, nodes: Nodes, claims: PodClaims, conflicts: NDArray[np.uint8], problems: dict[int, str]
    ) -> None:
        """Bound volumes are tried in order; the first that is missing, broken or out of reach decides."""
        open_rows = np.ones(len(nodes), bool)
        for volume in claims.bound:
            if volume is None:
                conflicts[open_rows] |= VOLUME_MISSING
                return
            reached = self._matcher_mask(nodes, volume.matcher)
            if volume.migrated_nodes:
                migrated = np.array([name in volume.migrated_nodes for name in nodes.names], bool)
                if volume.problem:
                    problems.update((at, volume.problem) for at in np.flatnonzero(open_rows & migrated).tolist())
                    open_rows &= ~migrated
                reached = np.where(migrated, self._matcher_mask(nodes, volume.migrated_matcher), reached)
            conflicts[open_rows & ~reached] |= NODE_CONFLICT
            open_rows &= reached

    def _look_for_room(
        self,
        nodes: Nodes,
        claims: PodClaims,
        slots: Sequence[NDArray[np.intp]],
        open_rows: NDArray[np.bool_],
        conflicts: NDArray[np.uint8],
    ) -> None:
        """Claims without a volume need one made; again the first that can not be helped decides."""
        wanting = [(claim, open_rows) for claim, _ in claims.selected]
        wanting += [(claim, found == NO_VOLUME) for claim, found in zip(claims.unbound, slots, strict=True)]
        for claim, wanted in wanting:
            rows = wanted & open_rows
            if not rows.any():
                continue
            storage_class = self.cluster.storage.classes[claim_class(claim)]
            refused = rows & ~allowed_mask(storage_class, nodes)
            conflicts[refused] |= BIND_CONFLICT
            open_rows = open_rows & ~refused
            room = capacity_mask(claim, storage_class, nodes)
            if room is not None:
                full = rows & ~refused & ~room
                conflicts[full] |= NOT_ENOUGH_SPACE
                open_rows = open_rows & ~full

    def _matcher_mask(self, nodes: Nodes, matcher: NodeMatcher | None) -> NDArray[np.bool_]:
        return np.ones(len(nodes), bool) if matcher is None else matcher_mask(self.cluster, matcher, nodes.rows)


def _row_mask(nodes: Nodes, name: str) -> NDArray[np.bool_]:
    mask = np.zeros(nodes.table.num_rows, bool)
    if (row := nodes.table.row_of.get(name)) is not None:
        mask[row] = True
    return mask[nodes.rows]


def _conflict_refusal(conflicts: int) -> Refusal:
    reasons = tuple(reason for bit, reason in enumerate(REASONS) if conflicts >> bit & 1)
    return Refusal(reasons, Code.UNRESOLVABLE)
