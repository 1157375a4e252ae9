"""Manifests as a workload: documents, lists, arrivals, and what is wrong with them."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError, Pod
from fairway.trace import read_manifests
from fairway.trace.manifest_text import cut_yaml

CLUSTER = """\
# two nodes
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: n2
  status:
    allocatable: {cpu: 2}
- apiVersion: v1
  kind: Pod
  metadata:
    name: bound
  spec:
    nodeName: n1
    containers:
    - name: c
      args:
      - |
        text
        ---not a separator
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: other}
--- # pods
apiVersion: v1
kind: Pod
metadata: {name: late, annotations: {fairway.dev/arrival: 1m, fairway.dev/duration: 5m}}
spec: {containers: [{name: c, resources: {limits: {cpu: 1}}}]}
---
apiVersion: v1
kind: Pod
metadata: {generateName: first-}
spec: {containers: [{name: c}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: later, annotations: {fairway.dev/arrival: "30"}}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: done}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Succeeded}
"""


def write(folder: Path, text: str = CLUSTER, name: str = "all.yaml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_everything_finds_its_place(tmp_path: Path) -> None:
    load = read_manifests(write(tmp_path))
    assert [node.name for node in load.nodes] == ["n1", "n2"]
    assert load.nodes[0].status.allocatable["cpu"].value == 4  # completed from the capacity
    assert [(thing.kind, thing.metadata.name) for thing in load.objects] == [("Pod", "bound"), ("ReplicaSet", "rs")]
    assert load.objects[0].metadata.namespace == "default"
    assert [(one.time, one.object.metadata.name) for one in load.arrivals] == [
        (0, "first-1"),
        (30, "later"),
        (60, "late"),
    ]
    late = list(load.arrivals)[-1].object
    assert isinstance(late, Pod)
    assert late.spec.containers[0].resources.requests["cpu"].value == 1
    assert load.num_arrivals == 3
    assert load.problems == []
    assert load.notes == [
        "pods left out, having ended already: 1",
        "skipped what is of no concern to a scheduler: 1 ConfigMap",
    ]


def test_directories_json_and_gzip(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path, '{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}', "a.json")
    listed = '{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}'
    (tmp_path / "below" / "b.json.gz").write_bytes(gzip.compress(listed.encode()))
    write(tmp_path, "not a manifest", "README.md")
    told: list[float] = []
    load = read_manifests(tmp_path, progress=told.append)
    assert [node.name for node in load.nodes] == ["a", "b", "c"]
    assert sum(told) == pytest.approx(1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DecodeError, match=r"empty: holds no \*.yaml"):
        read_manifests(tmp_path / "empty")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param(
            "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {priority: high}",
            ", document 2 (line 6): Pod x: spec.priority: expected an integer, found 'high'",
            id="type",
        ),
        pytest.param("kind: Pod\nmetadata: [", ": YAML is malformed at line 8", id="syntax"),
        pytest.param("kind: Pod\nspec: 3", ", document 2 (line 6): Pod: apiVersion: must be there", id="no version"),
        pytest.param(
            "kind: Pod\napiVersion: v1\nmetadata: {name: X}\nspec: {containers: [{name: c}]}",
            ", document 2 (line 6): Pod default/X: metadata.name: ",
            id="name",
        ),
        pytest.param(
            "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {priorityClassName: gone, containers: [{name: c}]}",
            ", document 2 (line 6): Pod x: spec.priorityClassName: there is no PriorityClass 'gone'",
            id="priority class",
        ),
        pytest.param(
            "kind: Node\napiVersion: v1\nmetadata: {name: n1}",
            ", document 2 (line 6): Node n1: metadata.name: is there twice",
            id="twice",
        ),
        pytest.param(
            "kind: Pod\napiVersion: v1\nmetadata: {name: x, annotations: {fairway.dev/arrival: now}}\n"
            "spec: {containers: [{name: c}]}",
            ", document 2 (line 6): Pod default/x: metadata.annotations['fairway.dev/arrival']: ",
            id="arrival",
        ),
        pytest.param(
            "kind: CronJob\napiVersion: batch/v1\nmetadata: {name: x}\nspec: {schedule: '@daily', "
            "jobTemplate: {spec: {template: {metadata: {annotations: {fairway.dev/duration: x}}, "
            "spec: {restartPolicy: Never, containers: [{name: c}]}}}}}",
            ", document 2 (line 6): CronJob default/x: spec.jobTemplate.spec.template.metadata"
            ".annotations['fairway.dev/duration']: ",
            id="duration in a template",
        ),
    ],
)
def test_a_wrong_document_is_reported_and_the_rest_kept(tmp_path: Path, wrong: str, problem: str) -> None:
    one = "apiVersion: v1\nkind: Node\nmetadata:\n  name: {}\n"
    file = write(tmp_path, f"{one.format('n1')}---\n{wrong}\n---\n{one.format('n2')}")
    load = read_manifests(file)
    assert [node.name for node in load.nodes] == ["n1", "n2"]
    assert list(load.arrivals) == []
    assert load.problems
    assert f"{file}{problem}" in load.problems[0]
    with pytest.raises(DecodeError):
        read_manifests(file, strict=True)


def test_a_wrong_item_of_a_list_is_reported_by_its_line(tmp_path: Path) -> None:
    items = "".join(
        f"- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n{index}\n    labels: {'[]' if index == 1 else '{}'}\n"
        for index in range(3)
    )
    load = read_manifests(write(tmp_path, f"apiVersion: v1\nitems:\n{items}kind: List\nmetadata: {{}}\n", "l.yaml"))
    assert [node.name for node in load.nodes] == ["n0", "n2"]
    expected = "l.yaml:8, items[1]: Node n1: metadata.labels: expected an object, found a list"
    assert load.problems == [f"{tmp_path}/{expected}"]


def test_items_that_share_values(tmp_path: Path) -> None:
    text = """apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: &l {x: y}}}
- apiVersion: v1
  kind: Node
  metadata:
    name: b
    labels: *l
"""
    load = read_manifests(write(tmp_path, text))
    assert [node.metadata.labels for node in load.nodes] == [{"x": "y"}, {"x": "y"}]


def test_empty_files_are_problems(tmp_path: Path) -> None:
    assert read_manifests(write(tmp_path, "\n")).problems == [f"{tmp_path}/all.yaml: is empty"]


@given(st.lists(st.sampled_from(["a: 1", "", "---", "--- x", "items:", "- b", "  c: 2", "# d", "kind: List"])))
def test_pieces_of_yaml_keep_every_line_and_know_their_place(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        pieces = list(cut_yaml(text.encode(), "f"))
    except DecodeError as error:
        assert "is cut off" in str(error)  # noqa: PT017 - one of two outcomes
        return
    for piece in pieces:
        first = piece.text.decode().split("\n")[0].replace("-", " ").strip()
        assert first in lines[piece.line - 1]
    if "items:" not in lines:
        kept = "".join(piece.text.decode() for piece in pieces)
        for word in ("a: 1", "  c: 2"):
            assert kept.count(word) == text.count(word)
