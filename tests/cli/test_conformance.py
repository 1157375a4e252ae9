"""`fairway conformance`: what it prints, and that no difference escapes it."""

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from fairway.conformance.corpus import CaseLine
from fairway.conformance.corpus_run import check_line
from fairway.plugin import Nodes, Plugin, PodClass

CORPUS = Path(__file__).parent.parent / "conformance" / "corpus"


def cases(focus: str) -> Iterator[dict[str, Any]]:
    with gzip.open(CORPUS / f"{focus}.jsonl.gz") as lines:
        yield from map(json.loads, lines)


def written(path: Path, *items: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items))
    return path


def gates() -> dict[str, Any]:
    """The smallest case that begins with a gated pod and ends with one that was placed."""
    suitable = (
        case
        for case in cases("SchedulingGates")
        if case["expect"][0]["result"] == "gated" and case["expect"][-1]["result"] == "scheduled"
    )
    return min(suitable, key=lambda case: len(case["objects"]))


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_prints_a_row_for_each_focus(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(CORPUS / f"{focus}.jsonl.gz") for focus in ("NodeName", "SchedulingGates")]
    assert main(["conformance", *files, "--jobs", jobs]) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    assert lines[0] == ["FOCUS", "CASES", "PODS", "MISMATCHES"]
    assert [line[0] for line in lines[1:]] == ["NodeName", "SchedulingGates", "all"]
    assert [line[-1] for line in lines[1:]] == ["0", "0", "0"]
    assert printed.err == ""


def test_shows_the_first_mismatches_and_answers_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = gates()
    case["expect"][0]["result"] = "error"
    case["expect"][-1]["node"] = "elsewhere"
    file = written(tmp_path / "wrong.jsonl", case)
    assert main(["conformance", str(file), "--show", "1"]) == 3
    printed = capsys.readouterr()
    assert f"{case['name']}, pod {case['expect'][0]['pod']} ({file}, line 1)\n  result\n" in printed.out
    assert "elsewhere" not in printed.out
    assert "--show" in printed.err


