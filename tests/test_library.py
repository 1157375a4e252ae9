"""`fairway.simulate` and `fairway.open_run`: what people write in scripts and notebooks."""

import datetime as dt
import gc
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairway
from fairway.cli.main import main
from fairway.live.api.clock import SystemClock
from fairway.model import DecodeError, UserError
from fairway.record import RecordError, Run
from fairway.scenario.scenario import ScenarioError, decode_scenario
from fairway.scenario.simulate import Standing
from tests.explain.workloads.fleets import running, workload


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
            "policies": {"packed": {"config": config}},
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


def test_a_policy_is_chosen_by_name() -> None:
    assert len(set(nodes_of(fairway.simulate(scenario(), policy="packed")))) == 1


def test_the_former_words_are_understood_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="profile is called policy now") as told:
        run = fairway.simulate(scenario(), profile="packed")
    assert (len(set(nodes_of(run))), told[0].filename) == (1, __file__)
    with pytest.warns(DeprecationWarning, match="profiles is called policies now"):
        assert repr(fairway.compare(scenario(), profiles=["packed"], processes=1)) == "<compare packed>"
    with pytest.raises(TypeError, match="give policy alone"):
        fairway.simulate(scenario(), policy="packed", profile="packed")
    former = scenario()
    former["spec"]["profiles"] = former["spec"].pop("policies")
    with pytest.warns(DeprecationWarning, match="spec.profiles is called spec.policies now") as told:
        assert len(set(nodes_of(fairway.simulate(former, policy="packed")))) == 1
    assert told[0].filename == __file__


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
        fairway.simulate(scenario(), policy="fastest")


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="missing"):
        fairway.open_run(tmp_path / "missing.duckdb")


def test_the_package_lists_what_it_offers() -> None:
    assert {"compare", "open_run", "simulate", "try_", "why"} <= set(dir(fairway))
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


EXAMPLES = Path(__file__).parents[1] / "examples"
FILES: dict[str, Any] = {"files": EXAMPLES / "workload.yaml", "cluster": EXAMPLES / "cluster.yaml"}
ARGUMENTS = ("-f", str(FILES["files"]), "--cluster", str(FILES["cluster"]))


def shown_in_notebook(answer: Any) -> str:
    return html.unescape(re.sub(r"</?(pre|b)[^>]*>", "", answer._repr_html_()))


def test_try_prints_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    answer = fairway.try_(**FILES)
    assert main(["try", *ARGUMENTS]) == 3
    printed = capsys.readouterr()
    assert printed.out == f"{answer}\n"
    assert printed.err.startswith("".join(f"{note}\n" for note in answer.notes))
    assert not answer.fits
    assert answer.nodes["shop/quorum-3"] is None
    assert answer.nodes["shop/quorum-2"] == "node-c1"
    assert answer.first_failure in {row["pod"] for row in answer.rows() if not row["node"]}
    assert answer.document()["placed"] == sum(node is not None for node in answer.nodes.values()) == 21
    assert repr(answer).startswith("<try: 21 of 25 pods get a node")
    assert shown_in_notebook(answer) == str(answer)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [({}, ()), ({"node": "node-c1"}, ("--node", "node-c1")), ({"all_nodes": True}, ("--all-nodes",))],
    ids=["the pod", "a node", "all nodes"],
)
def test_why_of_files_prints_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], options: dict[str, Any], arguments: tuple[str, ...]
) -> None:
    answer = fairway.why("quorum-3", **FILES, **options)
    assert main(["why", "quorum-3", *ARGUMENTS, *arguments]) == 3
    assert capsys.readouterr().out == f"{answer}\n"
    assert (answer.pod, answer.fits, repr(answer)) == ("shop/quorum-3", False, "<why shop/quorum-3: unschedulable>")
    assert len(answer.rows()) == (1 if "node" in options else 12)
    assert answer.document()["result"] == "unschedulable"
    assert shown_in_notebook(answer) == str(answer)


def test_questions_about_a_run_take_its_file(tmp_path: Path) -> None:
    with fairway.simulate(scenario(), save=tmp_path / "run.duckdb") as run:
        expected = str(run.why("pod-job-3"))
    assert str(fairway.why("pod-job-3", run=tmp_path / "run.duckdb")) == expected
    (tmp_path / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: x}, "
        "spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}"
    )
    here: dict[str, Any] = {"files": tmp_path / "pod.yaml", "run": tmp_path / "run.duckdb", "at": "5m"}
    assert fairway.try_(**here).fits
    answer = fairway.why("x", **here)
    assert answer.fits
    assert answer.pod == "default/x"


