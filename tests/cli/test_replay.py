"""`fairway sim --replay`: a recorded run comes out the same, and when it does not, one is told where."""

from pathlib import Path

import duckdb
import pytest

from fairway.record import RunWriter
from tests.cli.scenario_files import small_scenario
from tests.cli.trial_files import Folder

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("day.yaml", ("--nodes", "60", "--until", "2h")),
        ("faults.yaml", ()),
        ("files.yaml", ()),
        ("two-schedulers.yaml", ()),
    ],
    ids=["day", "faults", "files", "two-schedulers"],
)
def test_every_example_replays_to_the_same_rows(folder: Folder, name: str, options: tuple[str, ...]) -> None:
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", str(EXAMPLES / name), *options, "--save", run).code == 0
    printed = folder.run("sim", "--replay", run)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith("the same: ")


def test_the_policy_that_was_used_is_replayed_even_if_another_is_called_default(folder: Folder) -> None:
    scenario = small_scenario(folder.path)
    text = scenario.read_text()
    scenario.write_text(text + "    default: {config: {percentageOfNodesToScore: 100}}\n")
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", str(scenario), "--profile", "packed", "--seed", "9", "--save", run).code == 0
    document = folder.run("sim", "--replay", run, "-o", "json").document
    assert document["same"] is True
    assert document["decisions"] >= 120


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "UPDATE decisions SET node = (SELECT min(node) FROM nodes WHERE node <> decisions.node)"
            " WHERE decision_id = 7",
            "not the same: decisions, row 8",
        ),
        ("DELETE FROM decisions WHERE decision_id > 20", "not the same: decisions, row 22"),
        ("UPDATE occupancy SET cpu_milli = 1", "not the same: occupancy, row 1\n"),
        ("UPDATE decisions SET cycle_seconds = 99", "the same: "),
    ],
    ids=["another node", "fewer", "another table", "measured time does not count"],
)
def test_a_difference_is_told(folder: Folder, change: str, words: str) -> None:
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", str(small_scenario(folder.path)), "--save", run).code == 0
    with duckdb.connect(run) as connection:
        connection.execute(change)
    printed = folder.run("sim", "--replay", run)
    assert printed.out.startswith(words)
    assert printed.code == (0 if words == "the same: " else 3)


def test_what_can_not_be_replayed_says_why(folder: Folder) -> None:
    cut = folder.path / "cut.duckdb"
    with RunWriter(cut, scenario={"kind": "Scenario"}, seed=1) as made:
        made.interrupt(1.0, "the power went")
    live = folder.path / "live.duckdb"
    with RunWriter(live, scenario={}, seed=0) as made:
        made.close(1.0)
    assert (
        "is incomplete, so it can not come out the same: the power went" in folder.run("sim", "--replay", str(cut)).err
    )
    assert "was not simulated" in folder.run("sim", "--replay", str(live)).err
    printed = folder.run("sim", "--replay", str(cut), "--seed", "2", "--plugin-times")
    assert printed.code == 2
    assert "leave out --seed, --plugin-times" in printed.err
