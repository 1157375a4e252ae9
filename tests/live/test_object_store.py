"""What is news, and what is not."""

from __future__ import annotations

import pytest

from fairway.live.watches.object_store import ObjectStore
from fairway.model import ApiObject, Node, ObjectMeta


def node(name: str, version: str, uid: str = "u") -> Node:
    return Node(metadata=ObjectMeta(name=name, uid=f"{name}-{uid}", resource_version=version))


Step = tuple[str, ApiObject]
CASES: dict[str, tuple[list[Step], list[str]]] = {
    "the same again": ([("put", node("a", "1")), ("put", node("a", "1"))], ["ADDED 1"]),
    "older": ([("put", node("a", "2")), ("put", node("a", "1"))], ["ADDED 2"]),
    "newer": ([("put", node("a", "9")), ("put", node("a", "10"))], ["ADDED 9", "MODIFIED 10"]),
    "another one of that name": (
        [("put", node("a", "1")), ("put", node("a", "2", "other"))],
        ["ADDED 1", "DELETED 1", "ADDED 2"],
    ),
    "deleted twice": (
        [("put", node("a", "1")), ("remove", node("a", "2")), ("remove", node("a", "2"))],
        ["ADDED 1", "DELETED 2"],
    ),
    "a deletion of the one before": (
        [("put", node("a", "5", "new")), ("remove", node("a", "4"))],
        ["ADDED 5"],
    ),
    "read as gone, then told of again": (
        [("put", node("a", "1")), ("gone", node("a", "1")), ("put", node("a", "2")), ("remove", node("a", "3"))],
        ["ADDED 1", "DELETED 1"],
    ),
    "read as gone, by somebody with an older copy": (
        [("put", node("a", "1")), ("put", node("a", "2")), ("gone", node("a", "1")), ("remove", node("a", "3"))],
        ["ADDED 1", "MODIFIED 2", "DELETED 2"],
    ),
    "read as gone after it was deleted": (
        [("put", node("a", "1")), ("remove", node("a", "2")), ("gone", node("a", "1"))],
        ["ADDED 1", "DELETED 2"],
    ),
    "versions that are no numbers": ([("put", node("a", "x")), ("put", node("a", "y"))], ["ADDED x", "MODIFIED y"]),
}


@pytest.mark.parametrize(("steps", "words"), CASES.values(), ids=list(CASES))
def test_only_news_comes_out(steps: list[Step], words: list[str]) -> None:
    store = ObjectStore()
    heard = []
    for what, thing in steps:
        events = store.put(thing) if what == "put" else store.remove(thing, is_final=what == "remove")
        heard += [f"{event.verb.value} {event.object.metadata.resource_version}" for event in events]
    assert heard == words


def test_a_list_replaces_what_is_not_newer() -> None:
    store = ObjectStore()
    for thing in (node("kept", "5"), node("gone", "5"), node("new", "9")):
        store.put(thing)
    events = store.replace([node("kept", "5"), node("listed", "6")], "7")
    assert [(event.verb.value, event.object.metadata.name) for event in events] == [
        ("ADDED", "listed"),
        ("DELETED", "gone"),
    ]
    assert sorted(thing.metadata.name for thing in store) == ["kept", "listed", "new"]
