from __future__ import annotations

import pytest

from fairway.cluster import Action, ClusterEvent, Resource
from fairway.queue.labels import POD_ADDED, POD_DELETED, POD_UPDATED, label


@pytest.mark.parametrize(
    ("resource", "action", "name"),
    [
        (Resource.ASSIGNED_POD, Action.DELETE, "AssignedPodDelete"),
        (Resource.UNSCHEDULED_POD, Action.UPDATE, "UnschedulablePodUpdate"),
        (Resource.UNSCHEDULED_POD, Action.UPDATE_POD_SCALE_DOWN, "UnschedulablePodUpdatePodScaleDown"),
        (Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, "NodeUpdateNodeAllocatable"),
        (Resource.STORAGE_CLASS, Action.ADD, "storage.k8s.io/StorageClassAdd"),
        (Resource.ANY, Action.ALL, "*All"),
    ],
    ids=str,
)
def test_label(resource: Resource, action: Action, name: str) -> None:
    assert label(ClusterEvent(resource, action)) == name


def test_names_of_pod_events() -> None:
    assert (POD_ADDED, POD_UPDATED, POD_DELETED) == (
        "UnschedulablePodAdd",
        "UnschedulablePodUpdate",
        "UnschedulablePodDelete",
    )
