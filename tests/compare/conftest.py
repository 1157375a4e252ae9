"""Fixtures: a folder in which commands are run, as in the tests of the command line; and runs to compare."""

from pathlib import Path

import pytest

from fairway.scenario.simulate import simulate
from tests.cli.conftest import folder
from tests.cli.scenario_files import small_scenario

__all__ = ["folder"]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Path]:
    """Two policies, two seeds, recorded."""
    place = tmp_path_factory.mktemp("runs")
    scenario = small_scenario(place)
    made = {}
    for policy in ("default", "packed"):
        for seed in (4, 5):
            made[policy, seed] = place / f"{policy}-{seed}.duckdb"
            simulate(scenario, record=made[policy, seed], policy=policy, seed=seed)
    return made
