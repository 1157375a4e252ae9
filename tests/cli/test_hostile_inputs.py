"""Files that somebody else wrote, quoted in messages: what is said stays short, and nothing in it is obeyed.

A word may have ten megabytes, or hold what moves the cursor of a terminal, ends a line, or turns writing around.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from fairway.exit_codes import NOT_COUNTED
from fairway.words import UNSEEN

MOST_SAID = 20_000
WORDS = {
    "ten megabytes": "x" * 10_000_000,
    "escape sequences": "\x1b[2J\x1b]0;title\x07\x1b[31mred",
    "line ends": "a\nerror: all is well\r\nb\u2028c",
    "turned around": "a\u202egnp.exe",
}

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
}


def scenario(word: str, where: str) -> Any:
    node: dict[str, Any] = {"name": "n-{}", "count": 2, "cpu": 4, "memory": "8Gi"}
    short: dict[str, Any] = {"name": "a", "weight": 1, "cpu": 1, "memory": "1Gi", "duration": "10m"}
    arrivals = {"pattern": "poisson", "count": 10, "over": "1h"}
    spec: dict[str, Any] = {
        "seed": 1,
        "end": "2h",
        "cluster": {"nodes": [node]},
        "workload": {"synthetic": {"arrivals": arrivals, "classes": [short]}},
        "schedulers": [{"name": "default"}],
    }
    meta = {"name": "s"}
    data: dict[str, Any] = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "metadata": meta, "spec": spec}
    match where:
        case "a kind":
            data["kind"] = word
        case "a key":
            spec[word] = 1
        case "a number":
            spec["seed"] = word
        case "a duration":
            spec["end"] = word
        case "a quantity":
            node["cpu"] = word
        case "a label":
            node["labels"] = {word: word}
        case "a choice":
            arrivals["pattern"] = word
        case "a configuration":
            spec["schedulers"][0]["config"] = word
        case "an annotation":
            short["template"] = {
                "metadata": {"annotations": {f"fairway.dev/{word}": "1", "fairway.dev/duration": word}}
            }
    return data


def pod(word: str, where: str) -> Any:
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec: dict[str, Any] = {"containers": [container]}
    data: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    match where:
        case "a kind":
            data["kind"] = word
        case "a name":
            data["metadata"]["name"] = word
        case "a name, and another mistake":
            data["metadata"]["name"] = word
            spec["containers"] = "none"
        case "a quantity":
            container["resources"]["requests"]["cpu"] = word
        case "a type":
            spec["containers"] = word
        case "an operator":
            line = {"key": "a", "operator": word}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [line]}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            spec["affinity"] = {"nodeAffinity": required}
    return data


def case(word: str, where: str) -> Any:
    data: dict[str, Any] = {"name": "case", "pods": [pod("p", "a name")], "objects": []}
    match where:
        case "a name":
            data |= {"name": word, "expect": [{}, {}]}
        case "a type":
            data["pods"] = word
        case "a pod":
            data["pods"] = [pod(word, "a type")]
        case "another kind":
            data["pods"] = [pod(word, "a kind")]
        case "a configuration":
            data |= {"config": {"apiVersion": word, "kind": word}, "expect": [{"node": "n"}]}
    return data


def kubeconfig(word: str, where: str) -> Any:
    data: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    match where:
        case "a kind":
            data["kind"] = word
        case "a context":
            data["current-context"] = word
        case "the names of contexts":
            data["contexts"] = [{"name": word, "context": {}}] * 3
            data["current-context"] = "none"
        case "a server":
            data["clusters"][0]["cluster"]["server"] = word
        case "a certificate":
            data["clusters"][0]["cluster"]["certificate-authority-data"] = word
        case "a file":
            data["clusters"][0]["cluster"]["certificate-authority"] = word
    return data


Make = Callable[[str, str], Any]
INPUTS: dict[str, tuple[Make, str, list[str], tuple[str, ...]]] = {
    "scenario": (
        scenario,
        "s.yaml",
        ["sim"],
        (
            *("a kind", "a key", "a number", "a duration", "a quantity", "a label", "a choice", "a configuration"),
            "an annotation",
        ),
    ),
    "manifest": (
        pod,
        "m.yaml",
        ["try", "--cluster", "NODES", "-f"],
        (
            *("a kind", "a name", "a name, and another mistake"),
            *("a quantity", "a type", "an operator"),
        ),
    ),
    "corpus": (case, "c.jsonl", ["conformance"], ("a name", "a type", "a pod", "another kind", "a configuration")),
    "kubeconfig": (
        kubeconfig,
        "k.yaml",
        ["status", "--kubeconfig"],
        ("a kind", "a context", "the names of contexts", "a server", "a certificate", "a file"),
    ),
}
CASES = [
    pytest.param(kind, where, word, id=f"{kind}: {where} of {name}")
    for kind, (_, _, _, places) in INPUTS.items()
    for where in places
    for name, word in WORDS.items()
]


@pytest.mark.parametrize(("kind", "where", "word"), CASES)
def test_what_is_said_of_a_file_is_short_and_visible(
    kind: str, where: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, name, command, _ = INPUTS[kind]
    path = tmp_path / name
    path.write_text(json.dumps(make(word, where)), encoding="utf-8")
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(json.dumps(NODE), encoding="utf-8")
    code = main([*(str(nodes) if each == "NODES" else each for each in command), str(path)])
    said = capsys.readouterr()
    text = said.out + said.err
    assert code not in (0, 130)
    if code == NOT_COUNTED:  # a kind that nobody knows is told among the answers
        assert said.out.splitlines()[-1].startswith("not counted: ")
    else:
        assert said.err.startswith("error: ")
    assert "something unexpected" not in text
    assert len(text) < MOST_SAID
    assert not UNSEEN.search(text)
    assert "\nerror: all is well" not in text
