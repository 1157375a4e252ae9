"""Objects that own or select pods, and budgets that protect them: looked up by name, never turned into arrays.

In: services, replication controllers, replica sets, stateful sets, disruption budgets, priority classes, namespaces
from `Cluster.apply`. Out: dictionaries by namespace and name, for default topology spreading, preemption and affinity
terms with namespace selectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from fairway.cluster.aspects import Aspect, Versions
from fairway.cluster.events import Change, Resource
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
WORKLOAD_KINDS: Final = (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
T = TypeVar("T", Service, ReplicationController, ReplicaSet, StatefulSet, PodDisruptionBudget)

NO_LABELS: Mapping[str, str] = {}


class Workloads:
    """By namespace, then name; cluster-wide kinds by name."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
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

    def apply(self, item: Namespace | PriorityClass | PodDisruptionBudget | Workload, gone: bool) -> list[Change]:
        """Take in one of `WORKLOAD_KINDS`; returns what it may mean to waiting pods."""
        match item:
            case Namespace():
                before = self.namespaces.pop(item.metadata.name, None)
                if not gone:
                    self.namespaces[item.metadata.name] = item
                self._versions.bump(Aspect.NAMESPACES)
                return [Change.of(Resource.NAMESPACE, before, item, gone)]
            case PriorityClass():
                self.priority_classes.pop(item.metadata.name, None)
                if not gone:
                    self.priority_classes[item.metadata.name] = item
                return []
            case PodDisruptionBudget():
                self.put(item, gone)
                return []
        self._versions.bump(Aspect.WORKLOADS)
        return [Change.of(Resource.OTHER, self.put(item, gone), item, gone)]

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
