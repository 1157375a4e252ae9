"""The same file, compressed or in YAML's other style, is the same to every command that reads files."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.scenario_files import POLICY, SCENARIO
from tests.cli.test_own_files import ORDER
from tests.cli.trial_files import Folder

NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"


def as_flow(text: str) -> str:
    return yaml.safe_dump(yaml.safe_load(text), default_flow_style=True, width=100_000)


def as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(text))


def as_block(text: str) -> str:
    return yaml.safe_dump(yaml.safe_load(text), default_flow_style=False)


STYLES: dict[str, Callable[[str], str]] = {"block": as_block, "flow": as_flow, "JSON": as_json}
COMMANDS = {
    "a scenario": (SCENARIO, "sim {} --until 10m"),
    "the scenario of a comparison": (SCENARIO, "compare {} --until 10m --jobs 1"),
    "an experiment": (ORDER, "compare {} --save results --jobs 1"),
    "a policy": (POLICY, "sim scenario.yaml --until 10m --policy {}"),
    "a configuration": (POLICY, "try -f pod.yaml --cluster node.yaml --config {}"),
    "pods": (POD, "try -f {} --cluster node.yaml"),
    "pods, and why": (POD, "why p -f {} --cluster node.yaml"),
    "nodes": (NODE, "try -f pod.yaml --cluster {}"),
    "nodes of a simulation": (NODE, "sim --nodes {} --workload pod.yaml"),
    "a workload": (POD, "sim --nodes node.yaml --workload {}"),
    "nodes that get racks": (NODE, "topology {} --servers-per-rack 2"),
}


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("text", "command"), COMMANDS.values(), ids=COMMANDS)
def test_every_form_is_read(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str, command: str, style: str, is_packed: bool
) -> None:
    monkeypatch.chdir(folder.path)
    folder.write("scenario.yaml", SCENARIO)
    folder.write("pod.yaml", POD)
    folder.write("node.yaml", NODE)
    data = STYLES[style](text).encode()
    name = f"input.{'json' if style == 'JSON' else 'yaml'}{'.gz' if is_packed else ''}"
    Path(name).write_bytes(gzip.compress(data) if is_packed else data)
    printed = folder.run(*command.format(name).split())
    assert (printed.code, "error" in printed.err) == (0, False), printed.err


PIPED = {
    "flow style": POD,
    "keys in quotes": '{"apiVersion": v1, "kind": Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}',
    "two documents": f"{POD}\n---\n{POD.replace('name: p', 'name: q')}",
    "JSON": as_json(POD),
    "JSON, pretty": json.dumps(yaml.safe_load(POD), indent=2),
    "block style": as_block(POD),
}


@pytest.mark.parametrize("text", PIPED.values(), ids=PIPED)
def test_every_form_is_read_from_a_pipe(folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    folder.write("node.yaml", NODE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    printed = folder.run("try", "-f", "-", "--cluster", str(folder.path / "node.yaml"), "-o", "name")
    assert (printed.code, printed.out.split()[0]) == (0, "default/p"), printed.err


def test_broken_json_from_a_pipe_is_called_json(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("node.yaml", NODE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"kind": "Pod", "apiVersion": "v1"')))
    printed = folder.run("try", "-f", "-", "--cluster", str(folder.path / "node.yaml"))
    assert printed.code == 1
    assert "<stdin>: JSON is malformed" in printed.err


def test_a_folder_of_compressed_manifests_gets_racks(folder: Folder) -> None:
    (folder.path / "nodes.yaml.gz").write_bytes(gzip.compress(NODE.encode()))
    assert folder.run("topology", str(folder.path), "--servers-per-rack", "2").code == 0
    assert "fairway.dev/rack" in (folder.path / "nodes-hier.yaml").read_text()
    assert "1 file written" in folder.run("topology", str(folder.path), "--servers-per-rack", "2").err


WRONG = {
    "JSON that is none": ('{"kind": "Scenario", }', "not JSON: line 1"),
    "neither": ("{kind: Scenario", "not JSON: line 1"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_what_is_neither_is_said(folder: Folder, text: str, words: str) -> None:
    printed = folder.run("sim", folder.write("scenario.yaml", text))
    assert printed.code == 1
    assert words in printed.err
