"""Simulations to compare, in one process or in two: the same results, in the order of the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fairway.compare.policies import policies_of
from fairway.compare.simulations import Finished, SimulationJob, run_jobs
from fairway.record import Run
from fairway.record.errors import RecordError
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import Standing
from tests.cli.scenario_files import small_scenario


def jobs_in(folder: Path) -> list[SimulationJob]:
    """Two policies, a seed each, and another seed of the first."""
    folder.mkdir()
    scenario = load_scenario(small_scenario(folder))
    pairs = [("packed", 4), ("default", 4), ("packed", 5)]
    return [SimulationJob(scenario, policy, seed, str(folder / f"{policy}-{seed}")) for policy, seed in pairs]


def told(finished: Sequence[Finished]) -> list[dict[str, float]]:
    """What the runs came to, without what was measured on a clock."""
    flat = [one.metrics.flat() for one in finished]
    return [{name: value for name, value in one.items() if not name.startswith("timing_")} for one in flat]


def test_processes_change_nothing_but_how_long_it_takes(tmp_path: Path) -> None:
    heard: list[Sequence[Standing]] = []
    jobs = jobs_in(tmp_path / "alone")
    alone = run_jobs(jobs, 1, heard.append)
    together = run_jobs(jobs_in(tmp_path / "together"), 2)
    for finished in (alone, together):
        assert [(one.policy, one.seed) for one in finished] == [("packed", 4), ("default", 4), ("packed", 5)]
        assert all((one.num_errors, one.problems) == (0, []) for one in finished)
        assert all(one.cpu_seconds > 0 for one in finished)
    assert told(alone) == told(together)
    assert told(alone)[0] != told(alone)[1]  # the policy matters
    assert told(alone)[0] != told(alone)[2]  # and so does the seed
    for job, one in zip(jobs, alone, strict=True):
        with Run.open(job.path) as run:
            assert (run.seed, run.end_seconds) == (job.seed, one.end_seconds)
            assert run.metrics() == one.metrics
    # One who listens hears of all of them each time; what is done stays done, and nothing goes back.
    assert heard
    assert all(len(standings) == len(jobs) for standings in heard)
    for number in range(len(jobs)):
        fractions = [standings[number].fraction for standings in heard]
        assert fractions == sorted(fractions)
        assert fractions[-1] > 0.5
    columns = policies_of(alone)
    assert [(column.name, column.seeds) for column in columns] == [("packed", [4, 5]), ("default", [4])]
    assert columns[0].paths == {4: jobs[0].path, 5: jobs[2].path}


def test_the_first_failure_is_raised(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path / "runs")
    jobs[1] = replace(jobs[1], path=str(tmp_path / "no" / "such" / "folder" / "run"))
    with pytest.raises(RecordError, match="there is no directory"):
        run_jobs(jobs, 1)
    assert Path(jobs[0].path).exists()
    assert not Path(jobs[2].path).exists()
