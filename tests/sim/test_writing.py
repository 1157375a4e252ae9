"""Writes of plugins on the simulated API server: what a kube-apiserver would make of them."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.cluster import Event
from fairway.model import to_builtins
from fairway.model.writes import Create, Patch, Write, patch_of
from fairway.sim.api_server import ApiError, ApiServer, ConflictError, NotFoundError
from fairway.sim.timeline import Timeline
from fairway.sim.writing import carry_out
from fairway.testing import node, pod


def server() -> tuple[ApiServer, list[Event]]:
    api = ApiServer(Timeline())
    for thing in (node("a", labels={"zone": "z"}), pod("p", annotations={"x": "1"})):
        api.create(thing)
    events: list[Event] = []
    api.watch(events.append)
    return api, events


def test_a_patch_changes_what_it_names_and_everybody_hears_of_it() -> None:
    api, events = server()
    before: Any = api.find("Pod", "default", "p")
    version = carry_out(api, Patch("Pod", "p", {"metadata": {"annotations": {"x": None, "y": "2"}}}, "default"))
    after: Any = api.find("Pod", "default", "p")
    assert after.metadata.annotations == {"y": "2"}
    assert int(after.metadata.resource_version) == version
    assert after.spec == before.spec
    assert [event.object for event in events] == [after]


def test_a_patch_that_changes_nothing_is_no_event() -> None:
    api, events = server()
    there: Any = api.find("Node", "", "a")
    assert carry_out(api, patch_of(there, {"metadata": {"labels": {"zone": "z"}}})) == int(
        there.metadata.resource_version
    )
    assert events == []


def test_an_object_is_made() -> None:
    api, _ = server()
    carry_out(api, Create(to_builtins(pod("q"))))
    assert api.find("Pod", "default", "q") is not None


@pytest.mark.parametrize(
    ("write", "error", "words"),
    [
        pytest.param(Patch("Pod", "x", {}, "default"), NotFoundError, 'pods "x" not found', id="not there"),
        pytest.param(Patch("Pod", "p", {}, "default", uid="other"), ConflictError, "has been modified", id="another"),
        pytest.param(Patch("Pod", "p", {}, "default", version="99"), ConflictError, "has been modified", id="changed"),
        pytest.param(
            Patch("Pod", "p", {"spec": {"priority": "high"}}, "default"), ApiError, 'Pod "p" is invalid', id="nonsense"
        ),
        pytest.param(Create(to_builtins(pod("p"))), ConflictError, "exists already", id="twice"),
        pytest.param(
            Create({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}),
            ApiError,
            "has no Thing of example.com/v1",
            id="unknown kind",
        ),
    ],
)
def test_what_is_refused(write: Write, error: type[Exception], words: str) -> None:
    api, events = server()
    with pytest.raises(error, match=words):
        carry_out(api, write)
    assert events == []