def test_compare_runs_a_scenario_with_its_policies(tmp_path: Path) -> None:
    answer = fairway.compare(scenario(), seeds=2, processes=1, save=tmp_path / "runs")
    assert repr(answer) == "<compare default, packed>"
    assert answer.mean("pods_placed", "packed") == 20
    used = [answer.mean("nodes_used_peak", name) for name in ("default", "packed")]
    assert used == [2, 1]
    assert answer.mean("nodes_used_peak", "fastest") is answer.mean("happiness", "packed") is None
    assert sorted(file.name for file in (tmp_path / "runs").iterdir()) == [
        f"{name}-seed{seed}.duckdb" for name in ("default", "packed") for seed in (1, 2)
    ]
    assert "first different decision: default/pod-job-" in str(answer)
    assert answer.document()["first_difference"][0]["policy"] == "packed"
    assert answer.report().startswith("<!")
    assert shown_in_notebook(answer) == str(answer)


def test_compare_of_runs_prints_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name in ("default", "packed"):
        files.append(str(tmp_path / f"{name}.duckdb"))
        fairway.simulate(scenario(), policy=name, save=files[-1]).close()
    answer = fairway.compare(*files)
    assert main(["compare", *files]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(" → fairway why")[0] for line in printed] == str(answer).splitlines()
    assert str(fairway.compare(scenario(), processes=1)) == str(answer)  # whose runs are gone
    assert "<svg" in fairway.compare(scenario(), processes=1).report()


def test_the_room_of_comparisons_can_be_called_like_the_function() -> None:
    """`import fairway.compare.metrics` puts the room in the place of the function's name."""
    words = "import fairway.compare.metrics, fairway; fairway.compare()"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert "there is nothing to compare; give runs, or one scenario" in done.stderr


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: fairway.why("x"), "there is nothing to ask; give files with the pod, or a run"),
        (lambda: fairway.why("x", **FILES), "no pod to place is called x"),
        (lambda: fairway.why("quorum-3", **FILES, node="n9"), "there is no node n9; there are: gpu-a1"),
        (lambda: fairway.why("x", **FILES, attempt=1), "an attempt is one of a pod of a run"),
        (lambda: fairway.try_(**FILES, at=3), "a moment is one of a run"),
        (lambda: fairway.try_(**FILES, run="x.duckdb"), "the cluster is that of files or that of a run"),
        (fairway.compare, "there is nothing to compare"),
        (lambda: fairway.compare("a.duckdb", seeds=2), "runs are what they are"),
        (lambda: fairway.compare({}, "a.duckdb"), "several sources are runs, by their files"),
    ],
    ids=["nothing", "pod", "node", "attempt", "moment", "two clusters", "no source", "seeds", "mixed"],
)
def test_questions_that_make_no_sense_are_errors_with_a_hint(ask: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        ask()


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(DecodeError, match=r"missing\.yaml: cannot be read"):
        fairway.try_("missing.yaml")


def test_roll_outs_are_played_as_the_command_plays_them(capsys: pytest.CaptureFixture[str]) -> None:
    files, cluster = "examples/rollout/web.yaml", "examples/rollout/cluster.yaml"
    answer = fairway.try_(files, cluster=cluster)
    assert not answer.fits
    assert repr(answer) == "<try: Deployment shop/web gets stuck>"
    assert [one["complete"] for one in answer.document()["rollouts"]] == [False]
    assert main(["try", "-f", files, "--cluster", cluster]) == 3
    assert capsys.readouterr().out.strip("\n") == str(answer)


def test_what_is_there_already_leaves_nothing_to_place(tmp_path: Path) -> None:
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}}]
    daemon = workload("DaemonSet")
    (tmp_path / "web.json").write_text(json.dumps(daemon))
    (tmp_path / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, running("web-x", "n1", "DaemonSet/web")]})
    )
    answer = fairway.try_(tmp_path / "web.json", cluster=tmp_path / "cluster.json")
    assert (answer.fits, answer.there) == (True, {"DaemonSet default/web": 1})
    assert str(answer) == "nothing to place: what is asked for is there already"


NIGHT_WATCH = """
import numpy as np
from fairway.plugin import Aspect, Plugin

class ByNight(Plugin):
    reads = Aspect.TIME
    time_step = 3600

    def filter(self, pod, nodes, state):
        return np.full(len(nodes), self.now().hour >= 22)
"""


def test_plugins_that_go_by_the_clock_are_told_the_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("night_watch.py").write_text(NIGHT_WATCH)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "4"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "night_watch:ByNight"}]}}}],
    }
    for name, thing in {"node": node, "pod": pod, "config": config}.items():
        Path(f"{name}.json").write_text(json.dumps(thing))

    def fits(clock: dt.datetime | None) -> bool:
        return fairway.try_("pod.json", cluster="node.json", config="config.json", clock=clock).fits

    day = dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC)
    assert (fits(day), fits(day.replace(hour=23))) == (False, True)
    hours = [dt.datetime.fromtimestamp(SystemClock().now(), dt.UTC).hour]
    answered = fits(None)
    hours.append(dt.datetime.fromtimestamp(SystemClock().now(), dt.UTC).hour)
    assert answered in {hour >= 22 for hour in hours}
    with pytest.raises(UserError, match="no zone"):
        fits(dt.datetime(2026, 5, 4))  # noqa: DTZ001 - that is the mistake
