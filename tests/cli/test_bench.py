"""`fairway bench`: what it measures, and the workloads it makes up."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from fairway.bench.measurement import Measurement, measure, median_of
from fairway.bench.workloads import HOSTNAME, MIXES, ZONE, ZONES, make_workload
from fairway.cli.bench import MIX_NAMES, SAMPLINGS
from fairway.cli.main import main
from fairway.config.config_file import Sampling

KEYS = {"pods_per_second", "p50_ms", "p99_ms", "max_ms", "peak_mib", "scheduled", "failed"}


def test_every_way_of_sampling_can_be_measured() -> None:
    assert get_args(Sampling) == SAMPLINGS


@pytest.mark.parametrize("mix", MIXES)
def test_nearly_everything_fits(mix: str) -> None:
    workload = make_workload(50, 1000, mix)
    found = measure(*workload)
    assert found.pods == 1000
    assert found.nodes == 50
    assert found.scheduled >= 950
    assert found.scheduled + found.failed == 1000
    assert found.new_class_ms is not None
    assert 0 < found.p50_ms <= found.p99_ms <= found.max_ms


@pytest.mark.parametrize("mix", MIXES)
def test_the_same_seed_makes_the_same_workload(mix: str) -> None:
    assert make_workload(20, 50, mix, seed=1) == make_workload(20, 50, mix, seed=1)


def test_nodes_are_of_several_sizes_in_every_zone() -> None:
    nodes = [json.loads(item) for item in make_workload(30, 1, "plain").objects]
    nodes = [node for node in nodes if node["kind"] == "Node"]
    assert len({node["metadata"]["labels"][HOSTNAME] for node in nodes}) == 30
    assert len({node["metadata"]["labels"][ZONE] for node in nodes}) == ZONES
    assert len({node["status"]["allocatable"]["cpu"] for node in nodes}) == 3


def test_newcomers_are_unlike_all_others() -> None:
    workload = make_workload(10, 100, "mixed")

    def kind(item: bytes) -> str:
        pod: dict[str, Any] = json.loads(item)
        return json.dumps([pod["metadata"]["labels"], pod["spec"]])

    newcomers = {kind(item) for item in workload.newcomers}
    assert len(newcomers) == len(workload.newcomers)
    assert newcomers.isdisjoint(map(kind, workload.pods))


def test_help_and_workloads_know_the_same_mixes() -> None:
    assert tuple(MIXES) == MIX_NAMES


@pytest.mark.parametrize("sampling", ["all", "kube", "two-choices"])
def test_prints_what_was_measured(sampling: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--nodes", "200", "--pods", "100", "--mix", "classes", "--sampling", sampling, "--repeat", "1"]
    assert main(["bench", *arguments, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.keys() >= KEYS
    assert document | {"nodes": 200, "pods": 100, "mix": "classes", "sampling": sampling, "scheduled": 100} == document
    assert document["pods_per_second"] > 0
    assert document["peak_mib"] > 10


def test_a_table_has_a_row_for_each_case_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = make_workload(5, 10, "plain")

    def case(name: str) -> str:
        objects, pods = ([json.loads(item) for item in items] for items in (workload.objects, workload.pods))
        return json.dumps({"name": name, "objects": objects, "pods": pods})

    file = tmp_path / "cases.jsonl"
    file.write_text(f"{case('one')}\n{case('two')}\n")
    assert main(["bench", str(file), "--repeat", "1", "-o", "name"]) == 0
    assert capsys.readouterr().out == "one\ntwo\n"
    assert main(["bench", str(file), "--repeat", "1", "--case", "two"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["WORKLOAD", "SAMPLING"]
    assert row.split()[:4] == ["two", "all", "5", "10"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--case", "one"], "--case names a case of a file; give the file too"),
        (["--nodes", "0"], "0 is not in the range 1<=x<=1000000"),
        (["--nodes", "99999999999"], "99999999999 is not in the range 1<=x<=1000000"),
        (["--pods", "99999999999"], "99999999999 is not in the range 1<=x<=10000000"),
        (["--mix", "soup"], "'soup' is not one of"),
    ],
)
def test_misuse_is_explained(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_case_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"name": "one", "objects": [], "pods": []}\n')
    assert main(["bench", str(file), "--case", "two"]) == 2
    assert f"no case of {file} is called two" in capsys.readouterr().err


def test_the_median_is_a_run_that_happened() -> None:
    def run(speed: float) -> Measurement:
        return Measurement(speed, 1, 1, 1, None, 1, 1, 1, 1, 0, 1, 1)

    assert median_of([run(3), run(1), run(2)]).pods_per_second == 2
    assert median_of([run(3), run(1)]).pods_per_second == 1


def test_a_file_without_cases_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert main(["bench", str(empty)]) == 1
    assert f"{empty} has no cases" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("case", "words"),
    [
        pytest.param({"objects": [{"apiVersion": "v1", "kind": "Node", "status": 3}]}, "status: expected", id="node"),
        pytest.param({"pods": [{"apiVersion": "v1", "kind": "Node"}]}, "expected a Pod, found a Node", id="not a pod"),
        pytest.param({"config": {}}, "config: apiVersion: missing", id="config"),
    ],
)
def test_what_is_wrong_in_a_case_is_named_with_file_and_line(
    case: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "case.jsonl"
    file.write_text(json.dumps({"name": "one", "objects": [], "pods": []} | case))
    assert main(["bench", str(file)]) == 1
    error = capsys.readouterr().err
    assert f"{file}, line 1" in error
    assert words in error


def case_line(folder: Path, *schedulers: str) -> str:
    """A case with a scheduler that packs and one that spreads, and a pod for each of these."""
    workload = make_workload(10, len(schedulers), "plain")
    pods = [json.loads(item) for item in workload.pods]
    for pod, name in zip(pods, schedulers, strict=True):
        pod["spec"]["schedulerName"] = name
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "one"}, {"schedulerName": "two", "plugins": {"filter": NO_FILTERS}}],
    }
    case = {"name": "c", "config": config, "objects": [json.loads(item) for item in workload.objects], "pods": pods}
    file = folder / "case.jsonl"
    file.write_text(json.dumps({**case, "expect": []}))
    return str(file)


NO_FILTERS = {"disabled": [{"name": "*"}]}


def test_each_pod_is_decided_by_the_profile_it_names(tmp_path: Path) -> None:
    workload = make_workload(1, 2, "plain")
    node = next(json.loads(item) for item in workload.objects if b'"Node"' in item)
    node["spec"]["unschedulable"] = True  # only the profile without filters takes it
    pods = [json.loads(item) for item in workload.pods]
    pods[0]["spec"]["schedulerName"], pods[1]["spec"]["schedulerName"] = "one", "two"
    config = json.loads(Path(case_line(tmp_path, "one")).read_text())["config"]
    found = measure([json.dumps(node).encode()], [json.dumps(pod).encode() for pod in pods], config=config)
    assert (found.scheduled, found.failed) == (1, 1)


def test_a_scheduler_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", case_line(tmp_path, "one", "three"), "--repeat", "1"]) == 1
    error = capsys.readouterr().err
    assert "spec.schedulerName: three is no profile of the configuration; there are: one, two" in error


@pytest.mark.parametrize("option", [("--nodes", "5"), ("--pods", "5"), ("--mix", "plain")], ids=lambda pair: pair[0])
def test_a_file_says_how_large_it_is(
    tmp_path: Path, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", case_line(tmp_path, "one"), *option]) == 2
    assert f"{option[0]} is for a cluster that is made up" in capsys.readouterr().err
