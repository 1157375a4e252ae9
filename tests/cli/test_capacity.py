"""How many nodes would do, and what a day costs: `sim --fewest-nodes`, `--prices`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from tests.cli.scenario_files import small_scenario
from tests.golden.transcript import ROOT, is_shown, run, shown_steps


def sim(*args: Any) -> int:
    return main(["sim", *map(str, args)])


def test_the_smallest_cluster_is_the_one_that_trying_every_size_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = small_scenario(tmp_path)
    assert sim(scenario, "--fewest-nodes", "wait_p95<2m", "-o", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    kept = {}
    for size in range(1, 9):
        sim(scenario, "--nodes", size, "-o", "json")
        metrics = json.loads(capsys.readouterr().out)["metrics"]
        wait = metrics["wait"]["p95"]
        kept[size] = wait is not None and wait < 120 and metrics["pods"]["waiting"] == 0
    assert found["fewestNodes"] == min(size for size, is_kept in kept.items() if is_kept)
    assert {one["nodes"]: one["kept"] for one in found["tried"] if one["nodes"] in kept}.items() <= kept.items()


def test_every_policy_has_its_own_and_none_may_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = small_scenario(tmp_path)
    policies = ("--policy", "default", "--policy", "packed")
    assert sim(scenario, *policies, "--fewest-nodes", "pods_created<=1") == 3
    out, err = capsys.readouterr()
    assert "default: no size up to 96 nodes keeps pods_created<=1" in out
    assert "packed: no size up to 96 nodes keeps pods_created<=1" in out
    assert "packed · 6 nodes: no" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fewest-nodes", "wait_p95"], "is no condition; write one such as wait_p95<60s"),
        (["--fewest-nodes", "wait_p95<+5%"], "asks for a change"),
        (
            ["--fewest-nodes", "wait_p95<60s", "--save", "x.duckdb"],
            "--fewest-nodes keeps no run: leave out --save, --stream and --print-scenario",
        ),
    ],
)
def test_what_makes_no_sense_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert sim(small_scenario(tmp_path), *arguments) == 2
    assert told in capsys.readouterr().err


def test_prices_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prices.yaml").write_text('"n-*": 0.5\n')
    assert sim(small_scenario(tmp_path), "--prices", tmp_path / "prices.yaml") == 0
    values = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert values["cost per day"] == "72"
    assert float(values["cost used per day"]) < 72
    (tmp_path / "prices.yaml").write_text("n-0: cheap\n")
    assert sim(small_scenario(tmp_path), "--prices", tmp_path / "prices.yaml") == 1
    assert "spec.cluster.prices: " in (err := capsys.readouterr().err)
    assert "is no price of n-0; allowed: a number, 0 or more" in err


def test_the_page_about_scenarios_shows_what_is_printed() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text()
    (step,) = (step for step in shown_steps(page) if "--fewest-nodes" in step.command)
    printed = run(step.command)
    assert is_shown(step.printed, printed), printed
