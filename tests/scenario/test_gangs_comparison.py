"""The scenarios of gangs: which behaviour does better there, as docs/gangs.md says, and ours to the digit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate
from tests.golden.transcript import ROOT

FOLDER = ROOT / "examples" / "scenarios" / "gangs"
FILES = ("hold", "deadlock", "head-of-line", "trickle", "greedy", "pool", "preempt", "rack", "day")
NEVER = float("inf")
SEEDS = range(5)
DAY_SECONDS = 40.0
"""What a day of mode fairway may take, of CPU time."""


@dataclass(frozen=True)
class Numbers:
    """One run: its flat metrics, and what is asked of its tables."""

    metrics: dict[str, float]
    small_wait_p95: float  # of pods that belong to no job
    job_wait_median: float  # jobs that did not start count as waiting for ever
    racks_per_job: float
    first_start: float

    def __getitem__(self, name: str) -> float:
        return self.metrics[name]


Play = Callable[..., Numbers]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Runs a scenario under a policy, once."""
    known: dict[Any, Numbers] = {}
    folder = tmp_path_factory.mktemp("gangs")

    def run(file: str, policy: str, seed: int = 0, until: str | None = None) -> Numbers:
        key = file, policy, seed, until
        if key not in known:
            scenario = load_scenario(FOLDER / f"{file}.yaml").with_overrides(until=until)
            path = folder / f"{'-'.join(map(str, key))}.duckdb"
            simulate(scenario, record=path, policy=policy, seed=seed)
            known[key] = _numbers(path)
            path.unlink()
        return known[key]

    return run


def _numbers(path: Path) -> Numbers:
    with Run.open(path) as run:
        racks = """json_extract_string(n.manifest, '$.metadata.labels."fairway.dev/rack"')"""
        return Numbers(
            run.metrics().flat(),
            _number(run, "quantile_cont(bound_seconds - created_seconds, 0.95) FROM pods WHERE job_id IS NULL"),
            _number(run, "median(coalesce(started_seconds - complete_seconds, 'Infinity'::DOUBLE)) FROM jobs"),
            _number(
                run,
                f"avg(number) FROM (SELECT count(DISTINCT {racks}) AS number FROM pods p JOIN nodes n USING (node_id)"
                " WHERE p.job_id IS NOT NULL AND p.bound_seconds IS NOT NULL GROUP BY p.job_id)",
            ),
            _number(run, "min(started_seconds) FROM jobs"),
        )


def _number(run: Run, what: str) -> float:
    (row,) = run.sql(f"SELECT {what.replace(' FROM', ' AS number FROM', 1)}")
    return NEVER if row["number"] is None else float(row["number"])


def test_all_are_there_and_short() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(FILES)
    for name in FILES:
        assert len((FOLDER / f"{name}.yaml").read_text().splitlines()) <= 40
        scenario = load_scenario(FOLDER / f"{name}.yaml")
        assert {"kube", "coscheduling", "pfnet", "fairway"} <= set(scenario.policy_names)


@pytest.mark.slow
def test_hold(play: Play) -> None:
    kube, coscheduling, fairway = (play("hold", mode) for mode in ("kube", "coscheduling", "fairway"))
    assert coscheduling["partial_hold_node_hours"] > 1
    assert kube["partial_hold_node_hours"] == fairway["partial_hold_node_hours"] == 0
    assert fairway.small_wait_p95 <= coscheduling.small_wait_p95 / 2


@pytest.mark.slow
def test_deadlock(play: Play) -> None:
    kube, coscheduling, fairway = (play("deadlock", mode) for mode in ("kube", "coscheduling", "fairway"))
    assert coscheduling["deadlocks"] >= 1
    assert coscheduling["deadlock_seconds"] > 30
    assert kube["deadlocks"] == fairway["deadlocks"] == 0
    assert fairway.first_start == pytest.approx(10.5, abs=0.1)  # when nodes join, as the second comes
    assert fairway.first_start < kube.first_start < coscheduling.first_start


