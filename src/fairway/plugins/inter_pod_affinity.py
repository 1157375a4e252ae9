"""InterPodAffinity: puts pods near pods they want to be with, and away from pods they do not.

Required terms of the incoming pod, and required anti-affinity of running pods that means it, refuse nodes; preferred
terms of both sides score them. Follows plugins/interpodaffinity/plugin.go of kube-scheduler 1.36; counting is in
`affinity_filter` and `affinity_scoring`, which pods a term means in `affinity_terms`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Term
from fairway.cluster.terms import Terms, affinity_terms
from fairway.model import Affinity, Pod, PodAffinity, compile_selector
from fairway.model.field_problem import out_of_range
from fairway.model.meta import Int32
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Locality,
    Nodes,
    Plugin,
    PluginArgs,
    PodClass,
    Problem,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Skip,
    with_spec,
)
from fairway.plugins.affinity_filter import RequiredAffinity
from fairway.plugins.affinity_scoring import CarriedTerms, PreferredAffinity, normalized
from fairway.plugins.affinity_terms import Carried, topology_keys
from fairway.plugins.compiled_parts import CompiledParts
from fairway.plugins.topology_domains import Topologies
from fairway.plugins.unprepared import Unprepared

NOT_NEAR: Final = Refusal(("node(s) didn't match pod affinity rules",), Code.UNRESOLVABLE)
NOT_APART: Final = Refusal(("node(s) didn't match pod anti-affinity rules",))
SHUNNED: Final = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",))
WITHOUT_STATE: Final = {
    "filter": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    "score": 'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
}


@dataclass(slots=True)
class ClassAffinity:
    """What is kept for a pod class."""

    required: RequiredAffinity
    preferred: PreferredAffinity
    has_preferences: bool  # preferred terms of its own


class InterPodAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """How much running pods that require the incoming one nearby count in scoring."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        yield from out_of_range("hardPodAffinityWeight", self.hard_pod_affinity_weight, 0, 100)


