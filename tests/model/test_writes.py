"""Merge patches against a naive restatement, and the paths of kinds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.live.watches.watched_kinds import WATCHED
from fairway.model.writes import Patch, collection_path, merged

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2) | st.lists(st.integers(0, 2), max_size=2),
    lambda inner: st.dictionaries(st.text("xyz", min_size=1, max_size=1), inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every place of a document, and what is there; "{}" where there are fields."""
    if not isinstance(value, dict):
        return {at: value}
    return {at: "{}"} | {path: there for key, part in value.items() for path, there in paths(part, (*at, key)).items()}


def naive(document: Any, patch: Any) -> dict[tuple[str, ...], Any]:
    """RFC 7386 place by place: each place the patch names is cleared, then set unless it says null."""
    places = paths(document)
    for path, there in paths(patch).items():
        keeps = there == "{}" and places.get(path) == "{}"
        if not keeps:
            places = {place: value for place, value in places.items() if place[: len(path)] != path}
        if there is not None or not path:
            places[path] = there
    return places


@given(VALUES, VALUES)
def test_a_merge_patch(document: Any, patch: Any) -> None:
    assert paths(merged(document, patch)) == naive(document, patch)


def test_a_patch_is_sent_with_its_conditions() -> None:
    patch = Patch("Node", "a", {"metadata": {"labels": {"x": "y"}}, "spec": {}}, uid="u", version="7")
    assert patch.document() == {"metadata": {"labels": {"x": "y"}, "uid": "u", "resourceVersion": "7"}, "spec": {}}
    assert Patch("Node", "a", {"spec": {}}).document() == {"spec": {}}


@pytest.mark.parametrize("watched", WATCHED, ids=lambda watched: watched.kind.__name__)
def test_kinds_are_written_where_they_are_watched(watched: Any) -> None:
    thing = watched.kind()
    assert collection_path(thing.api_version, thing.kind) == watched.path


def test_objects_of_a_namespace_are_below_it() -> None:
    assert collection_path("v1", "Pod", "ns") == "/api/v1/namespaces/ns/pods"
    assert collection_path("example.com/v1", "Policy", "ns") == "/apis/example.com/v1/namespaces/ns/policies"
