"""`fairway.simulate` and `fairway.open_run`: what people write in scripts and notebooks."""

import gc
import html
import re
from pathlib import Path
from typing import Any

import pytest

import fairway
from fairway.cli.main import main
from fairway.record import RecordError, Run
from fairway.scenario.scenario import ScenarioError, decode_scenario
from fairway.scenario.simulate import Standing


def scenario(**spec: Any) -> dict[str, Any]:
    """Two nodes, 20 pods; `packed` fills one of them first."""
    packed = {"scoringStrategy": {"type": "MostAllocated"}}
    config = {
        "profiles": [
            {
                "pluginConfig": [{"name": "NodeResourcesFit", "args": packed}],
                "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
            }
        ]
    }
    jobs = {"name": "job", "cpu": 1, "memory": "1Gi", "duration": "5m"}
    return {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "small"},
        "spec": {
            "seed": 1,
            "cluster": {"nodes": [{"name": "n-{}", "count": 2, "cpu": 32, "memory": "64Gi"}]},
            "workload": {"synthetic": {"arrivals": {"pattern": "even", "count": 20, "over": "10m"}, "classes": [jobs]}},
            "profiles": {"packed": {"config": config}},
            **spec,
        },
    }


def nodes_of(run: Run) -> list[str]:
    return [str(node) for node in run.pods.numpy("node")["node"]]


def test_a_scenario_gives_an_opened_run() -> None:
    run = fairway.simulate(scenario())
    assert run.is_complete
    assert run.metrics().pods.succeeded == len(run.pods) == 20
    assert set(nodes_of(run)) == {"n-0", "n-1"}


def test_values_a_scenario_and_its_file_give_the_same_decisions(tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_text(str(scenario()).replace("'", '"'))
    runs = [fairway.simulate(given) for given in (scenario(), decode_scenario(scenario(), "small.yaml"), file)]
    assert nodes_of(runs[0]) == nodes_of(runs[1]) == nodes_of(runs[2])


def test_a_profile_is_another_policy() -> None:
    assert len(set(nodes_of(fairway.simulate(scenario(), profile="packed")))) == 1


def test_a_seed_replaces_the_scenarios() -> None:
    run = fairway.simulate(scenario(), seed=5)
    assert run.seed == 5
    assert nodes_of(run) == nodes_of(fairway.simulate(scenario(seed=5)))


def test_a_saved_run_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "small.duckdb"
    with fairway.simulate(scenario(), save=path) as run:
        placed = nodes_of(run)
    with fairway.open_run(path) as again:
        assert nodes_of(again) == placed


def test_a_run_that_is_not_saved_goes_with_its_file() -> None:
    run = fairway.simulate(scenario())
    pods, path = run.pods, run.path
    assert path.is_file()
    del run
    gc.collect()
    assert not path.parent.exists()
    assert len(pods) == 20  # a table keeps what it needs


def test_progress_is_told() -> None:
    told: list[Standing] = []
    fairway.simulate(scenario(end="10m"), progress=told.append)
    assert told[-1].fraction == 1.0


def test_what_is_wrong_with_a_scenario_is_said() -> None:
    with pytest.raises(ScenarioError, match=r"spec\.seed"):
        fairway.simulate(scenario(seed="one"))
    with pytest.raises(ScenarioError, match="fastest"):
        fairway.simulate(scenario(), profile="fastest")


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="missing"):
        fairway.open_run(tmp_path / "missing.duckdb")


def test_the_package_lists_what_it_offers() -> None:
    assert {"open_run", "simulate"} <= set(dir(fairway))
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        fairway.simulat  # type: ignore[attr-defined]  # noqa: B018


def test_why_prints_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = fairway.simulate(scenario(), save=tmp_path / "run.duckdb")
    answer = run.why("pod-job-3")
    assert (answer.pod, answer.attempt, answer.fits) == ("default/pod-job-3", 1, True)
    assert main(["why", "pod-job-3", "--run", str(tmp_path / "run.duckdb")]) == 0
    assert capsys.readouterr().out == f"{answer}\n"
    assert "default/pod-job-3" in repr(answer)


def test_why_takes_an_attempt_a_moment_and_a_node() -> None:
    few = {"nodes": [{"name": "n-{}", "count": 2, "cpu": 2, "memory": "64Gi"}]}
    run = fairway.simulate(scenario(cluster=few))
    waited = next(run.sql("SELECT pod FROM pods WHERE attempts > 1 ORDER BY pod_id").rows())["pod"]
    first = run.why(waited, attempt=1)
    assert not first.fits
    assert "2 short: cpu 2 (needs 1, most free 0)" in str(first)
    assert run.why(waited, at=first.at).at == first.at
    assert not run.why(waited, at="4m").fits  # still waiting
    assert run.why(waited, at="9m").fits  # the attempt that placed it
    assert str(run.why(waited, attempt=1, node="n-1")).splitlines()[1].startswith(f"{waited} does not fit on n-1")
    (row,) = run.why(waited, attempt=1, node="n-1").rows()
    assert (row["node"], row["fits"]) == ("n-1", False)
    assert len(run.why(waited, all_nodes=True).rows()) == 2
    assert str(run.why(waited, all_nodes=True)).splitlines()[-1].startswith("n-1")


def test_why_in_a_notebook_is_html_that_shows_the_text() -> None:
    answer = fairway.simulate(scenario()).why("pod-job-0")
    shown = html.unescape(re.sub(r"</?(pre|b)[^>]*>", "", answer._repr_html_()))
    assert shown == str(answer)


@pytest.mark.parametrize(
    ("pod", "asked", "words"),
    [
        ("pod-jb-0", {}, "no pod called pod-jb-0; did you mean pod-job-0"),
        ("pod-job-0", {"attempt": 7}, "no attempt 7"),
        ("pod-job-0", {"at": "99h"}, "the run ended before"),
        ("pod-job-0", {"at": "noon"}, "'noon' is not a time"),
        ("pod-job-0", {"node": "n-9"}, "no node n-9"),
    ],
    ids=["pod", "attempt", "after the end", "no time", "node"],
)
def test_why_says_what_there_is(pod: str, asked: dict[str, Any], words: str) -> None:
    run = fairway.simulate(scenario())
    with pytest.raises(RecordError, match=words):
        run.why(pod, **asked)