class InterPodAffinity(Plugin):
    """Affinity and anti-affinity between pods."""

    annotations = ()
    Args = InterPodAffinityArgs
    args: InterPodAffinityArgs
    locality: ClassVar[Locality] = Locality.CLUSTER
    reads: ClassVar[Aspect] = Aspect.NODE | Aspect.PODS | Aspect.NAMESPACES
    normalize: ClassVar[Literal["none", "default", "reverse", "own"]] = "own"

    def __init__(self, cluster: Cluster, args: InterPodAffinityArgs | None = None) -> None:
        super().__init__(cluster, args)
        hard_weight = self.args.hard_pod_affinity_weight
        self._ignores_others = self.args.ignore_preferred_terms_of_existing_pods
        self._topologies = Topologies(cluster)
        self._repelling = Carried(cluster.counters, "anti_required")
        preferences = [
            CarriedTerms(Carried(cluster.counters, "affinity_preferred"), 1),
            CarriedTerms(Carried(cluster.counters, "anti_preferred"), -1),
        ]
        if hard_weight > 0:
            preferences.append(CarriedTerms(Carried(cluster.counters, "affinity_required"), 1, hard_weight))
        self._preferences = tuple(preferences)
        self._required = CompiledParts(_required)  # of pods that wait, and of those that go

    # -- which nodes ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> RequiredAffinity | Skip:
        if self.cluster.counters.terms_version == 0:  # no pod ever had a term, this one included
            return SKIP
        required = self._kept(pod).required
        return required if required.refresh() else SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: RequiredAffinity) -> NDArray[np.bool_]:
        return state.of_rows(nodes.rows)

    def explain(self, pod: PodClass, nodes: Nodes, state: RequiredAffinity) -> Refusal | Sequence[Refusal]:
        near, apart = state.is_near(nodes.rows).tolist(), state.is_apart(nodes.rows).tolist()
        return [
            NOT_NEAR if not is_near else NOT_APART if not is_apart else SHUNNED
            for is_near, is_apart in zip(near, apart, strict=True)
        ]

    def add_pod(self, pod: PodClass, state: RequiredAffinity, other: Pod, other_class: PodClass, row: int) -> None:
        state.suppose(other_class, row, 1)

    def remove_pod(self, pod: PodClass, state: RequiredAffinity, other: Pod, other_class: PodClass, row: int) -> None:
        state.suppose(other_class, row, -1)

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each required term of the pod's own left out in turn."""
        affinity = pod.spec.affinity
        if affinity is None:
            return
        for field, word in (("pod_affinity", "affinity"), ("pod_anti_affinity", "anti-affinity")):
            terms: PodAffinity | None = getattr(affinity, field)
            if terms is None:
                continue
            for place, term in enumerate(terms.required):
                rest = (*terms.required[:place], *terms.required[place + 1 :])
                fewer = msgspec.structs.replace(terms, required_during_scheduling_ignored_during_execution=rest)
                words = f"without {word} to {compile_selector(term.label_selector)} over {term.topology_key}"
                changed = with_spec(pod, affinity=msgspec.structs.replace(affinity, **{field: fewer}))
                yield Relaxation(words, changed, binds_siblings=True)

    # -- which node ----------------------------------------------------------------------------------------------

    def pre_score(self, pod: PodClass, nodes: Nodes) -> PreferredAffinity | Skip:
        if self.cluster.counters.terms_version == 0:
            return SKIP
        kept = self._kept(pod)
        if self._ignores_others and not kept.has_preferences:
            return SKIP
        return kept.preferred if kept.preferred.refresh() else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: PreferredAffinity) -> NDArray[np.int64]:
        return state.of_rows(nodes.rows)

    def normalize_scores(
        self, pod: PodClass, nodes: Nodes, state: PreferredAffinity, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return normalized(scores)

    def _kept(self, pod: PodClass) -> ClassAffinity:
        kept: ClassAffinity | None = pod.kept.get(self)
        if kept is None:
            kept = pod.kept[self] = ClassAffinity(
                RequiredAffinity(self.cluster, self._topologies, self._repelling, pod),
                PreferredAffinity(self.cluster, self._topologies, self._preferences, pod),
                "affinity_preferred" in pod.terms or "anti_preferred" in pod.terms,
            )
        return kept

    # -- waiting -------------------------------------------------------------------------------------------------

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if (point, missing) in (("filter", "preFilter"), ("score", "preScore")):
            return Unprepared(self, WITHOUT_STATE[point])
        return self

    def events(self) -> Sequence[Hint]:
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL
        return (
            Hint(ClusterEvent(Resource.POD, pods), self._pod_helps),
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), self._node_helps),
        )

    def _required_of(self, pod: Pod) -> Required | None:
        affinity = pod.spec.affinity
        return NONE if affinity is None else self._required(affinity, pod.metadata.namespace)

    def _pod_helps(self, pod: Pod, change: Change) -> bool:
        old, new = change.old, change.new
        if old is not None and new is not None and pod.metadata.uid == new.metadata.uid:
            return True
        if any(
            each is not None and not (each.spec.node_name or each.status.nominated_node_name) for each in (old, new)
        ):
            return False
        own = self._required_of(pod)
        if own is None:
            return True
        near, apart = own
        if new is None:
            others = self._required_of(old)
            return others is None or _all_mean(apart, old) or _all_mean(others.apart, pod)
        if old is None:
            return _all_mean(near, new)
        return (not _all_mean(near, old) and _all_mean(near, new)) or (
            _all_mean(apart, old) and not _all_mean(apart, new)
        )

    def _node_helps(self, pod: Pod, change: Change) -> bool:
        own = self._required_of(pod)
        if own is None:
            return True
        near, apart = topology_keys(own.near), topology_keys(own.apart)
        after = change.new.metadata.labels
        if change.old is None:
            return bool(apart) or any(key in after for key in near)
        before = change.old.metadata.labels
        # To be near, a node has to come into a domain; to be apart, it has to leave one.
        return any(key in after and before.get(key) != after[key] for key in near) or any(
            key in before and before[key] != after.get(key) for key in apart
        )


class Required(NamedTuple):
    """The terms that a pod requires, compiled."""

    near: Terms
    apart: Terms


NONE: Final = Required((), ())


def _required(affinity: Affinity, namespace: str) -> Required | None:
    """None if a selector can not be read: the next attempt will say so."""
    try:
        terms = affinity_terms(affinity, namespace)
    except ValueError:
        return None
    return Required(terms.get("affinity_required", ()), terms.get("anti_required", ()))


def _all_mean(terms: Sequence[Term], pod: Pod) -> bool:
    """Is there a term, and do all of them mean this pod?"""
    meta = pod.metadata
    return bool(terms) and all(term.matches(meta.namespace, meta.labels, {}) for term in terms)
