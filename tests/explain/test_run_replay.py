"""Every attempt of a run, made again: simulated or live, under its own names or others, it decides the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from fairway.config import decode_configuration
from fairway.explain.run_replay import Replay, replay_run
from fairway.live.api.clock import SystemClock
from fairway.live.recording import LiveRecorder, live_title
from fairway.live.recording_file import RecordingFile
from fairway.live.service import LiveScheduler, ServiceSettings
from fairway.live.watches.watched_kinds import WATCHED_TO_THE_END
from fairway.model import UserError
from fairway.plugins.registry import REGISTRY
from fairway.record import Run
from fairway.record.writing.anonymous_rows import AnonymousRows, anonymise_run
from fairway.scenario.scenario import decode_scenario, load_scenario
from fairway.scenario.simulate import simulate
from tests.explain.run_files import LATE, QUICK, SLOW, busy_run
from tests.live.fake_api_server import FakeApiServer
from tests.live.live_cluster import HEADER, bindings, node, play, pod

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"


def replayed(path: str | Path) -> Replay:
    with Run.open(path) as run:
        return replay_run(run)


@contextmanager
def both(path: str | Path, tmp_path: Path) -> Iterator[tuple[Run, Run, AnonymousRows]]:
    """A run, and the same run under other names."""
    change = anonymise_run(path, tmp_path / "nobody.duckdb")
    with Run.open(path) as named, Run.open(tmp_path / "nobody.duckdb") as nobody:
        yield named, nobody, change


@pytest.mark.parametrize("scheduler", [QUICK, SLOW, LATE], ids=["quick", "slow", "late"])
def test_a_simulated_run_decides_the_same_under_any_names(tmp_path: Path, scheduler: str) -> None:
    """Ties, preemptions and pods on their way are all in it; nothing is left to chance."""
    with both(busy_run(tmp_path, scheduler), tmp_path) as (named, nobody, change):
        assert len(named.decisions.where("nominated_node IS NOT NULL")) > 2
        assert len(named.decisions.where("num_best > 1")) > 10
        first, second = replay_run(named), replay_run(nobody)
        assert first.counts == second.counts == {"same": len(named.decisions)}
        assert (first.is_anonymous, second.is_anonymous) == (False, True)
        for before, after in zip(named.decisions, nobody.decisions, strict=True):
            assert after["pod"] == change.pseudonyms.name(before["pod"])
            assert after["node"] == (before["node"] and change.pseudonyms.name(before["node"]))
        assert (
            str(second)
            .splitlines()[0]
            .endswith("is an anonymous run of a simulation: each attempt was made again, on the cluster as it was")
        )


@pytest.mark.parametrize("name", ["faults.yaml", "files.yaml", "two-schedulers.yaml"])
def test_the_examples_decide_the_same_under_any_names(tmp_path: Path, name: str) -> None:
    simulate(load_scenario(EXAMPLES / name), record=tmp_path / "run.duckdb")
    with both(tmp_path / "run.duckdb", tmp_path) as (named, nobody, _):
        for run in (named, nobody):
            again = replay_run(run)
            assert again.is_same, str(again)
            assert again.num_decisions == len(run.decisions.where("pod_id IS NOT NULL")) > 40
            assert again.counts["same"] > 0.9 * again.num_decisions


MANY_NODES = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: many}
spec:
  end: 5m
  cluster: {nodes: [{name: "n-{}", count: 300, cpu: 4, memory: 16Gi, zones: 3}]}
  workload:
    synthetic:
      arrivals: {pattern: poisson, count: 150, over: 4m}
      classes: [{name: s, cpu: 1, memory: 2Gi, duration: 2m}]
  schedulers: [{name: default-scheduler, config: {profiles: [{fairway: {sampling: SAMPLING}}]}}]
"""


@pytest.mark.parametrize("sampling", ["kube", "two-choices"])
def test_sampled_nodes_are_sampled_again(tmp_path: Path, sampling: str) -> None:
    """Of 300 nodes less than half are looked at for each pod, from where the last scan ended; or two drawn by lot."""
    text = MANY_NODES.replace("SAMPLING", sampling)
    simulate(decode_scenario(text.encode(), "many.yaml"), record=tmp_path / "run.duckdb")
    with both(tmp_path / "run.duckdb", tmp_path) as (named, nobody, _):
        assert max(row["num_feasible"] for row in named.decisions) < 150
        for run in (named, nobody):
            assert replay_run(run).counts == {"same": 150}


def test_labels_in_the_configuration_mean_the_same_nodes_under_other_names(tmp_path: Path) -> None:
    text = """\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {name: teams}
spec:
  cluster:
    nodes:
      - {name: "red-{}", count: 3, cpu: 4, labels: {acme.com/team: red}}
      - {name: "blue-{}", count: 3, cpu: 8, labels: {acme.com/team: blue}}
  workload: {synthetic: {arrivals: {pattern: even, count: 8, over: 1m}, classes: [{name: p, cpu: 1}]}}
  schedulers:
    - name: default-scheduler
      config:
        profiles:
          - pluginConfig:
              - name: NodeAffinity
                args:
                  addedAffinity:
                    requiredDuringSchedulingIgnoredDuringExecution:
                      nodeSelectorTerms:
                        - matchExpressions: [{key: acme.com/team, operator: In, values: [red]}]
"""
    simulate(decode_scenario(text.encode(), "teams.yaml"), record=tmp_path / "run.duckdb")
    with both(tmp_path / "run.duckdb", tmp_path) as (named, nobody, _):
        assert {row["node"][:3] for row in named.decisions} == {"red"}
        assert replay_run(nobody).counts == {"same": 8}
        assert "acme.com" not in str(nobody.meta)


