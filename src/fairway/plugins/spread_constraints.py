"""Topology spread constraints: a pod's own, or the defaults, ready to be counted.

In: a pod and the cluster's services and controllers. Out: `Constraint`s with their selectors compiled, hard
(DoNotSchedule) or soft (ScheduleAnyway), and for each the rows whose pods it counts. PodTopologySpread calls this once
per pod class; its queueing hints call it per waiting pod. Follows plugins/podtopologyspread/common.go and
plugins/helper/spread.go of kube-scheduler 1.36.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.node_selection import (
    has_required_node_affinity,
    required_node_affinity_mask,
    untolerated_mask,
)
from fairway.model import LabelSelector, Pod, PodSpec, Toleration, TopologySpreadConstraint
from fairway.model.selector import Selector, compile_selector, selector_from_labels
from fairway.plugins.topology_domains import Topology

if TYPE_CHECKING:
    from fairway.cluster import Cluster, Counter, Counters
    from fairway.cluster.workloads import Workloads

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
When = Literal["DoNotSchedule", "ScheduleAnyway"]

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)
"""What applies to pods without constraints of their own, unless the configuration lists other defaults."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint with every default filled in."""

    key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_affinity: bool  # only nodes that the pod's node affinity allows count
    honors_taints: bool  # only nodes whose taints the pod tolerates count


def constraints_of(
    pod: Pod, when: When, defaults: Sequence[TopologySpreadConstraint], workloads: Workloads
) -> tuple[Constraint, ...]:
    """The constraints that hold for a pod: its own, or else the defaults with the selector of its owners."""
    own = pod.spec.topology_spread_constraints
    if own:
        return own_constraints(own, pod.metadata.labels, when)
    meant = [constraint for constraint in defaults if constraint.when_unsatisfiable == when]
    if not meant:
        return ()
    selector = default_selector(pod, workloads)
    if selector.is_everything:
        return ()
    return tuple(_compiled(constraint, pod.metadata.labels, selector) for constraint in meant)


def own_constraints(
    own: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], when: When
) -> tuple[Constraint, ...]:
    """Those that a pod with such labels states itself."""
    return tuple(_compiled(constraint, labels) for constraint in own if constraint.when_unsatisfiable == when)


def default_selector(pod: Pod, workloads: Workloads) -> Selector:
    """What the services that select the pod, and the controller that owns it, select; everything if there are none."""
    namespace, labels = pod.metadata.namespace, pod.metadata.labels
    wanted: dict[str, str] = {}
    for service in workloads.services.get(namespace, {}).values():
        if service.spec.selector and service.spec.selector.items() <= labels.items():
            wanted.update(service.spec.selector)
    owner = pod.metadata.controller
    if owner is None:
        return selector_from_labels(wanted)
    further: LabelSelector | None = None
    match owner.api_version, owner.kind:
        case "v1", "ReplicationController":
            controller = workloads.replication_controllers.get(namespace, {}).get(owner.name)
            wanted.update({} if controller is None else controller.spec.selector)
        case "apps/v1", "ReplicaSet":
            replica_set = workloads.replica_sets.get(namespace, {}).get(owner.name)
            further = None if replica_set is None else replica_set.spec.selector
        case "apps/v1", "StatefulSet":
            stateful_set = workloads.stateful_sets.get(namespace, {}).get(owner.name)
            further = None if stateful_set is None else stateful_set.spec.selector
    selector = selector_from_labels(wanted)
    try:
        return _both(selector, compile_selector(further)) if further is not None else selector
    except ValueError:  # a controller whose selector can not be read adds nothing
        return selector


def matching_pods(counters: Counters, namespace: str, selector: Selector) -> Counter | None:
    """Counts the pods a selector means; None for a selector that counts none: the empty one does not either."""
    if selector.is_everything or selector.is_nothing:
        return None
    return counters.of_labels(((frozenset((namespace,)), selector),), skip_terminating=True)


class Ground:
    """What counting stands on, per constraint: the topology, and where in it the pods of each row count."""

    __slots__ = ("domains", "topologies")

    def __init__(
        self,
        cluster: Cluster,
        spec: PodSpec,
        constraints: Sequence[Constraint],
        topologies: Sequence[Topology],
        needs_all_keys: bool,
        borne: tuple[Toleration, ...] = (),
    ) -> None:
        """`needs_all_keys`: nodes that lack the key of one constraint do not count for the others either.

        `borne`: tolerations that every pod has.
        """
        self.topologies = topologies
        everywhere = slice(0, cluster.nodes.num_rows)
        keyed = allowed = tolerated = None
        if needs_all_keys and len({topology.key for topology in topologies}) > 1:
            keyed = labelled_by_all(topologies)
        if has_required_node_affinity(spec) and any(constraint.honors_affinity for constraint in constraints):
            allowed = required_node_affinity_mask(cluster, spec, everywhere)
        if any(constraint.honors_taints for constraint in constraints):
            tolerated = ~untolerated_mask(cluster, (*spec.tolerations, *borne), everywhere)
        self.domains: list[NDArray[np.intp]] = []  # each (num_rows,)
        for constraint, topology in zip(constraints, topologies, strict=True):
            domains = topology.domains if needs_all_keys else topology.domains_with_blank()
            counted = _all_of(
                (
                    keyed,
                    allowed if constraint.honors_affinity else None,
                    tolerated if constraint.honors_taints else None,
                )
            )
            if counted is not None and not topology.is_nowhere:
                domains = np.where(counted, domains, topology.absent)
            self.domains.append(domains)

    def is_like(self, other: Ground) -> bool:
        """Would the same counts come of it?"""
        return all(map(operator.is_, self.topologies, other.topologies)) and all(
            one is two or np.array_equal(one, two) for one, two in zip(self.domains, other.domains, strict=True)
        )


def labelled_by_all(topologies: Sequence[Topology]) -> NDArray[np.bool_]:
    """Rows that have the labels of all topologies."""
    nowhere = next((topology for topology in topologies if topology.is_nowhere), None)
    if nowhere is not None:
        return nowhere.labelled()
    mask = topologies[0].labelled()
    for topology in topologies[1:]:
        mask &= topology.labelled()
    return mask


def _all_of(masks: Iterable[NDArray[np.bool_] | None]) -> NDArray[np.bool_] | None:
    given = [mask for mask in masks if mask is not None]
    return np.logical_and.reduce(given) if given else None


def _compiled(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str], selector: Selector | None = None
) -> Constraint:
    if selector is None:
        selector = compile_selector(constraint.label_selector)
        shared = {key: labels[key] for key in constraint.match_label_keys if key in labels}
        if shared and not selector.is_nothing:
            selector = _both(selector_from_labels(shared), selector)
    return Constraint(
        key=constraint.topology_key,
        max_skew=constraint.max_skew,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        selector=selector,
        honors_affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _both(one: Selector, other: Selector) -> Selector:
    return Selector(tuple(sorted({*one.requirements, *other.requirements})))
