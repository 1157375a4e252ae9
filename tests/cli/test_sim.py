"""`fairway sim`: what a scenario came to."""

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.cli.main import main
from fairway.record import Run
from fairway.scenario.scenario import complete, decode_scenario, load_scenario
from tests.cli.scenario_files import POLICY, small_scenario

NODES = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}\n"
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {fairway.dev/duration: 60s}}\n"
    "spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n"
)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return small_scenario(tmp_path)


def sim(*args: Any) -> int:
    return main(["sim", *map(str, args)])


def printed_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_summary_on_stdout_and_next_steps_on_stderr(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sim(scenario) == 0
    out, err = capsys.readouterr()
    values = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    assert values["pods created"] == values["pods placed"] == "120"
    assert values["utilisation cpu"].endswith("%")
    assert {"wait p50 (s)", "wait p95 (s)", "nodes used peak"} <= values.keys()
    first, *hints = err.splitlines()
    assert first.startswith("small · default · seed 4 · 02:00:00 in ")
    assert [hint.split()[:3] for hint in hints] == [
        ["→", "fairway", "sim"],
        ["→", "fairway", "compare"],
        ["→", "fairway", "sim"],
    ]
    assert "--policy default --policy packed" in hints[1]


def test_json_is_all_there_is_and_the_same_every_time(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for _ in range(2):
        assert sim(scenario, "--seed", 7, "-o", "json") == 0
        out, err = capsys.readouterr()
        assert err == ""
        documents.append(json.loads(out))
        documents[-1]["metrics"].pop("timing")
    assert documents[0] == documents[1]
    assert documents[0]["seed"] == 7
    assert documents[0]["metrics"]["pods"]["created"] == 120
    assert documents[0]["run"] is None


def test_csv_has_a_line_a_metric(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sim(scenario, "-o", "csv") == 0
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert float(rows["pods_created"]["value"]) == 120
    assert rows["wait_p95"]["unit"] == "s"


def test_saved_run_is_opened_and_the_slowest_pod_named(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sim(scenario, "--save", tmp_path / "run.duckdb") == 0
    with Run.open(tmp_path / "run.duckdb") as run:
        assert run.is_complete
        slowest = max(run.pods.rows(), key=lambda pod: pod["bound_seconds"] - pod["created_seconds"])["pod"]
    assert f"→ fairway why {slowest} --run {tmp_path / 'run.duckdb'}" in capsys.readouterr().err


def test_several_policies_are_compared_and_each_is_saved(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(POLICY)
    policies = ("--policy", "default", "--policy", tmp_path / "mine.yaml")
    assert sim(scenario, *policies, "--save", tmp_path / "run.duckdb", "--jobs", 1) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["default", "mine"]
    assert "first different decision: default/load-" in out
    with Run.open(tmp_path / "run-mine.duckdb") as run:
        assert run.meta["policies"] == ["mine"]
    assert (tmp_path / "run-default.duckdb").exists()


def test_the_former_words_are_understood_and_the_new_ones_named(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sim(scenario, "--policy", "packed", "-o", "json") == 0
    today = printed_json(capsys)
    former = tmp_path / "former.yaml"
    former.write_text(scenario.read_text().replace("\n  policies:", "\n  profiles:"))
    assert sim(former, "--profile", "packed", "-o", "json") == 0
    out, err = capsys.readouterr()
    again = json.loads(out)
    assert (again["policy"], again["metrics"]["nodes_used"]) == ("packed", today["metrics"]["nodes_used"])
    assert err == f"note: {former}: spec.profiles is called spec.policies now; the old name is still read\n"
    assert main(["sim", "--help"]) == 0
    assert "--profile" not in capsys.readouterr().out


def test_nodes_and_workload_without_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "pods.yaml").write_text(POD)
    assert sim("--nodes", tmp_path / "nodes.yaml", "--workload", tmp_path / "pods.yaml", "-o", "json") == 0
    document = printed_json(capsys)
    assert document["metrics"]["pods"]["succeeded"] == 1


def test_changes_to_the_scenario(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sim(scenario, "--nodes", 2, "--until", "10m", "-o", "json") == 0
    document = printed_json(capsys)
    assert document["end_seconds"] == 600
    assert document["metrics"]["nodes_used"]["ever"] == 2
    assert document["metrics"]["pods"]["created"] < 60


def test_print_scenario_runs_the_same(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sim(scenario, "--seed", 6, "--print-scenario") == 0
    printed = decode_scenario(yaml.safe_load(capsys.readouterr().out), "printed")
    assert printed == complete(load_scenario(scenario).with_overrides(seed=6))


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        pytest.param((), 2, "give a SCENARIO", id="nothing"),
        pytest.param(("nowhere.yaml",), 1, "nowhere.yaml: cannot be read", id="no file"),
        pytest.param(("small.yaml", "--policy", "nonsense"), 1, "nonsense", id="no policy"),
        pytest.param(("small.yaml", "--policy", "no.yaml"), 1, "no.yaml cannot be read", id="no policy file"),
        pytest.param(("small.yaml", "--policy", "packed", "--policy", "packed"), 2, "given twice", id="twice"),
        pytest.param(("small.yaml", "--until", "soon"), 2, "--until", id="no time"),
        pytest.param(("small.yaml", "--nodes", "0"), 2, "--nodes: 0 is out of range", id="zero nodes"),
        pytest.param(
            ("small.yaml", "--nodes", "99999999999"), 2, "is out of range; allowed: 1 to 10000000", id="countless nodes"
        ),
        pytest.param(("small.yaml", "--nodes", "nothing.yaml"), 1, "nothing.yaml", id="no nodes"),
        pytest.param(("small.yaml", "--save", "a/b.duckdb"), 1, "there is no directory a", id="no folder"),
        pytest.param(("small.yaml", "--save", "."), 1, "is a directory", id="folder"),
        pytest.param(("small.yaml", "--save", "small.yaml"), 1, "no run that could be replaced", id="not a run"),
        pytest.param(("small.yaml", "--save", "/dev/null"), 1, "not a regular file", id="device"),
    ],
)
def test_errors_say_what_and_what_next(
    scenario: Path,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    with contextlib.chdir(scenario.parent):
        assert sim(*args) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "→" in err
    assert "kind: Scenario" in scenario.read_text()
