"""What the files of a cluster leave out: priorities, storage classes, and kinds that may make pods nobody counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.explain.workloads.cluster_gaps import complete_cluster
from fairway.kinds.not_counted import NUMBERS, reason_to_count
from fairway.model import ApiObject, Loaded, ObjectMeta, Pod, PriorityClass, Skipped, Source, decode_object

SOURCE = Source("test")
CLASSES = ("", "known", "lost", "gone", "system-node-critical")


def running(number: int, class_name: str, priority: int | None) -> Pod:
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i"}],
        "nodeName": "n",
        "priorityClassName": class_name,
    }
    spec |= {} if priority is None else {"priority": priority}
    thing = decode_object({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec}, "test")
    assert isinstance(thing, Pod)
    return thing


@given(st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from([None, None, 7])), max_size=8))
def test_pods_of_a_class_that_is_not_in_the_files_count_with_priority_0(
    drawn: list[tuple[str, int | None]],
) -> None:
    things: list[ApiObject] = [PriorityClass(metadata=ObjectMeta(name="known"), value=5)]
    things += [running(number, *one) for number, one in enumerate(drawn)]
    notes: list[str] = []
    found = complete_cluster([Loaded(thing, SOURCE) for thing in things], [], notes, is_all=True)
    unknown = [name for name, priority in drawn if priority is None and name in ("lost", "gone")]
    for (name, priority), one in zip(drawn, found[1:], strict=True):
        assert isinstance(one.object, Pod)
        assert one.object.spec.priority == (0 if priority is None and name in ("lost", "gone") else priority)
    assert len(notes) == len(set(unknown))
    for name, note in zip(sorted(set(unknown)), notes, strict=True):
        count = unknown.count(name)
        pods = "1 pod of the cluster counts" if count == 1 else f"{count} pods of the cluster count"
        assert note == f"no PriorityClass {name} in the files: {pods} with priority 0"


POD = {"containers": [{"name": "c", "image": "i"}]}


@pytest.mark.parametrize(
    ("api_version", "tree", "words"),
    [
        ("example.com/v1", {"spec": {"deep": {"list": [{"template": {"spec": POD}}]}}}, "it holds a pod template"),
        ("v1", {"template": {"spec": POD}}, "it holds a pod template"),
        ("example.com/v1", {"spec": {"replicas": 0}}, ""),
        ("example.com/v1", {"spec": {"replicas": True}}, ""),
        ("example.com/v1", {"spec": {"containers": []}}, ""),
        ("example.com/v1", {"spec": {"containers": [{"name": "no image"}]}}, ""),
        ("autoscaling/v2", {"spec": {"replicas": 3}}, ""),
        ("x.k8s.io/v1", {"spec": {"replicas": 3}}, ""),
        ("example.com/v1", {"spec": [3]}, ""),
        *(("example.com/v1", {"spec": {name: 3}}, f"it has spec.{name}, and") for name in NUMBERS),
    ],
)
def test_why_a_kind_may_make_pods(api_version: str, tree: dict[str, Any], words: str) -> None:
    reason = reason_to_count(Skipped(api_version, "Thing", "x", SOURCE, tree))
    assert reason.startswith(words)
    assert bool(reason) == bool(words)
