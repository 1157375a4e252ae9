"""Objects that own or select pods, and budgets that protect them: looked up by name, never turned into arrays.

In: services, replication controllers, replica sets, stateful sets, disruption budgets, priority classes, namespaces
from `Cluster.apply`. Out: dictionaries by namespace and name, for default topology spreading, preemption and affinity
terms with namespace selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fairway.model import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

Workload = Service | ReplicationController | ReplicaSet | StatefulSet
T = TypeVar("T", Service, ReplicationController, ReplicaSet, StatefulSet, PodDisruptionBudget)

NO_LABELS: Mapping[str, str] = {}


class Workloads:
    """By namespace, then name; cluster-wide kinds by name."""

    def __init__(self) -> None:
        self.services: dict[str, dict[str, Service]] = {}
        self.replication_controllers: dict[str, dict[str, ReplicationController]] = {}
        self.replica_sets: dict[str, dict[str, ReplicaSet]] = {}
        self.stateful_sets: dict[str, dict[str, StatefulSet]] = {}
        self.disruption_budgets: dict[str, dict[str, PodDisruptionBudget]] = {}
        self.priority_classes: dict[str, PriorityClass] = {}
        self.namespaces: dict[str, Namespace] = {}

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; none if nobody told us about it."""
        namespace = self.namespaces.get(name)
        return NO_LABELS if namespace is None else namespace.metadata.labels

    def put(self, item: Workload | PodDisruptionBudget, gone: bool) -> Workload | PodDisruptionBudget | None:
        """Store or drop a namespaced object; returns what was there before."""
        match item:
            case Service():
                return _put(self.services, item, gone)
            case ReplicationController():
                return _put(self.replication_controllers, item, gone)
            case ReplicaSet():
                return _put(self.replica_sets, item, gone)
            case StatefulSet():
                return _put(self.stateful_sets, item, gone)
        return _put(self.disruption_budgets, item, gone)


def _put(kind: dict[str, dict[str, T]], item: T, gone: bool) -> T | None:
    namespace = item.metadata.namespace
    names = kind.setdefault(namespace, {})
    before = names.pop(item.metadata.name, None)
    if not gone:
        names[item.metadata.name] = item
    elif not names:
        del kind[namespace]
    return before
