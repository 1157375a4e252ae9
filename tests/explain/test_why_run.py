"""`fairway why` and `fairway try` on a recorded run."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from fairway.explain.run_moment import Moment
from fairway.explain.run_trial import pod_trial
from fairway.explain.trial import Trial
from fairway.record import Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import pod as make_pod
from fairway.words import length_text, time_text
from tests.cli.trial_files import Folder
from tests.explain.run_files import LATE, QUICK, SLOW, busy_run

HUGE = "default/never-huge-0"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return busy_run(tmp_path_factory.mktemp("run"))


def one_row(run: str, query: str) -> dict[str, Any]:
    with Run.open(run) as opened:
        return next(opened.sql(query).rows())


@pytest.mark.parametrize("scheduler", [QUICK, SLOW, LATE], ids=["quick", "slow", "late"])
def test_the_cluster_of_an_attempt_leads_to_the_recorded_decision_again(tmp_path: Path, scheduler: str) -> None:
    outcomes = set()
    with Run.open(busy_run(tmp_path, scheduler)) as run:
        pods = {row["pod_id"]: row for row in run.pods}
        waited = [number for number, row in pods.items() if row["attempts"] > 1]
        rows = [row for row in run.decisions if row["pod_id"] in waited and row["pod"] != HUGE]
        chosen = [row for place, row in enumerate(rows) if place % 3 == 0 or row["nominated_node"]]
        for row in chosen:
            trial, pod, wanted = pod_trial(run, pods[row["pod_id"]], Moment(row["time_seconds"], row))
            profile = trial.profile_of(pod)
            assert profile is not None
            if row["outcome"] == "scheduled":
                found = profile.inspect(pod)
                assert row["node"] in found.feasible
                assert row["via"] == "nominated" or row["num_feasible"] == len(found.feasible)
                assert row["score"] in (None, found.totals.get(row["node"]))
            else:
                verdict = Trial.place(trial, pod, wanted)  # without what the run says
                assert verdict.message == row["message"]
                assert (verdict.node or None) == row["nominated_node"]
            outcomes.add((row["outcome"], bool(row["nominated_node"])))
    assert outcomes == {("scheduled", False), ("unschedulable", False), ("unschedulable", True)}


def test_a_pod_that_waits_is_explained_at_the_end_with_its_story(run: str, folder: Folder) -> None:
    printed = folder.run("why", "never-huge-0", "--run", run)
    assert printed.code == 3
    first, *lines = printed.out.splitlines()
    assert re.fullmatch(rf"{HUGE} is waiting, 29m \d+s · \d+ attempts?", first)
    assert any("none of 5 nodes: NodeResourcesFit 5 Insufficient cpu" in line for line in lines)
    assert "00:30:00:" in lines
    assert f"{HUGE} fits on none of 5 nodes" in lines
    assert any(line.startswith("  fix  ask for ") for line in lines)
    assert printed.err.startswith(f"→ fairway why {HUGE} --node n-")


def test_a_fix_is_true_on_the_same_cluster(run: str, folder: Folder) -> None:
    document = folder.run("why", HUGE, "--run", run, "--at", "30m", "-o", "json").document
    (fix,) = (fix for fix in document["fixes"] if fix["changes"][0].startswith("ask for "))
    words = re.fullmatch(r"ask for (\S+) cpu instead of 6", fix["changes"][0])
    assert words is not None
    for cpu, code in ((words[1], 0), ("6", 3)):
        file = folder.write("pod.json", make_pod("x", cpu=cpu, memory="2Gi", priority=-1))
        tried = folder.run("try", "-f", file, "--run", run, "--at", "30m", "-o", "json")
        assert tried.code == code
        assert not code or tried.document["pods"][0]["node"] is None
        assert code or tried.document["pods"][0]["node"] in fix["nodes"]


def test_attempts_add_up_and_the_story_is_complete(run: str, folder: Folder) -> None:
    row = one_row(run, "SELECT * FROM pods WHERE bound_seconds IS NOT NULL ORDER BY attempts DESC, pod_id LIMIT 1")
    printed = folder.run("why", row["pod"], "--run", run, "-o", "json")
    assert printed.code == 0
    document = printed.document
    story = document["story"]
    assert document["node"] == story["node"] == row["node"]
    assert document["attempt"] == story["numAttempts"] == len(story["attempts"]) == row["attempts"]
    assert story["waitedSeconds"] == row["bound_seconds"] - row["created_seconds"] > 0
    *failed, last = story["attempts"]
    assert last["node"] == row["node"]
    for attempt in failed:
        assert attempt["outcome"] == "unschedulable"
        assert sum(step["refused"] for step in attempt["funnel"]) == attempt["nodes"] == 5
        assert attempt["funnel"][-1]["left"] == 0
        for step in attempt["funnel"]:
            assert sum(reason["nodes"] for reason in step["reasons"]) == step["refused"]
    tries = sum(move["number"] for move in story["queueMoves"] if move["place"] == "in_flight")
    assert tries == row["attempts"]


def test_an_attempt_can_be_chosen_and_one_node_of_it(run: str, folder: Folder) -> None:
    row = one_row(run, "SELECT * FROM decisions WHERE nominated_node IS NOT NULL LIMIT 1")
    printed = folder.run("why", row["pod"], "--run", run, "--attempt", str(row["attempt"]))
    assert printed.code == 0
    assert f"{time_text(row['time_seconds'])}, attempt {row['attempt']}:" in printed.out
    assert f"goes to {row['nominated_node']} after evicting" in printed.out
    assert f"makes room on {row['nominated_node']} by evicting" in printed.out
    node = folder.run("why", row["pod"], "--run", run, "--attempt", str(row["attempt"]), "--node", "n-0")
    assert "does not fit on n-0 · NodeResourcesFit: Insufficient cpu" in node.out
    every = folder.run("why", row["pod"], "--run", run, "--attempt", str(row["attempt"]), "--all-nodes")
    assert all(f"\nn-{number} " in every.out for number in range(5))


def test_a_pod_on_a_node_by_then_is_explained_when_it_got_it(run: str, folder: Folder) -> None:
    row = one_row(run, "SELECT * FROM pods WHERE started_seconds IS NOT NULL ORDER BY pod_id LIMIT 1")
    for options in ((), ("--at", str(row["started_seconds"]))):
        document = folder.run("why", row["pod"], "--run", run, *options, "-o", "json").document
        assert (document["atSeconds"], document["attempt"]) == (row["created_seconds"], 1)
        assert (document["result"], document["node"]) == ("scheduled", row["node"])


def test_a_run_without_decisions_still_explains(tmp_path: Path, folder: Folder) -> None:
    run = busy_run(tmp_path, decisions="none")
    printed = folder.run("why", HUGE, "--run", run)
    assert printed.code == 3
    assert re.search(r"\d+ attempts were not kept", printed.out)
    assert "fits on none of 5 nodes" in printed.out
    assert folder.run("why", "low-s-0", "--run", run).code == 0


MISTAKES = {
    "unknown pod": (("low-s-99",), 2, "the run has no pod called low-s-99"),
    "another namespace": (("shop/low-s-0",), 2, "did you mean default/low-s-0?"),
    "unknown node": ((HUGE, "--node", "n-9"), 2, "there is no node n-9"),
    "no such attempt": ((HUGE, "--attempt", "999"), 2, "the run has no attempt 999 for default/never-huge-0"),
    "before it was there": (("low-s-59", "--at", "0"), 2, "there is no default/low-s-59 yet at 00:00:00"),
    "after the end": ((HUGE, "--at", "2h"), 2, "the run ended before 02:00:00"),
    "no time": ((HUGE, "--at", "noon"), 2, "'noon' is not a time of a run"),
    "both": ((HUGE, "--at", "1m", "--attempt", "1"), 2, "--at and --attempt exclude each other"),
    "files and an attempt": ((HUGE, "-f", "x.yaml", "--attempt", "1"), 2, "--attempt is for pods of the run"),
    "files and a cluster": ((HUGE, "-f", "x.yaml", "--cluster", "x.yaml"), 2, "--cluster and --run exclude each other"),
    "configuration": ((HUGE, "--config", "x.yaml"), 2, "--config and --run exclude each other"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(run: str, folder: Folder, arguments: tuple[str, ...], code: int, words: str) -> None:
    printed = folder.run("why", *arguments, "--run", run)
    assert (printed.code, printed.out) == (code, "")
    assert words in printed.err


def test_a_time_needs_a_run(folder: Folder) -> None:
    assert "--at and --attempt need --run" in folder.run("why", "x", "--at", "1m").err
    file = folder.write("pod.json", make_pod("x"))
    assert "--at needs --run" in folder.run("try", "-f", file, "--at", "1m").err
    assert "Missing option '-f'" in folder.run("why", "x").err


def test_try_meets_the_cluster_of_that_time(run: str, folder: Folder) -> None:
    whole = folder.write("pod.json", make_pod("x", cpu="4"))
    assert folder.run("try", "-f", whole, "--run", run, "--at", "0").code == 0
    busy = one_row(run, "SELECT time_seconds FROM decisions WHERE nominated_node IS NOT NULL LIMIT 1")
    printed = folder.run("try", "-f", whole, "--run", run, "--at", str(busy["time_seconds"]))
    assert printed.code == 3
    assert "0/5 nodes are available" in printed.out
    assert (
        "--cluster and --run exclude each other" in folder.run("try", "-f", whole, "--run", run, "--cluster", whole).err
    )


def test_a_pod_of_a_file_is_explained_on_the_runs_cluster(run: str, folder: Folder) -> None:
    whole = folder.write("pod.json", make_pod("x", cpu="4"))
    tried = folder.run("try", "-f", whole, "--run", run, "--at", "10m")
    assert tried.code == 3
    (hint,) = (line for line in tried.err.splitlines() if line.startswith("→ fairway why "))
    asked = shlex.split(hint.removeprefix("→ fairway "))
    assert asked[-2:] == ["--at", "00:10:00"]
    told = folder.run(*asked)
    assert told.code == 3
    assert told.out.splitlines()[0] == "default/x fits on none of 5 nodes"
    (other,) = (line for line in told.err.splitlines() if line.startswith("→ fairway why default/x --node "))
    assert folder.run(*shlex.split(other.removeprefix("→ fairway "))).code == 3
    assert folder.run("why", "x", "-f", whole, "--run", run, "--at", "0").code == 0


@pytest.mark.parametrize(
    ("seconds", "clock", "length"),
    [
        (0.0, "00:00:00", "0s"),
        (61.25, "00:01:01.25", "1m 1s"),
        (3600.0, "01:00:00", "1h"),
        (90_061.0, "1d 01:01:01", "1d 1h"),
    ],
)
def test_times_in_words(seconds: float, clock: str, length: str) -> None:
    assert (time_text(seconds), length_text(seconds)) == (clock, length)


TWO_SIZES = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: sizes}
spec:
  end: 10m
  cluster:
    nodes:
      - {name: "small-{}", count: 2, cpu: 2}
      - {name: "large-{}", count: 2, cpu: 4}
  workload:
    synthetic:
      arrivals: {pattern: even, count: 3, over: 1m}
      classes: [{name: p, cpu: 3}]
"""


def test_one_reason_counts_once_whether_or_not_room_could_be_made(tmp_path: Path, folder: Folder) -> None:
    path = tmp_path / "sizes.duckdb"
    simulate(decode_scenario(TWO_SIZES.encode(), "sizes.yaml"), record=path)
    told = folder.run("why", "pod-p-2", "--run", str(path)).out
    assert "none of 4 nodes: NodeResourcesFit 4 Insufficient cpu\n" in told
