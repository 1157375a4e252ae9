"""`simulate`: a scenario, run, recorded, and run again."""

from pathlib import Path
from typing import Any

import pytest

from fairway.config.plugin_folders import FOLDERS
from fairway.record import RecordError, Run, first_difference
from fairway.scenario.scenario import ScenarioError, decode_scenario, load_scenario
from fairway.scenario.simulate import SimulationRun, Standing, simulate
from tests.cli.scenario_files import small_scenario


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return small_scenario(tmp_path)


def without_timing(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.metrics().flat().items() if not name.startswith("timing_")}


def decisions(done: SimulationRun) -> list[dict[str, Any]]:
    with done.open() as run:
        return [{**row, "cycle_seconds": None} for row in run.decisions.rows()]


@pytest.mark.parametrize("policy", ["default", "packed"])
def test_same_scenario_and_seed_same_decisions_and_metrics(scenario: Path, tmp_path: Path, policy: str) -> None:
    one = simulate(scenario, record=tmp_path / "one.duckdb", policy=policy)
    two = simulate(scenario, record=tmp_path / "two.duckdb", policy=policy)
    assert len(decisions(one)) >= 120
    assert decisions(one) == decisions(two)
    with one.open() as first, two.open() as second:
        assert first_difference(first, second) is None
        assert without_timing(first) == without_timing(second)


def test_another_seed_is_another_day(scenario: Path, tmp_path: Path) -> None:
    one = simulate(scenario, record=tmp_path / "one.duckdb")
    two = simulate(scenario, record=tmp_path / "two.duckdb", seed=5)
    assert (one.seed, two.seed) == (4, 5)
    assert decisions(one) != decisions(two)


def test_recording_changes_nothing(scenario: Path, tmp_path: Path) -> None:
    recorded = simulate(scenario, record=tmp_path / "run.duckdb")
    silent = simulate(scenario)
    assert recorded.result == silent.result
    assert silent.path is None
    with pytest.raises(ValueError, match="not recorded"):
        silent.open()


def test_a_run_can_be_run_again_from_its_own_scenario(scenario: Path, tmp_path: Path) -> None:
    done = simulate(scenario, record=tmp_path / "run.duckdb", policy="packed", seed=9)
    with done.open() as run:
        assert run.meta["policies"] == ["packed"]
        again = simulate(decode_scenario(run.scenario, "kept"), record=tmp_path / "again.duckdb")
    assert again.seed == 9
    assert decisions(again) == decisions(done)


def test_progress_ends_at_one_and_never_goes_back(scenario: Path) -> None:
    standings: list[Standing] = []
    simulate(scenario, progress=standings.append)
    fractions = [standing.fraction for standing in standings]
    assert fractions == sorted(fractions)
    assert standings[-1] == Standing(1.0, 7200.0, 120)


def test_objects_that_are_made_before_the_beginning_are_progress_too(scenario: Path) -> None:
    standings: list[Standing] = []
    simulate(load_scenario(scenario).with_overrides(nodes=25_000, until="1s"), progress=standings.append)
    assert [standing.num_made for standing in standings[:3]] == [0, 10_000, 20_000]
    assert {standing.fraction for standing in standings[:3]} == {0.0}


def test_input_that_was_skipped_is_told(scenario: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 60 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\nnot a job\n")
    done = simulate(load_scenario(scenario).with_overrides(workload=str(log)))
    assert done.result.arrived == 1
    assert len(done.problems) == 1
    assert "log.swf:2" in done.problems[0]


def test_what_is_wrong_is_told_before_it_runs(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"spec\.policies"):
        simulate(scenario, policy="nonsense")
    with pytest.raises(RecordError, match="no directory"):
        simulate(scenario, record=tmp_path / "nowhere" / "run.duckdb")


def test_a_plugin_beside_the_scenario_is_found_and_its_failures_are_told(tmp_path: Path) -> None:
    (tmp_path / "failing_score.py").write_text(
        "from fairway.plugin import Plugin\n\n\nclass Failing(Plugin):\n"
        "    def score(self, pod, nodes, state):\n        raise KeyError('boom')\n"
    )
    (tmp_path / "s.yaml").write_text(
        "apiVersion: fairway.dev/v1alpha1\nkind: Scenario\nspec:\n  end: 1s\n  cluster: {nodes: [{count: 2}]}\n"
        "  workload: {synthetic: {arrivals: {pattern: even, count: 1, over: 1s}, classes: [{name: a}]}}\n"
        "  schedulers: [{config: {profiles: [{plugins: {score: {enabled: [{name: 'failing_score:Failing'}]}}}]}}]\n"
    )
    with FOLDERS.permission(allow_all=True):
        (told,) = simulate(tmp_path / "s.yaml").problems
    assert told.startswith("attempts of default-scheduler that ended in an error: 1, the first for default/pod-a-0: ")
    assert "boom" in told


FEW_JOBS = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
spec:
  cluster: {nodes: [{count: 1, cpu: 8}]}
  workload:
    synthetic:
      arrivals: {pattern: poisson, count: 4, over: 5m}
      classes:
        - {name: job, cpu: 8, duration: 15m, template: {metadata: {labels: {fairway.dev/queue: q}}}}
  batch: {queues: {q: {limits: {default: 20m}}}}
  record: RECORD
"""


@pytest.mark.parametrize(
    ("record", "are_kept"),
    {
        "{}": True,
        "{decisions: none}": False,
        "{estimates: false}": False,
        "{decisions: none, estimates: true}": True,
    }.items(),
)
def test_dates_are_kept_with_decisions_unless_said_otherwise(tmp_path: Path, record: str, are_kept: bool) -> None:
    text = FEW_JOBS.replace("RECORD", record)
    with simulate(decode_scenario(text.encode(), "q.yaml"), record=tmp_path / "run.duckdb").open() as run:
        assert bool(list(run.estimates.rows())) is are_kept
        assert len(list(run.jobs.rows())) == 4