# -- a live cluster --------------------------------------------------------------------------------------------------


def live_run(path: Path, anonymous: bool) -> None:
    """Fairway schedules a cluster in which pods come and go, one has to make room and one waits."""
    configuration = decode_configuration(HEADER, "test", REGISTRY)

    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        file = RecordingFile(
            str(path), SystemClock(), title=live_title("lab"), configuration=configuration, anonymous=anonymous
        )
        recorder = LiveRecorder(file.writer, live.world.now)
        live.listeners.append(recorder)
        await api.until(lambda: live.is_synced)
        for number in range(4):
            api.put("nodes", node(f"n{number}", cpu="4", disk="ssd" if number % 2 else "hdd"))
        for number in range(9):
            api.put("pods", pod(f"web-{number}", nodeSelector={"disk": "ssd"} if number % 3 == 0 else {}))
        await api.until(lambda: len(bindings(api)) == 9)
        api.delete("pods", "default/web-3")
        for number in range(6):
            api.put("pods", pod(f"late-{number}"))
        api.put("pods", pod("huge", cpu="16"))
        await api.until(lambda: len(bindings(api)) == 14 and bool(api.sent("PATCH", "/pods/huge/status")))
        api.put("pods", pod("boss", cpu="3", priority=1000))
        await api.until(lambda: bool(api.sent("DELETE", "/pods/")) and "boss" in bindings(api))
        assert file.close(recorder.time) is None

    play(story, settings=ServiceSettings(watched=WATCHED_TO_THE_END))


@pytest.mark.parametrize("anonymous", [False, True], ids=["named", "anonymous"])
def test_a_live_recording_decides_the_same(tmp_path: Path, anonymous: bool) -> None:
    path = tmp_path / "live.duckdb"
    live_run(path, anonymous)
    with Run.open(path) as run:
        assert {row["outcome"] for row in run.decisions} == {"scheduled", "unschedulable"}
        assert len(run.decisions.where("nominated_node IS NOT NULL")) == 1
        again = replay_run(run)
        assert again.is_same, str(again)
        # No kubelet says here when pods began, so the victims' age, and with it one tie, is the real clock's.
        assert again.num_decisions - again.counts["same"] == again.counts["lot"] <= 1
        cells = " ".join(str(cell) for table in run.tables.values() for row in table for cell in row.values())
    assert ("web-1" in cells) is not anonymous
    what = "an anonymous run" if anonymous else "a run"
    assert f"is {what} of a live cluster: each attempt was made again" in str(again)


# -- what differs ----------------------------------------------------------------------------------------------------


def changed(path: str, *statements: str) -> str:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_decision_that_was_otherwise_is_told_with_the_reason_and_leads_to_no_others(tmp_path: Path) -> None:
    path = busy_run(tmp_path)
    with Run.open(path) as run:
        (refused,) = run.sql(
            "SELECT decision_id, pod FROM decisions WHERE outcome = 'unschedulable' AND pod LIKE '%huge%' LIMIT 1"
        )
    number = refused["decision_id"]
    changed(path, f"UPDATE decisions SET outcome = 'scheduled', node = 'n-0' WHERE decision_id = {number}")
    again = replayed(path)
    assert [one.recorded["decision_id"] for one in again.unlike] == [number]
    assert again.counts["same"] == again.num_decisions - 1
    assert str(again).splitlines()[1] == f"not the same: 1 of {again.num_decisions} decisions"
    assert again.unlike[0].sentence().startswith(f"{refused['pod']}, attempt 1 at ")
    assert "it went to n-0, now it " in again.unlike[0].sentence()
    (told,) = again.document()["unlike"]
    assert (told["decision"], told["recorded"]) == (number, "went to n-0")


def test_another_configuration_shows_in_the_scores(tmp_path: Path) -> None:
    path = busy_run(tmp_path)
    words = '"LeastAllocated"', '"MostAllocated"'
    with duckdb.connect(path) as connection:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schedulers'").fetchone()
        assert row is not None
        packed = row[0].replace(*words)
        assert packed != row[0], "the configuration is kept with every default filled in"
        connection.execute("UPDATE meta SET value = ? WHERE key = 'schedulers'", [packed])
    again = replayed(path)
    assert again.counts["unlike"] > 20
    assert any(" scores " in one.why for one in again.unlike)


def test_what_chance_could_have_chosen_is_no_difference(tmp_path: Path) -> None:
    """With another seed ties fall otherwise: each recorded node is still one of the best."""
    path = busy_run(tmp_path)
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE meta SET value = regexp_replace(value, '\"seed\": [0-9]+', '\"seed\": 77')")
    again = replayed(path)
    assert again.is_same, str(again)
    assert again.counts["lot"] > 5
    assert "by lot: another of several equally good nodes" in str(again)


def test_a_run_without_decisions_says_what_it_is(tmp_path: Path) -> None:
    path = busy_run(tmp_path, decisions="none")
    with pytest.raises(UserError, match="has no decisions to make again: it kept none"):
        replayed(path)
    changed(path, "UPDATE meta SET value = '\"live\"' WHERE key = 'origin'")
    with pytest.raises(UserError, match="somebody else scheduled this cluster"):
        replayed(path)


def test_failed_decisions_alone_are_made_again_with_a_note(tmp_path: Path) -> None:
    again = replayed(busy_run(tmp_path, decisions="failed"))
    assert again.num_decisions > 20
    assert again.notes == ["the run kept failed decisions, so chance may fall otherwise"]
