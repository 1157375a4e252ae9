"""Where a pod wants to be: node selectors and affinity to nodes and to other pods.

Decoded as parts of a pod (`spec.affinity`) or of a persistent volume (`spec.nodeAffinity`). How they match
is in `fairway.model.selector`; what they mean for a placement is up to the plugins.
"""

from __future__ import annotations

from fairway.model.meta import Int32, LabelSelector, Value

__all__ = [
    "Affinity",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PreferredSchedulingTerm",
    "WeightedPodAffinityTerm",
]


class NodeSelectorRequirement(Value, frozen=True, kw_only=True):
    """In, NotIn, Exists, DoesNotExist, Gt or Lt on a node label, or on `metadata.name` in matchFields."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Value, frozen=True, kw_only=True):
    """All requirements must hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Value, frozen=True, kw_only=True):
    """Any one of the terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Value, frozen=True, kw_only=True):
    """A node term that is worth `weight` (1 to 100)."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Value, frozen=True, kw_only=True):
    """Nodes the pod must or would like to run on."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def required(self) -> NodeSelector | None:
        """Short for the long API name."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[PreferredSchedulingTerm, ...]:
        """Short for the long API name."""
        return self.preferred_during_scheduling_ignored_during_execution


class PodAffinityTerm(Value, frozen=True, kw_only=True):
    """The pods meant, and the topology in which to be (or not to be) together with them."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Value, frozen=True, kw_only=True):
    """A pod term that is worth `weight` (1 to 100)."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Value, frozen=True, kw_only=True):
    """Pods to be near."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()

    @property
    def required(self) -> tuple[PodAffinityTerm, ...]:
        """Short for the long API name."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[WeightedPodAffinityTerm, ...]:
        """Short for the long API name."""
        return self.preferred_during_scheduling_ignored_during_execution


class PodAntiAffinity(PodAffinity, frozen=True, kw_only=True):
    """Pods to keep away from."""


class Affinity(Value, frozen=True, kw_only=True):
    """Everything under `spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None
