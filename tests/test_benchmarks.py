"""The benchmarks that are too large for a test run in small, and say what they are asked for."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.model import decode_object
from fairway.model.data_need import data_need
from fairway.scenario.scenario import complete, decode_scenario

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def simulated_day() -> dict[str, Any]:
    return runpy.run_path(str(BENCHMARKS / "simulated_day.py"))


@pytest.mark.parametrize(
    ("size", "num_nodes", "num_pods"),
    [("SHORT", 500, 10_000), ("DAY", 5_000, 100_000), ("MILLION", 10_000, 1_000_000)],
)
def test_a_day_has_the_nodes_and_pods_it_says(
    simulated_day: dict[str, Any], size: str, num_nodes: int, num_pods: int
) -> None:
    values = simulated_day["day"](simulated_day[size])
    workload = complete(decode_scenario(values, "<benchmark>")).workload()
    assert (len(workload.nodes), workload.num_arrivals) == (num_nodes, num_pods)


def test_sampling_leaves_a_scale_up_uneven_and_scoring_all_nodes_does_not() -> None:
    measured = runpy.run_path(str(BENCHMARKS / "sampling_skew.py"))["measure"](300, 4, 600)
    by_way = {one.way: one for one in measured}
    everything, few = by_way["all nodes"], by_way["percentageOfNodesToScore 5"]
    assert (everything.fewest, everything.most, everything.best) == (4, 4, 0.0)
    assert (few.num_scored, few.fewest < 4 < few.most, few.difference > 0.05) == (100, True, True)
    assert all(one.difference >= one.best for one in measured)


@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "bare"])
def test_a_small_day_is_measured(simulated_day: dict[str, Any], tmp_path: Path, *, is_recorded: bool) -> None:
    run = tmp_path / "run.duckdb" if is_recorded else None
    figures = simulated_day["measure"](simulated_day["Size"](20, 100), run, is_told=False)
    assert figures["pods"] == 100
    assert figures["attempts"] >= 100 - figures["waiting"]
    assert figures["cpu_seconds"] > 0
    assert (figures["run_mib"] > 0) == is_recorded


@pytest.mark.parametrize("kind", ["jobs", "apart"])
def test_what_data_costs_is_measured_on_pods_that_use_it(kind: str) -> None:
    data = runpy.run_path(str(BENCHMARKS / "data.py"))
    without, with_it, left = data["ratio"](kind, 60, 40, 1)
    assert without > 0
    assert with_it > 0
    assert left == pytest.approx(with_it / without)
    generator = np.random.default_rng(0)
    pods = [decode_object(item) for item in data["pods"](50, kind, generator)]
    used = [len(data_need(pod.metadata.labels, {}).names) for pod in pods]
    assert {1, 2, 3} == set(used)
    datasets = [
        thing for thing in map(decode_object, data["objects"](60, generator)) if thing.kind == "DatasetInternal"
    ]
    assert len(datasets) == 500


@pytest.fixture(scope="module")
def gang_days() -> dict[str, Any]:
    return runpy.run_path(str(BENCHMARKS / "gang_days.py"))


def test_days_of_gangs_are_a_row_for_each_mode(gang_days: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert gang_days["main"](["--until", "20m", "--seeds", "2", "--each"]) == 0
    printed, each = capsys.readouterr()
    assert len(each.splitlines()) == 2 * len(gang_days["MODES"])
    opening, _, heading, rule, *rows = printed.splitlines()
    assert opening.startswith("Jobs created: ")
    assert heading == gang_days["HEADING"]
    assert {line.count("|") for line in (heading, rule, *rows)} == {9}
    assert [row.split(" | ")[0] for row in rows] == [f"| {mode}" for mode in gang_days["MODES"]]


def test_a_row_tells_the_least_and_the_most(gang_days: dict[str, Any]) -> None:
    figures = gang_days["DayFigures"]
    days = [
        figures("kube", 0, 1162, 1158, 0.01, 1194.2, 0.0, 0, 0.833, 78.4),
        figures("kube", 1, 1156, 1156, 0.01, 234.4, 2.5, 0, 0.892, 287.0),
    ]
    said = "| kube | 1,158, 1,156 | 0.01 | 234 to 1,194 | 0 to 2.5 | 0 | 83.3 to 89.2 % | 78 to 287 |"
    assert gang_days["row"](days) == said


@pytest.mark.parametrize("arguments", [["--modes", "kube,yunikorn"], ["--seeds", "0"]], ids=["no mode", "no seed"])
def test_days_of_nothing_are_refused(gang_days: dict[str, Any], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        gang_days["main"](arguments)
    assert refused.value.code == 2
