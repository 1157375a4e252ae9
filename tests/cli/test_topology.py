"""`fairway topology`: manifests rewritten beside their originals."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.cli.main import main
from fairway.cli.topology import topology

NODES = """\
# comment
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: h2, version: "1e3"}}}
- {apiVersion: v1, kind: Node, metadata: {name: n10, creationTimestamp: 2026-01-01T00:00:00Z}, kept: [on, "yes"]}
- {apiVersion: v1, kind: Node, metadata: {name: n1}}
"""
PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: placed, labels: {app: x}}
spec: {nodeName: n10, containers: [{name: c, command: ["a\\nb\\n"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: pinned}
spec: {nodeSelector: {kubernetes.io/hostname: h2}}
---
apiVersion: v1
kind: Pod
metadata: {name: free}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "pods.yml").write_text(PODS)
    (tmp_path / "else.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
    return tmp_path


def run(*args: Any) -> int:
    return main([str(arg) for arg in args], command=topology)


def labels(file: Path) -> dict[str, dict[str, str]]:
    found = {}
    for document in yaml.safe_load_all(file.read_text()):
        for thing in document.get("items", [document]):
            found[thing["metadata"]["name"]] = thing["metadata"].get("labels", {})
    return found


def test_files_beside_the_originals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--servers-per-rack", 2) == 0
    assert sorted(file.name for file in folder.iterdir()) == [
        "else.yaml",
        "nodes-hier.yaml",
        "nodes.yaml",
        "pods-hier.yml",
        "pods.yml",
    ]
    assert (folder / "nodes.yaml").read_text() == NODES
    assert (folder / "nodes-hier.yaml").stat().st_mode == (folder / "nodes.yaml").stat().st_mode
    assert (folder / "pods.yml").read_text() == PODS
    shown = capsys.readouterr()
    assert "nodes-hier.yaml" in shown.out
    assert "else.yaml has no nodes and no pods" in shown.err
    assert "2 files written; 3 nodes have a rack, 2 to each" in shown.err
    nodes = labels(folder / "nodes-hier.yaml")
    assert nodes["n2"] == {
        "kubernetes.io/hostname": "h2",
        "version": "1e3",
        "fairway.dev/rack": "rack-0",
        "fairway.dev/server": "rack-0-server-1",
    }
    assert nodes["n10"]["fairway.dev/rack"] == "rack-1"
    pods = labels(folder / "pods-hier.yml")
    assert pods["placed"] == {"app": "x", "fairway.dev/rack": "rack-1", "fairway.dev/server": "rack-1-server-0"}
    assert pods["pinned"]["fairway.dev/server"] == "rack-0-server-1"
    assert (pods["free"], pods["other"]) == ({}, {})


def test_all_else_stays_as_it_is(folder: Path) -> None:
    assert run(folder, "--servers-per-rack", 2) == 0
    text = (folder / "nodes-hier.yaml").read_text()
    assert 'version: "1e3"' in text  # a number to some readers of YAML, if it were not quoted
    (document,) = yaml.safe_load_all(text)
    assert document["items"][1]["kept"] == [True, "yes"]
    assert document["items"][1]["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    first, *_ = yaml.safe_load_all((folder / "pods-hier.yml").read_text())
    assert first["spec"]["containers"][0]["command"] == ["a\nb\n"]


def test_its_own_output_is_never_its_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--servers-per-rack", 2) == 0
    before = {file.name: file.read_text() for file in folder.iterdir()}
    assert run(folder, "--servers-per-rack", 2) == 0
    assert {file.name: file.read_text() for file in folder.iterdir()} == before
    capsys.readouterr()
    assert run(*sorted(folder.glob("*.y*ml")), "--servers-per-rack", 2) == 0
    assert {file.name: file.read_text() for file in folder.iterdir()} == before
    assert "nodes-hier.yaml is not read" in capsys.readouterr().err
    assert run(folder / "nodes-hier.yaml", "--servers-per-rack", 2) == 1
    assert "no *.yaml" in capsys.readouterr().err


def test_dry_run_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "é"}}]}
    (folder / "more.json").write_text(json.dumps(document))
    assert run(folder, "--servers-per-rack", 3, "--dry-run", "-o", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(Path(row["file"]).name, row["nodes"], row["pods"]) for row in rows] == [
        ("more-hier.json", 1, 0),
        ("nodes-hier.yaml", 3, 0),
        ("pods-hier.yml", 0, 2),
    ]
    assert not (folder / "nodes-hier.yaml").exists()
    assert run(folder, "--servers-per-rack", 3) == 0
    written = json.loads((folder / "more-hier.json").read_text())
    labels = {"fairway.dev/rack": "rack-1", "fairway.dev/server": "rack-1-server-0"}
    assert written == {**document, "items": [{"metadata": {"name": "é", "labels": labels}}]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: [", "YAML is malformed at line", id="syntax"),
        pytest.param("apiVersion: v1\nkind: Node\n", "Node: metadata.name: must be there", id="no name"),
    ],
)
def test_nothing_is_written_when_something_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (folder / "zz.yaml").write_text(text)
    before = sorted(folder.iterdir())
    assert run(folder, "--servers-per-rack", 2) == 1
    assert f"zz.yaml: {problem}" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_without_nodes_there_are_no_racks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder / "pods.yml", "--servers-per-rack", 2) == 1
    assert "no node in these files" in capsys.readouterr().err


def test_a_rack_holds_at_least_one_server(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--servers-per-rack", 0) == 2
    assert run(folder) == 2
    assert "--servers-per-rack" in capsys.readouterr().err
