"""`fairway status` on a recorded run."""

import csv
import io
import json
import re

import pytest

from fairway.record import Run, RunWriter
from tests.cli.scenario_files import small_scenario
from tests.cli.trial_files import Folder
from tests.explain.run_files import busy_run

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return busy_run(tmp_path_factory.mktemp("run"))


def test_what_is_held_and_who_waits_agree_with_the_run(run: str, folder: Folder) -> None:
    with Run.open(run) as opened:
        times = [row["time_seconds"] for row in opened.sql("SELECT DISTINCT time_seconds FROM decisions")][::25]
        pods = list(opened.pods)
    for at in times:
        document = folder.run("status", "--run", run, "--at", str(at), "--nodes", "-o", "json").document
        there = [row for row in pods if row["created_seconds"] <= at and (row["ended_seconds"] or at + 1) > at]
        held = [row for row in there if row["bound_seconds"] is not None and row["bound_seconds"] <= at]
        assert document["podsOnNodes"] == len(held)
        assert document["podsWaiting"] == len(there) - len(held) == sum(one["pods"] for one in document["waiting"])
        amounts = {one["resource"]: one for one in document["resources"]}
        cpu = sum(row["cpu_milli"] for row in held)
        assert amounts["cpu"]["used"] == cpu == sum(node["cpu"] for node in document["perNode"])
        assert amounts["cpu"]["free"] == 20_000 - cpu
        assert amounts["cpu"]["utilisation"] == cpu / 20_000
        assert amounts["cpu"]["mostFree"] == max(4_000 - node["cpu"] for node in document["perNode"])


def test_the_end_in_words(run: str, folder: Folder) -> None:
    printed = folder.run("status", "--run", run)
    assert printed.code == 0
    first, *lines = printed.out.splitlines()
    assert first.startswith("00:30:00 · 5 nodes · ")
    assert first.endswith(" · 1 waiting")
    assert any("1   NodeResourcesFit: Insufficient cpu" in line and "never-huge-0" in line for line in lines)
    assert printed.err == f"→ fairway why default/never-huge-0 --run {run} --at 00:30:00\n"


def test_nodes_by_label(run: str, folder: Folder) -> None:
    printed = folder.run("status", "--run", run, "--at", "10m", "--by", ZONE, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert [(row[ZONE], row["nodes"], row["allocatable_cpu"]) for row in rows] == [
        ("zone-0", "3", "12000"),
        ("zone-1", "2", "8000"),
    ]
    none = folder.run("status", "--run", run, "--by", "no-such-label", "-o", "json")
    assert (none.code, none.out) == (2, "")
    assert "no node has that label" in none.err


def test_every_node_in_words(run: str, folder: Folder) -> None:
    printed = folder.run("status", "--run", run, "--at", "0", "--nodes")
    assert re.fullmatch(r"n-4 +Ready +0 of 110 +0 of 4 \(0%\) +0 of 16Gi \(0%\)", printed.out.splitlines()[-1])


def test_nodes_that_are_lost_or_cordoned_are_told(folder: Folder) -> None:
    scenario = {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {
            "end": "10m",
            "cluster": {"nodes": [{"name": "n-{}", "count": 3, "cpu": 4, "memory": "8Gi"}]},
            "workload": {
                "synthetic": {
                    "arrivals": {"pattern": "even", "count": 2, "over": "1m"},
                    "classes": [{"name": "c", "cpu": 1}],
                }
            },
            "faults": [
                {"at": "1m", "node": "n-0", "action": "lose"},
                {"at": "1m", "node": "n-1", "action": "cordon"},
            ],
        },
    }
    path = str(folder.path / "run.duckdb")
    assert folder.run("sim", folder.write("s.yaml", json.dumps(scenario)), "--save", path).code == 0
    printed = folder.run("status", "--run", path, "--at", "5m")
    assert "3 nodes · 1 not ready · 1 cordoned" in printed.out
    document = folder.run("status", "--run", path, "--at", "5m", "-o", "json").document
    assert (document["ready"], document["cordoned"]) == (2, 1)
    assert {one["resource"]: one["of"] for one in document["resources"]}["cpu"] == 8_000


MISTAKES = {
    "no run": ((), 2, "of what? --run RUN"),
    "no such file": (("--run", "none.duckdb"), 1, "none.duckdb"),
    "after the end": (("--run", "{run}", "--at", "1h"), 2, "the run ended before 01:00:00"),
    "both tables": (
        ("--run", "{run}", "--nodes", "--by", ZONE),
        2,
        "--nodes, --by, --plugins and --data exclude each other",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(run: str, folder: Folder, arguments: tuple[str, ...], code: int, words: str) -> None:
    printed = folder.run("status", *(word.format(run=run) for word in arguments))
    assert (printed.code, printed.out) == (code, "")
    assert words in printed.err


def test_what_plugins_took(folder: Folder) -> None:
    scenario = small_scenario(folder.path)
    path = str(folder.path / "timed.duckdb")
    assert folder.run("sim", str(scenario), "--plugin-times", "--save", path).code == 0
    printed = folder.run("status", "--run", path, "--plugins")
    assert re.match(r"\d+ attempts took .* s of CPU, \d+ µs each; plugins .* s\n\nPLUGIN +POINT +CALLS", printed.out)
    document = folder.run("status", "--run", path, "--plugins", "-o", "json").document
    shares = {(one["plugin"], one["point"]): one for one in document["plugins"]}
    assert shares["NodeResourcesFit", "Filter"]["calls"] > 0
    assert sum(one["share"] for one in shares.values()) == pytest.approx(1.0)
    with Run.open(path) as run:
        measured = run.metrics().timing.plugin_seconds
        outside = run.sql("SELECT plugin, point FROM plugin_times WHERE decision_id IS NULL").rows()
        assert {one["point"] for one in outside} == {"PreEnqueue"}
        (row,) = run.sql(
            """
            SELECT count(*) AS num FROM decisions JOIN (
              SELECT decision_id, sum(cpu_seconds) AS used FROM plugin_times GROUP BY decision_id
            ) USING (decision_id) WHERE used > cycle_seconds
            """
        ).rows()
        assert row["num"] == 0, "plugins can not take longer than the attempt they work in"
    for (plugin, point), one in shares.items():
        assert measured[plugin][point] == pytest.approx(one["cpuSeconds"])
    early = folder.run("status", "--run", path, "--plugins", "--at", "10m", "-o", "json").document
    assert 0 < early["attempts"] < document["attempts"]


def test_plugin_times_that_nobody_measured(run: str, folder: Folder) -> None:
    printed = folder.run("status", "--run", run, "--plugins")
    assert printed.code == 1
    assert "nobody measured it" in printed.err
    assert "--plugin-times" in printed.err


def test_a_run_that_was_cut_short_says_so(folder: Folder) -> None:
    cut = folder.path / "cut.duckdb"
    with RunWriter(cut, scenario={"kind": "Scenario"}, seed=1) as made:
        made.interrupt(90.0, "the power went")
    printed = folder.run("status", "--run", str(cut))
    assert printed.err == f"note: {cut} is incomplete, it ends at 00:01:30: the power went\n"
