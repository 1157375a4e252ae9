"""Which events a registered event covers."""

import pytest

from fairway.cluster import Action, ClusterEvent, Resource

DELETED = Action.DELETE


@pytest.mark.parametrize(
    ("registered", "happened", "covered"),
    [
        ((Resource.NODE, Action.ADD), (Resource.NODE, Action.ADD), True),
        ((Resource.NODE, Action.ADD), (Resource.NODE, DELETED), False),
        ((Resource.NODE, Action.ADD), (Resource.POD, Action.ADD), False),
        ((Resource.NODE, Action.ADD | DELETED), (Resource.NODE, DELETED), True),
        ((Resource.NODE, Action.UPDATE), (Resource.NODE, Action.UPDATE_NODE_TAINT), True),
        ((Resource.NODE, Action.UPDATE_NODE_TAINT), (Resource.NODE, Action.UPDATE_NODE_LABEL), False),
        ((Resource.POD, Action.UPDATE_POD_LABEL), (Resource.ASSIGNED_POD, Action.UPDATE), False),
        ((Resource.POD, DELETED), (Resource.ASSIGNED_POD, DELETED), True),
        ((Resource.POD, DELETED), (Resource.UNSCHEDULED_POD, DELETED), True),
        ((Resource.ASSIGNED_POD, DELETED), (Resource.UNSCHEDULED_POD, DELETED), False),
        ((Resource.ANY, Action.ALL), (Resource.STORAGE_CLASS, Action.ADD), True),
        ((Resource.ANY, Action.ADD), (Resource.NAMESPACE, Action.ADD), True),
        ((Resource.ANY, Action.ADD), (Resource.NAMESPACE, DELETED), False),
    ],
    ids=[
        "the same",
        "another action",
        "another resource",
        "one of two actions",
        "a specific update",
        "another specific update",
        "an unspecific update",
        "an assigned pod is a pod",
        "an unscheduled pod is a pod",
        "assigned is not unscheduled",
        "everything",
        "any resource",
        "any resource, another action",
    ],
)
def test_what_an_event_covers(
    registered: tuple[Resource, Action], happened: tuple[Resource, Action], covered: bool
) -> None:
    assert ClusterEvent(*registered).covers(ClusterEvent(*happened)) is covered


def test_update_is_every_update_and_all_is_everything() -> None:
    updates = [action for action in Action if action.name is not None and action.name.startswith("UPDATE_")]
    assert updates
    assert all(action in Action.UPDATE for action in updates)
    assert Action.ALL == Action.ADD | Action.DELETE | Action.UPDATE
    assert not Action.UPDATE & (Action.ADD | Action.DELETE)
