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
    assert folder.run("sim", str(scenario), "--policy", "packed", "--seed", "9", "--save", run).code == 0
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


def test_an_anonymous_run_is_decided_again_attempt_by_attempt(folder: Folder) -> None:
    """The whole way: simulated, recorded, given other names, replayed."""
    run, nobody = str(folder.path / "run.duckdb"), str(folder.path / "nobody.duckdb")
    assert folder.run("sim", str(small_scenario(folder.path)), "--save", run).code == 0
    assert folder.run("export", run, nobody, "--anonymise").code == 0
    printed = folder.run("sim", "--replay", nobody)
    assert (printed.code, printed.err) == (0, "")
    first, second = printed.out.splitlines()
    assert first.endswith("is an anonymous run of a simulation: each attempt was made again, on the cluster as it was")
    document = folder.run("sim", "--replay", nobody, "-o", "json").document
    assert document["same"] is document["anonymous"] is True
    assert document["counts"]["same"] == document["decisions"] >= 120
    assert second == f"the same: {document['decisions']} decisions"


def test_a_run_that_was_cut_short_is_decided_again_as_far_as_it_goes(folder: Folder) -> None:
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", str(small_scenario(folder.path)), "--save", run).code == 0
    with duckdb.connect(run) as connection:
        connection.execute("UPDATE meta SET value = 'false' WHERE key = 'complete'")
    printed = folder.run("sim", "--replay", run)
    assert printed.code == 0
    assert "is a run of a simulation: each attempt was made again" in printed.out
    assert "is incomplete, it ends at" in printed.err
    with duckdb.connect(run) as connection:
        connection.execute("UPDATE decisions SET outcome = 'unschedulable', node = NULL WHERE decision_id = 3")
    printed = folder.run("sim", "--replay", run)
    assert printed.code == 3
    assert printed.out.splitlines()[1].startswith("not the same: 1 of ")
    assert "it was unschedulable, now it went to n-" in printed.out
    assert f"--run {run} --attempt 1" in printed.err


def test_a_run_of_an_older_schema_is_decided_again(folder: Folder) -> None:
    run = str(folder.path / "run.duckdb")
    assert folder.run("sim", str(small_scenario(folder.path)), "--save", run).code == 0
    with duckdb.connect(run) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'")
        connection.execute("DELETE FROM meta WHERE key IN ('schedulers', 'origin', 'anonymous')")
    printed = folder.run("sim", "--replay", run)
    assert printed.code == 0
    assert "note: a run of an older schema (version 1), written by Fairway " in printed.err


def test_what_can_not_be_replayed_says_why(folder: Folder) -> None:
    cut = folder.path / "cut.duckdb"
    with RunWriter(cut, scenario={"kind": "Scenario"}, seed=1) as made:
        made.interrupt(1.0, "the power went")
    live = folder.path / "live.duckdb"
    with RunWriter(live, scenario={}, seed=0, origin="live") as made:
        made.close(1.0)
    assert "has no decisions to make again: it kept none" in folder.run("sim", "--replay", str(cut)).err
    printed = folder.run("sim", "--replay", str(live))
    assert printed.code == 1
    assert "has no decisions to make again: somebody else scheduled this cluster" in printed.err
    printed = folder.run("sim", "--replay", str(cut), "--seed", "2", "--plugin-times")
    assert printed.code == 2
    assert "leave out --seed, --plugin-times" in printed.err
