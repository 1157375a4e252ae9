"""Resizes: whatever the spec and the status of a pod say about its resources, and however that changes.

A pod counts on its node with what it asks for, has got and was promised; when that becomes less, and only then, pods
that wait for room are tried again. Here the rules are told once more, the slow way, for one resource at a time.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Verb
from fairway.model import Pod, convert, pod_requests
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.testing import node, pod

Json = dict[str, Any]

RESOURCES = ("cpu", "memory", "example.com/gpu")
NODE = node("here", cpu=64, memory="64Gi", resources={"example.com/gpu": 64})

amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 3).map(str), max_size=3)
of_whole_pods = st.dictionaries(st.sampled_from(RESOURCES[:2]), st.integers(0, 3).map(str), max_size=2)
requirements = st.builds(lambda requests: {"requests": requests}, amounts)
pending = st.sampled_from([None, "", "Infeasible", "Deferred"])


@st.composite
def statuses(draw: st.DrawFn, names: list[str]) -> list[Json]:
    """What some of the containers have got."""
    found = []
    for name in names:
        if draw(st.booleans()):
            status: Json = {"name": name, "ready": draw(st.booleans()), "allocatedResources": draw(amounts)}
            if draw(st.booleans()):
                status["resources"] = draw(requirements)
            found.append(status)
    return found


@st.composite
def versions(draw: st.DrawFn) -> Json:
    """A placed pod, as the API would write it."""
    reason = draw(pending)
    conditions = [{"type": "Ready", "status": "True"}]
    if reason is not None:
        conditions.insert(draw(st.integers(0, 1)), {"type": "PodResizePending", "status": "True", "reason": reason})
    spec: Json = {
        "nodeName": "here",
        "containers": [{"name": name, "resources": draw(requirements)} for name in "ab"],
        "initContainers": [
            {"name": "first", "resources": draw(requirements)},
            {"name": "side", "resources": draw(requirements), "restartPolicy": "Always"},
        ],
    }
    status: Json = {
        "conditions": conditions,
        "containerStatuses": draw(statuses(["a", "b"])),
        "initContainerStatuses": draw(statuses(["first", "side"])),
    }
    if draw(st.booleans()):
        spec["resources"] = {"requests": draw(of_whole_pods)}
    if draw(st.booleans()):
        status["resources"] = {"requests": draw(of_whole_pods)}
        status["allocatedResources"] = draw(of_whole_pods)
    return {"metadata": {"name": "other", "namespace": "default", "uid": "1"}, "spec": spec, "status": status}


@st.composite
def updates(draw: st.DrawFn) -> tuple[Json, Json]:
    """Two versions, as often as not different in one thing only."""
    old, other = draw(versions()), draw(versions())
    if draw(st.booleans()):
        return old, other
    part = draw(st.sampled_from(["spec", "status"]))
    field = draw(st.sampled_from(sorted(other[part])))
    return old, {**old, part: {**old[part], field: other[part][field]}}


def naive(thing: Json, resource: str) -> int | None:
    """How much of a resource the pod takes; None if it says nothing about it."""
    spec, status = thing["spec"], thing["status"]
    is_infeasible = any(
        each["type"] == "PodResizePending" and each["reason"] == "Infeasible" for each in status["conditions"]
    )

    def most(*said: str | None) -> int | None:
        return max((int(each) for each in said if each is not None), default=None)

    def effective(asked: Json, reported: Json | None) -> int | None:
        wish = asked["requests"].get(resource)
        if reported is None or "resources" not in reported:
            return most(wish)
        got = reported["resources"]["requests"].get(resource)
        return most(None if is_infeasible else wish, got, reported.get("allocatedResources", {}).get(resource))

    reported = {each["name"]: each for each in status["containerStatuses"] + status["initContainerStatuses"]}
    first, side = spec["initContainers"]
    beside = effective(side["resources"], reported.get("side"))
    parts = [effective(each["resources"], reported.get(each["name"])) for each in spec["containers"]] + [beside]
    known = [part for part in parts if part is not None]
    before = most(first["resources"]["requests"].get(resource))
    together = [sum(known)] if known else []
    total = max(together + ([before] if before is not None else []), default=None)
    whole = spec.get("resources", {}).get("requests", {})
    if resource in whole:
        total = effective(spec["resources"], status if "resources" in status else None) or 0
    return total


def taken(thing: Json) -> dict[str, int]:
    found = {resource: naive(thing, resource) for resource in RESOURCES}
    return {name: amount * (1000 if name == "cpu" else 1) for name, amount in found.items() if amount is not None}


@given(updates(), st.sets(st.sampled_from(RESOURCES)))
@settings(max_examples=300)
def test_less_on_a_node_is_news_to_those_who_wait_for_it(update: tuple[Json, Json], wanted: set[str]) -> None:
    old, new = (convert(version, Pod) for version in update)
    before, after = (taken(version) for version in update)
    assert (pod_requests(old), pod_requests(new)) == (before, after)

    cluster = Cluster()
    cluster.load([NODE, old])
    changes = cluster.apply(Event(Verb.MODIFIED, new))
    table, row = cluster.nodes, cluster.nodes.row_of["here"]
    assert {name: table.requested[row, table.resource_column(name)] for name in RESOURCES} == {
        name: after.get(name, 0) for name in RESOURCES
    }

    waiting = pod("waiting", requests=dict.fromkeys(wanted, "1"))
    hints = NodeResourcesFit(cluster).events()
    is_tried = any(
        hint.event.covers(change.event) and (hint.helps is None or hint.helps(waiting, change))
        for change in changes
        for hint in hints
    )
    assert is_tried == any(before.get(name, 0) > after.get(name, 0) for name in wanted)
