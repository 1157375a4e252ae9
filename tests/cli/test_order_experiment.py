"""`fairway compare` on order-only scenarios: runs, tables, figures, and going on after an interruption."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from fairway.cli.main import main

SPEC = {
    "lookalike": {"nodes": 8, "pods": 40},
    "traces": ["default", "gpuspec33"],
    "policies": ["FGD", "BestFit"],
    "seed": 1,
    "seeds": 2,
}


def scenario(folder: Path, **changes: object) -> Path:
    path = folder / "small.yaml"
    spec = {name: value for name, value in {**SPEC, **changes}.items() if value is not None}
    path.write_text(yaml.safe_dump({"apiVersion": "fairway.dev/v1alpha1", "kind": "OrderScenario", "spec": spec}))
    return path


def compare(path: Path, *more: str) -> int:
    return main(["compare", str(path), "--save", str(path.parent / "results"), "--jobs", "1", *more])


def test_everything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert compare(scenario(tmp_path, defragment={"share": 0.1, "perNode": "several"})) == 0
    told = capsys.readouterr().out
    assert "FGD" in told
    assert "gpuspec33" in told
    assert "when pods have asked for 100 %; mean ± standard deviation over 2 seeds" in told
    results = tmp_path / "results"
    assert len(list((results / "runs").glob("*.npz"))) == 8
    assert {path.name for path in (results / "figures").glob("*.png")} == {
        "bars-gpuspec.png",
        "causes-default.png",
        "causes-gpuspec33.png",
        "load-default.png",
        "load-gpuspec33.png",
    }
    page = (results / "report.html").read_text()
    assert page.count('role="img"') == 1 + 2 * 4
    assert "Defragmentation" in page
    assert "http" not in page
    with (results / "tables" / "allo.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["workload"], row["sc_policy"], row["seed"]) for row in rows][:2] == [
        ("openb_pod_list_default", "BestFit", "1"),
        ("openb_pod_list_default", "BestFit", "2"),
    ]


def test_it_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, traces=["default"])
    assert compare(path, "-o", "json") == 0
    first = json.loads(capsys.readouterr().out)
    runs = tmp_path / "results" / "runs"
    times = {each.name: each.stat().st_mtime_ns for each in runs.iterdir()}
    (runs / "default-FGD-seed2.npz").write_bytes(b"half a file")
    (runs / "default-FGD-seed2.999999999.part").write_bytes(b"half a file")  # of a process that was killed
    assert compare(path, "-o", "json") == 0
    told = capsys.readouterr()
    assert "3 of 4 runs are in" in told.err
    again = json.loads(told.out)
    assert again["summary"] == first["summary"]
    after = {each.name: each.stat().st_mtime_ns for each in runs.iterdir()}
    assert {name for name in times if times[name] != after[name]} == {"default-FGD-seed2.npz"}
    assert set(after) == set(times)
    # Another load is another experiment: nothing of the old one is taken.
    assert compare(scenario(tmp_path, traces=["default"], load=0.8), "-o", "json") == 0
    told = capsys.readouterr()
    assert "runs are in" not in told.err
    assert json.loads(told.out)["load_percent"] < 100


@pytest.mark.parametrize("length", [0, 3, 400], ids=["empty", "torn early", "torn late"])
def test_a_torn_run_is_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str], length: int) -> None:
    path = scenario(tmp_path, traces=["default"], policies=["FGD"])
    assert compare(path, "-o", "json") == 0
    first = json.loads(capsys.readouterr().out)
    run = tmp_path / "results" / "runs" / "default-FGD-seed1.npz"
    run.write_bytes(run.read_bytes()[:length])
    assert compare(path, "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["summary"] == first["summary"]
    with np.load(run) as archive:
        assert "about" in archive


def test_somebody_elses_archive_is_left_and_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "results" / "runs"
    runs.mkdir(parents=True)
    np.savez(runs / "default-FGD-seed2.npz", weights=np.arange(3))
    assert compare(scenario(tmp_path, traces=["default"])) == 1
    assert "seed2.npz is there already, and not a run of an experiment that Fairway wrote" in capsys.readouterr().err
    assert [path.name for path in runs.iterdir()] == ["default-FGD-seed2.npz"]


def test_published_results_stand_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, traces=["default"])
    assert compare(path) == 0
    results = tmp_path / "results"
    capsys.readouterr()
    assert compare(path, "--expected", str(results / "tables")) == 0
    ours, theirs = capsys.readouterr().out.splitlines()[1:3]
    assert theirs.split()[0] == "published"
    assert ours.split()[1:] == theirs.split()[1:]
    assert "published" in (results / "report.html").read_text()


def test_options_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--policy", "FGD", "--trace", "gpuspec33", "--seed", "5", "--seeds", "1", "-o", "json")
    assert compare(scenario(tmp_path), *more) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["trace"], run["policy"], run["seed"]) for run in runs] == [("gpuspec33", "FGD", 5)]


def test_own_policies_by_their_former_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, traces=["default"], policies=["FGD"], seeds=1, profiles={"mine": {}})
    assert compare(path, "-o", "json") == 0
    told = capsys.readouterr()
    assert [run["policy"] for run in json.loads(told.out)["runs"]] == ["FGD", "mine"]
    assert f"note: {path}: spec.profiles is called spec.ownPolicies now" in told.err


@pytest.mark.parametrize(
    ("changes", "more", "code", "words"),
    [
        pytest.param({"policies": ["FDG"]}, (), 1, 'spec.policies[0]: "FDG" is unknown; did you mean FGD', id="policy"),
        pytest.param({"policies": []}, (), 1, "no policy to run; known ones are FGD, BestFit", id="no policy"),
        pytest.param({"traces": ["default", "default"]}, (), 1, "spec.traces: default is there twice", id="twice"),
        pytest.param({"traces": ["other"]}, (), 1, "has no openb_pod_list_other.csv; it has default", id="trace"),
        pytest.param({"arrivals": "recorded"}, (), 1, "nothing was recorded of a look-alike", id="recorded"),
        pytest.param({"arrivals": "mine.csv"}, (), 1, "mine.csv", id="no such order"),
        pytest.param({"load": -1}, (), 1, "spec.load: expected a number above 0", id="load"),
        pytest.param({"polices": ["FGD"]}, (), 1, "spec.polices: unknown field; did you mean policies", id="field"),
        pytest.param(
            {"ownPolicies": {"x": {"config": {"profiles": 3}}}}, (), 1, 'spec.ownPolicies["x"].config', id="config"
        ),
        pytest.param({}, ("--until", "1h"), 2, "--until is not for an OrderScenario", id="until"),
        pytest.param(
            {}, ("--fail-if", "wait_p95>1"), 2, "--fail-if is not for an OrderScenario: its results", id="fail-if"
        ),
        pytest.param({}, ("--optimum",), 2, "so the best there could be is all GPUs allocated", id="optimum"),
    ],
)
def test_what_makes_no_sense(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, object],
    more: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    assert compare(scenario(tmp_path, **changes), *more) == code
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "variable", "words"),
    [
        pytest.param(None, None, "and the scenario does not say where it is", id="unsaid"),
        pytest.param("no", None, "not at {here}/no (spec.data); name its csv folder", id="scenario"),
        pytest.param("no", "gone", "not at {here}/no (spec.data) nor at {here}/gone (FAIRWAY_OPENB)", id="variable"),
    ],
)
def test_the_trace_is_not_here(tmp_path: Path, data: str | None, variable: str | None, words: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "FAIRWAY_OPENB"}
    if variable is not None:
        environment["FAIRWAY_OPENB"] = str(tmp_path / variable)
    path = scenario(tmp_path, lookalike=None, data=data)
    command = [sys.executable, "-m", "fairway", "compare", str(path), "--save", str(tmp_path / "results")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert words.format(here=tmp_path) in ended.stderr
    assert "the openb trace is not here" in ended.stderr
    assert "it can be had at https://github.com/alibaba" in ended.stderr


def test_other_scenarios_have_no_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "day.yaml"
    path.write_text("apiVersion: fairway.dev/v1alpha1\nkind: Scenario\n")
    assert main(["compare", str(path), "--trace", "default"]) == 2
    assert "--trace is for a scenario of kind OrderScenario" in capsys.readouterr().err


def test_it_is_not_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", str(scenario(tmp_path))]) == 1
    assert "kind: an OrderScenario has no time to simulate; use fairway compare" in capsys.readouterr().err
