"""`fairway conformance --openb`: on a look-alike whose expected results were made by the same engine, then changed."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from fairway.cli.main import main
from fairway.experiments.gpu_policies import policy_profile
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.ordered_cluster import OrderRun, run_in_order
from tests.experiments.lookalike_runs import recorded_lookalike

LOADS = list(map(str, range(131)))
RUNS = (("default", "FGD", 42), ("default", "BestFit", 43), ("gpuspec33", "FGD", 42))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> OpenbData:
    return recorded_lookalike(tmp_path_factory.mktemp("openb"), num_nodes=8, num_pods=40)


@pytest.fixture(scope="module")
def runs(data: OpenbData) -> dict[tuple[str, str, int], OrderRun]:
    return {key: run_in_order(data.recorded(key[0], key[2]), policy_profile(key[1])) for key in RUNS}


@pytest.fixture
def expected(tmp_path: Path, runs: dict[tuple[str, str, int], OrderRun]) -> Path:
    """As the published folder: tables with numbered policies, one of them compressed, and a placement file."""
    folder = tmp_path / "expected"
    folder.mkdir()
    for table in ("allo", "frag", "frag_ratio"):
        rows = [["workload", "sc_policy", "tune", "seed", *LOADS]]
        for (trace, policy, seed), run in runs.items():
            values = getattr(run.columns, table)[:131]
            cells = ["" if value != value else value for value in values.tolist()]  # noqa: PLR0124 - NaN
            rows.append([f"openb_pod_list_{trace}", f"06-{policy}", "1.3", str(seed), *cells])
        text = "\n".join(",".join(map(str, row)) for row in rows) + "\n"
        if table == "frag":
            (folder / "frag.csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{table}.csv").write_text(text)
    run = runs["default", "FGD", 42]
    with (folder / "placements_default_FGD_seed42.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["i", "pod", "node", "gpu_index", "used_gpu_milli", "frag_gpu_milli"])
        for number, placement in enumerate(run.placements()):
            writer.writerow([number, *placement, run.used[number], f"{run.frag[number]:.2f}"])
    return folder


def check(data: OpenbData, expected: Path, *more: str) -> int:
    return main(["conformance", "--openb", str(data.folder), "--expected", str(expected), "--jobs", "1", *more])


def changed(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_all_as_expected(data: OpenbData, expected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, expected, "-o", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passes"] is True
    assert report["runs"] == 3
    assert [(table["table"], table["runs"], table["beyond"]) for table in report["tables"]] == [
        ("allo", 3, []),
        ("frag", 3, []),
        ("frag_ratio", 3, []),
    ]
    assert all(table["largest_deviation"] < 1e-9 for table in report["tables"])
    (placements,) = report["placements"]
    assert placements["first_difference"] is None
    assert placements["arrivals"] > 40


def test_processes_give_the_same(data: OpenbData, expected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, expected, "--jobs", "2") == 0
    assert "placements_default_FGD_seed42.csv" in capsys.readouterr().out


def test_a_value_beyond_tolerance(data: OpenbData, expected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = expected / "allo.csv"
    lines = table.read_text().splitlines()
    cells = lines[2].split(",")
    cells[4 + 100] = str(float(cells[4 + 100]) + 0.02)
    table.write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]) + "\n")
    assert check(data, expected) == 3
    told = capsys.readouterr()
    assert "beyond 0.01: default BestFit seed 43, load 100 %" in told.err
    assert "allo" in told.out


def test_a_hundredth_is_within_tolerance(data: OpenbData, expected: Path) -> None:
    table = expected / "allo.csv"
    lines = table.read_text().splitlines()
    cells = lines[2].split(",")
    cells[4 + 100] = f"{float(cells[4 + 100]) + 0.01:.2f}"
    table.write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]) + "\n")
    assert check(data, expected) == 0


def test_the_first_arrival_that_differs(data: OpenbData, expected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = expected / "placements_default_FGD_seed42.csv"
    lines = path.read_text().splitlines()
    cells = lines[11].split(",")
    cells[2] = "openb-node-9999"
    path.write_text("\n".join([*lines[:11], ",".join(cells), *lines[12:]]) + "\n")
    assert check(data, expected, "-o", "json") == 3
    (placements,) = json.loads(capsys.readouterr().out)["placements"]
    assert placements["first_difference"]["arrival"] == 10
    assert "openb-node-9999" in placements["first_difference"]["expected"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(
            "06-FGD,1.3,42", "06-FGD,1.3,44", "has no column seed44, and a seed of our own gives another", id="seed"
        ),
        pytest.param("06-BestFit", "07-Tetris", "Tetris is no policy we know; there are FGD", id="policy"),
        pytest.param("list_gpuspec33", "list_cpu050", "there is no openb_pod_list_cpu050.csv", id="trace"),
        pytest.param("06-FGD,1.3,42", "06-FGD,1.1,42", "tuned to 1.1 times the devices", id="load"),
    ],
)
def test_runs_that_cannot_be_made_are_told(
    data: OpenbData, expected: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, words: str
) -> None:
    changed(expected / "allo.csv", before, after)
    assert check(data, expected) == 3
    told = capsys.readouterr().err
    assert "not run: 1" in told
    assert words in told


def test_means_of_random(data: OpenbData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "random"
    folder.mkdir()
    rows = ["workload,sc_policy,tune,seed,0,50"]
    rows += [f"openb_pod_list_default,01-Random,1.3,{seed},0.5,48.0" for seed in (42, 43)]
    (folder / "allo.csv").write_text("\n".join(rows) + "\n")
    check(data, folder, "-o", "json")
    report = json.loads(capsys.readouterr().out)
    exact, means = report["tables"]
    assert (exact["runs"], means["runs"]) == (0, 2)
    assert (means["of"], means["tolerance"]) == ("means of Random", 0.3)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({}, "has nothing to compare with", id="nothing"),
        pytest.param({"allo.csv": "a,b\n1,2\n"}, "the header lacks workload, sc_policy, seed", id="columns"),
        pytest.param(
            {"allo.csv": "workload,sc_policy,seed,0\nx,y,42,much\n"},
            r"allo.csv:2: must be a number: 'much'",
            id="value",
        ),
        pytest.param({"allo.csv": "workload,sc_policy,seed,0\nx,y,z,1\n"}, "seed must be a whole number", id="seed"),
    ],
)
def test_expected_results_that_make_no_sense(
    data: OpenbData, tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], words: str
) -> None:
    folder = tmp_path / "wrong"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    assert check(data, folder) == 1
    assert words in capsys.readouterr().err


def test_data_that_is_not_there(expected: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--openb", str(tmp_path / "no"), "--expected", str(expected)]) == 1
    assert "the openb trace is at https://github.com/alibaba/clusterdata" in capsys.readouterr().err
    assert main(["conformance", "--openb", str(tmp_path)]) == 2
    assert main(["conformance"]) == 2
