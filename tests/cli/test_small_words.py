"""What commands say in passing: numbers and words agree, and what they propose can be pasted and has an answer."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.cli.scenario_files import SCENARIO, small_scenario
from tests.cli.trial_files import Folder, controller
from tests.explain.run_files import busy_run

NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
ONE_NODE = SCENARIO.replace("count: 6", "count: 1").split("  policies:")[0]


@pytest.fixture
def place(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(folder.path)
    folder.write("node.yaml", NODE)
    folder.write("pod.yaml", POD)
    folder.write("one.yaml", ONE_NODE)
    small_scenario(folder.path)
    return folder


def proposals(err: str) -> list[str]:
    return [line.removeprefix("→ ") for line in err.splitlines() if line.startswith("→ fairway")]


def test_one_pod_is_made(place: Folder) -> None:
    place.write("job.yaml", controller("Job", "j"))
    assert "made 1 pod: 1 of Job default/j" in place.run("try", "-f", "job.yaml", "--cluster", "node.yaml").err


def test_of_many_things_that_make_pods_a_few_are_named(place: Folder) -> None:
    place.write("jobs.json", *(controller("Job", f"j{number}") for number in range(6)))
    err = place.run("try", "-f", "jobs.json", "--cluster", "node.yaml").err
    named = ", ".join(f"1 of Job default/j{number}" for number in range(4))
    assert f"made 6 pods: {named} and 2 more\n" in err


def test_runs_that_part_can_be_kept_by_the_command_that_is_named(place: Folder) -> None:
    printed = place.run("compare", "small.yaml", "--until", "20m", "--jobs", "1")
    (named,) = proposals(printed.err)
    assert named == "fairway compare small.yaml --until 20m --jobs 1 --save compared.duckdb"
    again = place.run(*shlex.split(named)[1:])
    assert again.code == 0
    (asked,) = [line.partition(" → fairway ")[2] for line in again.out.splitlines() if line.startswith("first diff")]
    assert place.run(*shlex.split(asked)).code == 0


def test_a_pod_that_did_not_wait_went_at_once(place: Folder) -> None:
    printed = place.run("sim", "--nodes", "node.yaml", "--workload", "pod.yaml", "--save", "run.duckdb")
    assert "waited longest" not in printed.err
    assert "→ fairway why default/p --run run.duckdb   # why there?" in printed.err
    assert "default/p went to n1 at once · 1 attempt" in place.run("why", "p", "--run", "run.duckdb").out


def test_who_waited_longest_is_named_if_anybody_waited(place: Folder) -> None:
    printed = place.run("sim", "one.yaml", "--save", "run.duckdb")
    assert "# the pod that waited longest" in printed.err


SIMULATIONS = {
    "a scenario": ["small.yaml"],
    "of two policies": ["small.yaml", "--policy", "packed", "--policy", "default"],
    "of one node": ["one.yaml"],
    "no scenario": ["--nodes", "node.yaml", "--workload", "pod.yaml"],
    "kept": ["one.yaml", "--save", "kept.duckdb"],
}


@pytest.mark.parametrize("words", SIMULATIONS.values(), ids=SIMULATIONS)
def test_what_is_proposed_can_be_pasted(place: Folder, words: list[str]) -> None:
    printed = place.run("sim", *words, "--until", "20m")
    assert printed.code == 0
    assert proposals(printed.err)
    for line in proposals(printed.err):
        again = place.run(*shlex.split(line, comments=True)[1:])
        assert again.code in (0, 3), (line, again.err)


def test_nothing_is_proposed_that_has_no_answer(place: Folder) -> None:
    one = place.run("sim", "one.yaml").err
    assert "fewer nodes" not in one
    assert "FILE" not in one
    files = place.run("sim", "--nodes", "node.yaml", "--workload", "pod.yaml").err
    assert "--seed" not in files
    assert "FILE" not in files
    assert "would fewer nodes do?" in place.run("sim", "small.yaml").err


def test_where_most_pods_wait_no_fewer_nodes_are_proposed(place: Folder) -> None:
    place.write("crowded.yaml", SCENARIO.replace("count: 6", "count: 2").replace("duration: 5m", "duration: 30m"))
    (line,) = [line for line in proposals(place.run("sim", "crowded.yaml").err) if "how many nodes" in line]
    assert line.startswith("fairway sim crowded.yaml --fewest-nodes 'wait_p95<60s'")
    assert "keep wait_p95<60s" in place.run(*shlex.split(line, comments=True)[1:]).out
    assert "fewer nodes" not in place.run("sim", "crowded.yaml").err


def test_a_label_that_no_node_has_is_an_error_with_near_names(place: Folder) -> None:
    run = busy_run(place.path)
    printed = place.run("status", "--run", run, "--by", "topology.kubernetes.io/zones")
    assert (printed.code, printed.out) == (2, "")
    assert "no node has that label" in printed.err
    assert "did you mean topology.kubernetes.io/zone?" in printed.err
    assert "did you mean kubernetes.io/hostname?" in place.run("status", "--run", run, "--by", "host").err
    assert "there are: kubernetes.io/hostname" in place.run("status", "--run", run, "--by", "qqq").err


def test_runs_that_have_nothing_to_do_with_each_other_are_warned_of(place: Folder) -> None:
    place.run("sim", "small.yaml", "--save", "small.duckdb", "--until", "10m")
    place.run("sim", "small.yaml", "--save", "other.duckdb", "--until", "10m", "--policy", "packed", "--seed", "9")
    assert "warning" not in place.run("compare", "small.duckdb", "other.duckdb").err
    printed = place.run("compare", "small.duckdb", busy_run(place.path))
    assert printed.code == 0
    assert printed.err.startswith("warning: small.duckdb and ")
    assert "different scenarios (small, busy), which differ in cluster and workload" in printed.err


def test_a_plain_value_judges_the_first_policy_too(place: Folder) -> None:
    words = ["compare", "small.yaml", "--policy", "default", "--policy", "packed", "--until", "20m", "--jobs", "1"]
    printed = place.run(*words, "--fail-if", "pods_created>0")
    assert printed.code == 3
    assert [line.split(":")[1].strip() for line in printed.err.splitlines() if line.startswith("failed")] == [
        "default",
        "packed",
    ]
    assert place.run(*words, "--fail-if", "pods_created>+0").code == 0


def test_why_finds_the_plugins_of_another_folder_again(place: Folder) -> None:
    """As it is pasted into a shell, which has imported nothing before."""
    for name in ("start-together.yaml", "start_together.py"):
        (place.path / "plugins").mkdir(exist_ok=True)
        shutil.copy(Path(__file__).parents[2] / "examples" / "plugins" / name, place.path / "plugins")
    fairway = f"{shlex.quote(sys.executable)} -P -m fairway"
    begun = f"{fairway} sim plugins/start-together.yaml --allow-plugins --save run.duckdb"
    simulated = subprocess.run(shlex.split(begun), capture_output=True, text=True, check=True)
    named = next(line for line in simulated.stderr.splitlines() if "fairway why" in line).removeprefix("→ ")
    assert named.startswith("PYTHONPATH=plugins fairway why ")
    asked = subprocess.run(
        ["sh", "-c", named.replace("fairway why", f"{fairway} why", 1)], capture_output=True, text=True, check=False
    )
    assert "Held: on " in asked.stdout, asked.stderr


def test_a_run_of_an_older_version_says_so(place: Folder) -> None:
    path = Path(busy_run(place.path))
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'schema_version'")
    printed = place.run("status", "--run", str(path))
    assert printed.code == 1
    assert "in version 0 of the tables; this one reads version 1 at least" in printed.err
