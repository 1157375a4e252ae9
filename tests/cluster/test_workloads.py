"""Objects that are looked up by name."""

from typing import Any

import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.model import (
    Namespace,
    ObjectMeta,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

NAMESPACED = {
    "services": Service,
    "replication_controllers": ReplicationController,
    "replica_sets": ReplicaSet,
    "stateful_sets": StatefulSet,
    "disruption_budgets": PodDisruptionBudget,
}
CLUSTER_WIDE = {"priority_classes": PriorityClass, "namespaces": Namespace}


@pytest.mark.parametrize(("attribute", "kind"), NAMESPACED.items(), ids=NAMESPACED.keys())
def test_namespaced_objects_come_change_and_go(attribute: str, kind: type[Any]) -> None:
    made = Cluster()
    old = kind(metadata=ObjectMeta(name="x", namespace="one"))
    new = kind(metadata=ObjectMeta(name="x", namespace="one", labels={"new": "yes"}))
    elsewhere = kind(metadata=ObjectMeta(name="x", namespace="two"))
    for event in (Event(Verb.ADDED, old), Event(Verb.ADDED, elsewhere), Event(Verb.MODIFIED, new)):
        made.apply(event)
    assert getattr(made.workloads, attribute) == {"one": {"x": new}, "two": {"x": elsewhere}}
    made.apply(Event(Verb.DELETED, new))
    made.apply(Event(Verb.DELETED, new))
    assert [one for names in getattr(made.workloads, attribute).values() for one in names.values()] == [elsewhere]


@pytest.mark.parametrize(("attribute", "kind"), CLUSTER_WIDE.items(), ids=CLUSTER_WIDE.keys())
def test_cluster_wide_objects_come_change_and_go(attribute: str, kind: type[Any]) -> None:
    made = Cluster()
    new = kind(metadata=ObjectMeta(name="x", labels={"new": "yes"}))
    made.apply(Event(Verb.ADDED, kind(metadata=ObjectMeta(name="x"))))
    made.apply(Event(Verb.MODIFIED, new))
    assert getattr(made.workloads, attribute) == {"x": new}
    made.apply(Event(Verb.DELETED, new))
    assert getattr(made.workloads, attribute) == {}


def test_labels_of_a_namespace_nobody_told_us_about_are_none() -> None:
    made = Cluster()
    assert made.workloads.namespace_labels("x") == {}
    made.apply(Event(Verb.ADDED, Namespace(metadata=ObjectMeta(name="x", labels={"tier": "prod"}))))
    assert made.workloads.namespace_labels("x") == {"tier": "prod"}
