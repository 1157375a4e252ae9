"""A run keeps its schedulers' whole configuration, and questions about it are answered by that alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import fairway
from fairway.explain.run_schedulers import merged_configuration, plugin_notes, run_schedulers, scheduler_of
from fairway.model import UserError
from fairway.record import RecordError, Run, RunWriter
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from tests.explain.run_files import LATE, busy_run

PLUGIN = """
from fairway.plugin import Plugin

class Alphabetical(Plugin):
    name = "Alphabetical"

    def score(self, pod, nodes, state):
        return 50 {order} nodes.allocatable("cpu") // 1000
"""
SCENARIO = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: own}
spec:
  cluster: {nodes: [{name: "n-{}", count: 3, cpu: 4}]}
  workload: {synthetic: {arrivals: {pattern: even, count: 4, over: 1m}, classes: [{name: p, cpu: 1}]}}
  schedulers:
    - name: default-scheduler
      config:
        profiles:
          - plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}
    - {name: second, decisionLatency: 250ms, viewDelay: 1s, bindLatency: 2s}
"""


def old_run(path: Path, *statements: str) -> Path:
    """As version 1 would have written it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM meta WHERE key IN ('schedulers', 'origin', 'anonymous')")
        connection.execute("UPDATE meta SET value = '1' WHERE key = 'schema_version'")
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.duckdb"
    simulate(decode_scenario(SCENARIO.encode(), "own.yaml"), record=path)
    return path


def test_configurations_come_back_whole(run_file: Path) -> None:
    plans = decode_scenario(SCENARIO.encode(), "own.yaml").configurations()
    with Run.open(run_file) as run:
        schedulers = run_schedulers(run)
    assert [scheduler.recorded.name for scheduler in schedulers] == ["default-scheduler", "second"]
    for scheduler, plan in zip(schedulers, plans, strict=True):
        profile, planned = scheduler.configuration.profiles[0], plan.configuration.profiles[0]
        assert (profile.points, profile.weights, profile.seed) == (planned.points, planned.weights, planned.seed)
    assert "InterPodAffinity" not in schedulers[0].configuration.profiles[0].points["filter"]
    second = schedulers[1].recorded
    assert (second.decision_latency, second.view_delay, second.bind_latency) == (0.25, 1.0, 2.0)
    assert scheduler_of(schedulers, "second") is schedulers[1]
    assert scheduler_of(schedulers, "third") is None
    names = [profile.scheduler_name for profile in merged_configuration(schedulers).profiles]
    assert sorted(names) == ["default-scheduler", "second"]


def test_the_scenario_is_not_asked(run_file: Path) -> None:
    with duckdb.connect(str(run_file)) as connection:
        connection.execute("""UPDATE meta SET value = '{"kind": "Nothing"}' WHERE key = 'scenario'""")
    with fairway.open_run(run_file) as run:
        assert run.why("pod-p-1").fits


def test_a_run_of_version_1_is_answered_from_its_scenario(run_file: Path, tmp_path: Path) -> None:
    with fairway.open_run(run_file) as run:
        before = str(run.why("pod-p-1"))
        kept = run_schedulers(run)
    with fairway.open_run(old_run(run_file)) as run:
        assert (run.origin, run.is_anonymous) == ("simulated", False)
        assert str(run.why("pod-p-1")) == before
        for one, other in zip(run_schedulers(run), kept, strict=True):
            assert one.configuration.profiles[0].points == other.configuration.profiles[0].points
            assert one.recorded.view_delay == other.recorded.view_delay
    late = Path(busy_run(tmp_path, LATE))
    with fairway.open_run(old_run(late)) as run:
        assert run_schedulers(run)[0].recorded.decision_latency == 0.5


def test_a_run_that_does_not_say_is_of_an_older_schema(run_file: Path) -> None:
    old_run(run_file, """UPDATE meta SET value = '{}' WHERE key = 'scenario'""")
    words = r"a run of an older schema \(version 1\), written by Fairway \d"
    with Run.open(run_file) as run:
        assert len(run.pods) == 4  # its tables can be read all the same
        with pytest.raises(UserError, match=words):
            run_schedulers(run)
    with fairway.open_run(run_file) as run, pytest.raises(RecordError, match=words):
        run.why("pod-p-1")


def test_a_run_made_of_what_others_told_is_not_called_old(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "told", scenario={"metadata": {"name": "log"}}, seed=0, origin="live") as writer:
        writer.close(1.0)
    with Run.open(tmp_path / "told") as run, pytest.raises(UserError, match="what others told") as told:
        run_schedulers(run)
    assert "older schema" not in str(told.value)


@pytest.mark.parametrize(
    "schedulers",
    [[7], [{"name": "a"}], [{"name": 7, "config": {}}], [{"name": "a", "config": {}, "view_delay": -1}], [{"x": 1}]],
    ids=str,
)
def test_nonsense_in_the_place_of_schedulers_is_named(run_file: Path, schedulers: list[object]) -> None:
    with duckdb.connect(str(run_file)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schedulers'", [json.dumps(schedulers)])
    with Run.open(run_file) as run, pytest.raises(RecordError, match="no run that Fairway wrote: its table meta has"):
        _ = run.schedulers


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to be in, with a plugin in it."""
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    (tmp_path / "alphabetical_plugin.py").write_text(PLUGIN.format(order="-"))
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("alphabetical_plugin", None)


def test_a_plugin_of_ones_own_is_kept_by_name_and_source(own_folder: Path) -> None:
    plugin = "alphabetical_plugin:Alphabetical"
    enabled = f"{{multiPoint: {{disabled: [{{name: InterPodAffinity}}]}}, score: {{enabled: [{{name: '{plugin}'}}]}}}}"
    text = SCENARIO.replace("{multiPoint: {disabled: [{name: InterPodAffinity}]}}", enabled)
    simulate(decode_scenario(text.encode(), "own.yaml"), record="own.duckdb")
    with fairway.open_run("own.duckdb") as run:
        schedulers = run_schedulers(run)
        source = schedulers[0].recorded.plugins[plugin]
        assert (source["file"], len(source["digest"])) == ("alphabetical_plugin.py", 64)
        assert str(own_folder) not in json.dumps(run.meta["schedulers"])
        assert plugin_notes(schedulers) == run.why("pod-p-0").notes == []
        (own_folder / "alphabetical_plugin.py").write_text(PLUGIN.format(order="+"))
        changed = f"the plugin {plugin} (alphabetical_plugin.py) has changed since it decided in this run"
        assert plugin_notes(schedulers) == run.why("pod-p-0").notes == [changed]
