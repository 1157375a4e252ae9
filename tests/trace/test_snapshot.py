"""Snapshots of real clusters, with their oddities."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.model import DecodeError
from fairway.trace import read_snapshot


def meta(name: str, namespace: str = "", **others: Any) -> dict[str, Any]:
    managed = [
        {"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}, "time": "2026-01-01T00:00:00Z"}
    ]
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "uid": f"u-{name}", "resourceVersion": "7", "managedFields": managed, **others}


def node(name: str) -> dict[str, Any]:
    status = {
        "capacity": {"cpu": "8"},
        "allocatable": {"cpu": "7500m"},
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name), "spec": {"podCIDR": ""}, "status": status}


def pod(name: str, on: str = "", phase: str = "Running", **others: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x", "livenessProbe": {"httpGet": {"port": "http"}}}], "priority": 5}
    place = {"nodeName": on} if on else {}
    status = {"phase": phase, "containerStatuses": None}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, "team", **others),
        "spec": spec | place | {"priorityClassName": "not-in-here"},
        "status": status,
    }


MIRROR = {"kubernetes.io/config.mirror": "abc", "kubernetes.io/config.source": "file"}
ITEMS = [
    node("n1"),
    node("n2"),
    pod("runs", "n1"),
    pod("static-n1", "n1", annotations=MIRROR),
    pod("ended", "n1", "Succeeded"),
    pod("crashed", "n2", "Failed"),
    pod("leaving", "n2", deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=10),
    pod("never-was", "", "Pending", deletionTimestamp="2026-01-01T00:00:00Z"),
    pod("lost", "gone"),
    pod("young", "", "Pending", creationTimestamp="2026-01-02T00:00:00Z"),
    pod("old", "", "Pending", creationTimestamp="2026-01-01T00:00:00Z"),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"a": "b"}}},
    {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "x"}, "data": {"k": "- a\n---\n"}},
]


def kubectl(items: list[Any], kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "items": items, "kind": kind, "metadata": {"resourceVersion": ""}}


def write(folder: Path, text: str, name: str = "cluster.json") -> Path:
    (folder / name).write_text(text)
    return folder / name


def as_json(tree: Any) -> str:
    return json.dumps(tree, indent=4)


def as_yaml(tree: Any) -> str:
    return yaml.safe_dump(tree)


@pytest.mark.parametrize(
    ("name", "dump"), [("c.json", as_json), ("c.yaml", as_yaml), ("c.txt", as_json), ("c", as_yaml)]
)
def test_the_cluster_as_it_was(tmp_path: Path, name: str, dump: Any) -> None:
    told: list[float] = []
    load = read_snapshot(write(tmp_path, dump(kubectl(ITEMS)), name), strict=True, progress=told.append)
    assert sum(told) == pytest.approx(1)
    assert [one.name for one in load.nodes] == ["n1", "n2"]
    assert load.nodes[0].status.allocatable["cpu"].milli == 7500
    names = [(thing.kind, thing.metadata.name) for thing in load.objects]
    assert names == [
        ("Namespace", "other"),
        ("Namespace", "team"),
        ("Pod", "runs"),
        ("Pod", "static-n1"),
        ("Pod", "leaving"),
    ]
    assert load.objects[1].metadata.labels == {"kubernetes.io/metadata.name": "team"}
    leaving = load.objects[-1]
    assert leaving.is_terminating
    assert leaving.metadata.annotations["fairway.dev/duration"] == "10"
    assert load.objects[2].priority == 5
    assert [(one.time, one.object.metadata.name) for one in load.arrivals] == [(0, "old"), (0, "young")]
    assert load.num_arrivals == 2
    assert load.notes == [
        "pods left out, having ended already: 2",
        "pods being deleted, which go when their grace period ends: 1",
        "pods left out, being deleted before they had a node: 1",
        "pods left out, being on nodes that are not in the snapshot: 1",
        "namespaces not in the snapshot, taken to have no labels: 1",
        "skipped what is of no concern to a scheduler: 1 Secret, 1 Widget",
    ]


def test_without_pending_pods(tmp_path: Path) -> None:
    load = read_snapshot(write(tmp_path, as_json(kubectl(ITEMS))), pending=False)
    assert (list(load.arrivals), load.num_arrivals) == ([], 0)
    assert "pods without a node left out: 2" in load.notes


def test_several_files_and_lists_whose_items_do_not_say_their_kind(tmp_path: Path) -> None:
    bare = [{key: value for key, value in item.items() if key not in {"kind", "apiVersion"}} for item in ITEMS[:2]]
    nodes = write(tmp_path, as_json(kubectl(bare, "NodeList")), "nodes.json")
    pods = write(tmp_path, as_yaml(kubectl(ITEMS[2:4], "PodList")), "pods.yaml")
    load = read_snapshot([nodes, pods])
    assert len(load.nodes) == 2
    assert [thing.metadata.name for thing in load.objects] == ["team", "runs", "static-n1"]


def test_what_is_there_twice(tmp_path: Path) -> None:
    other = pod("runs", "n2")
    load = read_snapshot(write(tmp_path, as_json(kubectl([*ITEMS[:3], ITEMS[2], other]))))
    assert [thing.spec.node_name for thing in load.objects if thing.kind == "Pod"] == ["n1"]
    (problem,) = load.problems
    assert "items[4]: Pod team/runs: is there twice and not the same; first in" in problem


def test_a_wrong_item_is_reported_and_the_rest_kept(tmp_path: Path) -> None:
    broken = pod("broken", "n1")
    broken["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "lots"}}
    for name, dump in (("c.json", as_json), ("c.yaml", as_yaml)):
        file = write(tmp_path, dump(kubectl([ITEMS[0], broken, ITEMS[2]])), name)
        load = read_snapshot(file)
        assert [thing.metadata.name for thing in load.objects] == ["team", "runs"]
        (problem,) = load.problems
        assert problem.startswith(str(file))
        assert "items[1]: Pod team/broken: spec.containers[0].resources.requests.cpu: quantity 'lots'" in problem
        with pytest.raises(DecodeError, match="lots"):
            read_snapshot(file, strict=True)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        pytest.param("c.json", as_json(kubectl(ITEMS))[:-400], "holds no nodes.*truncated", id="json cut off"),
        pytest.param("c.yaml", as_yaml(kubectl(ITEMS))[:-400], "c.yaml: is cut off", id="yaml cut off"),
        pytest.param("c.json", "", "holds no nodes.*is empty", id="empty"),
        pytest.param("c.json", as_json(kubectl(ITEMS[2:])), "holds no nodes", id="pods only"),
        pytest.param(
            "c.json", "error: the server is down", "holds no nodes.*malformed at line 1", id="an error message"
        ),
        pytest.param("c.json", "[1, 2]", "holds no nodes.*expected an object", id="a list"),
    ],
)
def test_files_of_no_use_are_errors(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        read_snapshot(write(tmp_path, text, name))


def test_utf16_as_some_shells_write_it(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(as_json(kubectl(ITEMS)).encode("utf-16"))
    assert len(read_snapshot(tmp_path / "c.json").nodes) == 2