def test_json_holds_the_counts_and_the_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = gates()
    expect = case["expect"][-1]
    right, expect["node"] = expect["node"], "elsewhere"
    file = written(tmp_path / "wrong.jsonl", case)
    assert main(["conformance", str(file), "--show", "5", "-o", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    counts = {"cases": 1, "pods": len(case["pods"]), "mismatches": 1}
    assert document | counts == document
    assert document["focuses"] == [{"focus": "SchedulingGates", **counts}]
    assert document["first"] == [
        {
            "case": case["name"],
            "focus": "SchedulingGates",
            "source": f"{file}, line 1",
            "pod": expect["pod"],
            "differences": [{"field": "node", "expected": "elsewhere", "got": right}],
        }
    ]


def test_one_case_can_be_picked(capsys: pytest.CaptureFixture[str]) -> None:
    name = gates()["name"]
    assert main(["conformance", str(CORPUS / "SchedulingGates.jsonl.gz"), "--case", name, "-o", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("SchedulingGates,1,")
    assert main(["conformance", str(CORPUS / "SchedulingGates.jsonl.gz"), "--case", "soup"]) == 2
    assert "no case is called soup" in capsys.readouterr().err


class Failing(Plugin):
    """A plugin with a bug."""

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        raise ZeroDivisionError("a bug")


def test_an_engine_that_fails_does_not_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": f"{__name__}:Failing"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": plugins}
    case = gates()
    case["config"] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    file = written(tmp_path / "failing.jsonl", case)
    assert main(["conformance", str(file), "-o", "json", "--show", "99"]) == 3
    first, *others = json.loads(capsys.readouterr().out)["first"]
    assert "ZeroDivisionError: a bug" in first["differences"][0]["got"]
    results = [expect["result"] for expect in case["expect"]]
    assert len(others) == len(results) - results.index("scheduled") - 1


# -- bad files -------------------------------------------------------------------------------------------------------


def broken(change: Any) -> str:
    case = gates()
    change(case)
    return json.dumps(case)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("\n[]", "line 2: is not a case of a corpus: Expected `object`, got `array`", id="a list"),
        pytest.param('{"config":' * 900, "line 1: line 1, column 1001: nested more than 100 deep", id="deep"),
        pytest.param('{"pods": []}', "line 1: is not a case of a corpus: Object missing required field", id="no name"),
        pytest.param(broken(lambda case: case["expect"].pop()), "expect: has", id="too few expectations"),
        pytest.param(
            broken(lambda case: case["pods"].__setitem__(1, case["objects"][0])),
            "line 1, pods[1]: expected a Pod, found a",
            id="not a pod",
        ),
        pytest.param(
            broken(lambda case: case["objects"].__setitem__(2, {"apiVersion": "v1", "kind": "Soup"})),
            "line 1, objects[2]: v1 Soup is not a kind Fairway reads",
            id="not a kind",
        ),
        pytest.param(
            broken(lambda case: case.update(config={"apiVersion": "v1", "kind": "Soup"})),
            "line 1, config: apiVersion",
            id="not a configuration",
        ),
    ],
)
def test_bad_cases_are_named_by_file_and_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    assert main(["conformance", str(file), "--jobs", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {file}, line ")
    assert words in error


@pytest.mark.parametrize("kind", ["Soup", "Pod"])
def test_other_processes_report_bad_cases_too(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = gates()
    good = json.dumps(case)
    case["config" if kind == "Soup" else "objects"] = {"kind": kind} if kind == "Soup" else [{"kind": kind}]
    (tmp_path / "bad.jsonl").write_text(f"{good}\n{json.dumps(case)}\n")
    assert main(["conformance", str(tmp_path / "bad.jsonl"), "--jobs", "2"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'bad.jsonl'}, line 2, ")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("bad.jsonl.gz", b"this is no gzip file", "is not a complete gzip file"),
        ("bad.jsonl.gz", gzip.compress(b"{}" * 99)[:-20], "is not a complete gzip file"),
        ("corpus.txt", b"{}", "is not a corpus file; its name has to end in .jsonl or .jsonl.gz"),
        ("empty.jsonl", b"", "the corpus has no cases"),
    ],
    ids=["not gzip", "cut off", "other suffix", "empty"],
)
def test_bad_files_are_named(
    name: str, data: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    assert main(["conformance", str(tmp_path / name)]) == 1
    assert words in capsys.readouterr().err


def test_a_directory_without_a_corpus_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(tmp_path)]) == 1
    assert f"error: {tmp_path}: holds no *.jsonl or *.jsonl.gz file" in capsys.readouterr().err


# -- nothing escapes -------------------------------------------------------------------------------------------------

FIELDS = [
    ("SchedulingGates", "result"),
    ("SchedulingGates", "preEnqueue.plugin"),
    ("SchedulingGates", "preEnqueue.reasons"),
    ("VolumeBinding", "preFilter.plugin"),
    ("VolumeBinding", "preFilter.reasons"),
    ("NodeAffinity", "preFilter.nodes"),
    ("NodeAffinity", "preFilter.byPlugins"),
    ("mixed", "pod"),
    ("mixed", "feasible"),
    ("mixed", "rejected.0.plugin"),
    ("mixed", "rejected.0.code"),
    ("mixed", "rejected.0.reasons"),
    ("mixed", "rejected.0.nodes"),
    ("mixed", "best"),
    ("mixed", "via"),
    ("mixed", "node"),
    ("mixed", "volumes.static"),
    ("mixed", "message"),
    ("mixed", "unschedulablePlugins"),
    ("VolumeBinding", "volumes.provision"),
    ("NodeResourcesFit", "event"),
    ("preemption", "preemption"),
    ("preemption", "preemption.attempted"),
    ("preemption", "preemption.code"),
    ("preemption", "preemption.message"),
    ("preemption", "preemption.candidates"),
    ("preemption", "preemption.candidates.0.victims"),
    ("preemption", "preemption.candidates.0.pdbViolations"),
    ("preemption", "preemption.ties"),
    ("preemption", "preemption.nominatedNode"),
    ("preemption", "preemption.victims"),
    ("preemption", "preemption.pdbViolations"),
    ("preemption", "preemption.clearedNominations"),
    ("preemption", "preemption.fits"),
]


def found(value: Any, path: list[str]) -> bool:
    if not path:
        return True
    if isinstance(value, list):
        return bool(value) and found(value[int(path[0])], path[1:])
    return isinstance(value, dict) and path[0] in value and found(value[path[0]], path[1:])


def other(value: Any) -> Any:
    """A value of the same type that is not this one."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case list():
            return value[1:] if value and isinstance(value[0], dict) else [*value, "x"]
    return {**value, "x": "x"}


def altered(value: Any, path: list[str], remove: bool) -> None:
    """Change (or remove) what is at the path, in place."""
    *parents, last = path
    for key in parents:
        value = value[int(key)] if isinstance(value, list) else value[key]
    if remove:
        del value[last]
    else:
        value[last] = other(value[last])


def smallest_with(focus: str, path: list[str]) -> tuple[dict[str, Any], int]:
    having = [
        (len(case["objects"]), number, case)
        for case in cases(focus)
        for number, expect in enumerate(case["expect"])
        if found(expect, path)
    ]
    _, number, case = min(having, key=lambda item: item[:2])
    return case, number


def mismatches(case: dict[str, Any]) -> dict[str, list[str]]:
    result = check_line(CaseLine("test", 1, json.dumps(case).encode()))
    return {mismatch.pod: [difference.field for difference in mismatch.differences] for mismatch in result.mismatches}


CHANGES = [
    pytest.param(focus, path, remove, id=f"{focus}: {path} {'missing' if remove else 'changed'}")
    for focus, path in FIELDS
    for remove in (False, True)
    # A group without its plugin, code, reasons or nodes is not of the corpus' form.
    if not remove or not path.startswith(("rejected", "pod"))
]


@pytest.mark.parametrize(("focus", "path", "remove"), CHANGES)
def test_every_field_is_compared(focus: str, path: str, remove: bool) -> None:
    keys = path.split(".")
    case, number = smallest_with(focus, keys)
    expect = case["expect"][number]
    before = copy.deepcopy(expect)
    assert mismatches(case) == {}
    altered(expect, keys, remove)
    if _means_nothing(before, keys, remove):
        assert mismatches(case) == {}
        return
    fields = mismatches(case)[expect["pod"]]
    assert any(field.startswith((keys[0], f"{keys[0]}.{keys[-1]}")) for field in fields)


def _means_nothing(expect: dict[str, Any], keys: list[str], remove: bool) -> bool:
    """Zero, false and nothing are as good as absent."""
    value: Any = expect
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return remove and not value


@pytest.mark.parametrize("column", [0, -1], ids=["a plugin", "the total"])
def test_every_score_is_compared(column: int) -> None:
    case, number = smallest_with("mixed", ["scores"])
    scores = case["expect"][number]["scores"]
    node = next(iter(scores["nodes"]))
    scores["nodes"][node][column] += 1
    name = [*scores["plugins"], "total"][column]
    assert mismatches(case) == {case["expect"][number]["pod"]: [f"scores.{name}"]}


def test_a_plugin_that_is_not_listed_scores_nothing() -> None:
    case, number = smallest_with("mixed", ["scores"])
    scores = case["expect"][number]["scores"]
    position = scores["plugins"].index("DynamicResources")
    scores["plugins"].pop(position)
    for values in scores["nodes"].values():
        assert values.pop(position) == 0
    assert mismatches(case) == {}


@pytest.mark.parametrize("field", ["result", "node", "feasible", "bestScore", "ties", "message", "victims", "volumes"])
def test_every_field_of_a_replay_is_compared(field: str) -> None:
    (case,) = cases("replay")
    number = next(number for number, expect in enumerate(case["expect"]) if expect.get(field))
    del case["pods"][number + 1 :], case["expect"][number + 1 :]
    expect = case["expect"][number]
    expect[field] = other(expect[field])
    assert mismatches(case) == {expect["pod"]: [field]}