@pytest.mark.slow
def test_head_of_line(play: Play) -> None:
    modes = ("fairway", "coscheduling", "oldest-first")
    waits = [play("head-of-line", mode).job_wait_median for mode in modes]
    assert waits == sorted(waits)
    assert waits[0] < waits[1] < waits[2]


@pytest.mark.slow
def test_trickle(play: Play) -> None:
    coscheduling, pfnet, fairway = (play("trickle", mode) for mode in ("coscheduling", "pfnet", "fairway"))
    assert fairway["job_start_spread_max"] <= 1
    assert coscheduling["partial_hold_node_hours"] > 0
    assert pfnet["partial_hold_node_hours"] > 0
    assert fairway["partial_hold_node_hours"] == 0


@pytest.mark.slow
def test_greedy(play: Play) -> None:
    assert play("greedy", "kube")["jobs_started"] == 0
    assert play("greedy", "fairway")["jobs_started"] == 1
    assert play("greedy", "fairway")["job_wait_max"] < 0.1


@pytest.mark.slow
def test_pool(play: Play) -> None:
    assert play("pool", "pfnet")["job_wait_p50"] > 3590
    assert play("pool", "pfnet")["pooled_seconds"] > 2 * 3590
    for mode in ("kube", "coscheduling", "fairway"):
        assert play("pool", mode)["job_wait_max"] < 1


@pytest.mark.slow
def test_preempt(play: Play) -> None:
    kube, fairway = play("preempt", "kube"), play("preempt", "fairway")
    assert kube["jobs_started"] == fairway["jobs_started"] == 1  # the narrow one; the wide one can not
    assert kube["pods_preempted"] > 6
    assert fairway["pods_preempted"] == 6  # each for the start of the narrow one: no victim in vain, none twice


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_rack(play: Play, seed: int) -> None:
    kube, fairway = play("rack", "kube", seed), play("rack", "fairway", seed)
    assert kube["jobs_started"] < kube["jobs_created"]  # racks are full enough that some wait
    assert fairway["jobs_started"] >= kube["jobs_started"]
    assert kube.racks_per_job == fairway.racks_per_job == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_day_begins(play: Play, seed: int) -> None:
    for mode in ("kube", "fairway"):
        numbers = play("day", mode, seed, until="4h")
        assert (numbers["partial_hold_node_hours"], numbers["deadlocks"]) == (0, 0)


@pytest.mark.slow
def test_a_day(play: Play) -> None:
    """All of it, 20,000 pods; mode kube takes minutes for it."""
    begun = process_time()
    numbers = play("day", "fairway")
    assert process_time() - begun < 2 * DAY_SECONDS  # on a busy machine
    assert numbers["pods_created"] > 20_000
    assert (numbers["partial_hold_node_hours"], numbers["deadlocks"]) == (0, 0)
    assert (numbers["jobs_started"], numbers["jobs_created"]) == (1157, 1162)


OURS = {
    "hold": (0, None, None, 58, 0.000925),
    "deadlock": (2, 300.77, 571.004, 17, 0.310413),
    "head-of-line": (50, 0.01, 0.01, 171, 0.045259),
    "trickle": (1, 1171.02, 1171.02, 25, 0.379202),
    "greedy": (1, 0.01, 0.01, 1, 0.27316),
    "pool": (2, 0.01, 0.01, 2, 0.073051),
    "preempt": (1, 1.01, 1.01, 36, 0.750485),
    "rack": (179, 0.01, 49.987, 317, 0.627317),
    "day": (209, 0.01, 0.01, 290, 0.59221),
}
"""Mode fairway: jobs started, median and 95th percentile of their waits, attempts, utilisation of CPU."""


@pytest.mark.slow
@pytest.mark.parametrize("file", OURS)
def test_our_own_numbers(play: Play, file: str) -> None:
    ours = play(file, "fairway", until="4h" if file == "day" else None).metrics
    waits = [round(ours[name], 3) if name in ours else None for name in ("job_wait_p50", "job_wait_p95")]
    found = ours["jobs_started"], *waits, ours["job_attempts"], round(ours["utilisation_cpu"], 6)
    assert found == OURS[file]
    assert (ours["partial_hold_node_hours"], ours["deadlocks"]) == (0, 0)
