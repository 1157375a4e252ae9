"""What is told to the writer is what is in the file."""

from __future__ import annotations

import inspect
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairway.cycle import Outcome, Spent
from fairway.model import Namespace, NodeCondition, ObjectMeta
from fairway.queue import Place
from fairway.record import NullRecorder, Recorder, RecordError, RecordOptions, Run, RunWriter, Scored, best_nodes
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.record.writing.buffer import Resources
from fairway.record.writing.run_file import partial_path
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, placed, profile, writer


def rows(run: Run, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in getattr(run, table).select(*columns)]


def test_a_pods_life_is_one_row_and_one_interval(tmp_path: Path) -> None:
    one = pod("one", cpu="1500m", memory="1Gi", priority=5, owner="Job/train", annotations={"fairway.dev/user": "ada"})
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        assert made.pod_created(1.0, one, SCHEDULER) == 0
        made.decided(2.0, SCHEDULER, 1, placed(one, "a"), 0.001)
        made.bound(2.0, one.metadata.uid, "a")
        made.started(3.0, one.metadata.uid)
        made.ended(9.0, one.metadata.uid, PodEnd.SUCCEEDED)
        made.ended(10.0, one.metadata.uid, PodEnd.DELETED)
        made.close(12.0)
    with Run.open(tmp_path / "run") as run:
        (row,) = run.pods.rows()
        assert {key: row[key] for key in ("pod", "user_name", "owner", "priority", "attempts", "reason", "node")} == {
            "pod": "default/one",
            "user_name": "ada",
            "owner": "Job/train",
            "priority": 5,
            "attempts": 1,
            "reason": "Succeeded",
            "node": "a",
        }
        times = ("created_seconds", "bound_seconds", "started_seconds", "ended_seconds")
        assert [row[key] for key in times] == [1.0, 2.0, 3.0, 9.0]
        columns = ("pod", "node", "from_seconds", "to_seconds", "reason", "cpu_milli", "memory_bytes")
        assert rows(run, "occupancy", *columns) == [("default/one", "a", 2.0, 9.0, "Succeeded", 1500, 2**30)]
        assert (run.is_complete, run.end_seconds, run.seed) == (True, 12.0, 7)


def test_pods_and_intervals_still_open_at_the_end_have_no_end(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        for name in ("runs", "waits"):
            made.pod_created(0.0, pod(name, cpu=1), SCHEDULER)
        made.bound(1.0, "default/runs", "a")
        made.close(5.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "pods", "pod", "bound_seconds", "ended_seconds", "reason") == [
            ("default/runs", 1.0, None, None),
            ("default/waits", None, None, None),
        ]
        assert rows(run, "occupancy", "pod", "from_seconds", "to_seconds", "reason") == [
            ("default/runs", 1.0, None, None)
        ]
        assert rows(run, "nodes", "node", "to_seconds", "gone") == [("a", None, None)]


def test_a_resize_splits_the_interval_and_a_lost_node_interrupts_it(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, pod("one", cpu=1), SCHEDULER)
        made.bound(1.0, "default/one", "a")
        made.resized(2.0, pod("one", cpu=1, labels={"only": "labels"}))
        made.resized(3.0, pod("one", cpu=4))
        made.lost(5.0, "default/one")
        made.regained(7.0, "default/one")
        made.ended(8.0, "default/one", PodEnd.FAILED)
        for told_late in (made.lost, made.regained, made.started):
            told_late(9.0, "default/one")
        made.close(9.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "occupancy", "from_seconds", "to_seconds", "reason", "cpu_milli") == [
            (1.0, 3.0, "Resized", 1000),
            (3.0, 5.0, "NodeLost", 4000),
            (7.0, 8.0, "Failed", 4000),
        ]


def test_a_node_has_a_row_for_each_state(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(node("a").status, conditions=(NodeCondition(type="Ready", status="Unknown"),))
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu=4))
        made.node_changed(1.0, node("a", cpu=4), NodeChange.CHANGED)
        made.node_changed(2.0, node("a", cpu=4, unschedulable=True), NodeChange.CORDONED)
        made.node_changed(3.0, msgspec.structs.replace(node("a"), status=lost), NodeChange.NOT_READY)
        made.node_gone(4.0, "a", NodeEnd.DELETED)
        made.node_added(6.0, node("a", cpu=2))
        made.close(9.0)
    columns = ("node_id", "from_seconds", "to_seconds", "change", "gone", "is_ready", "is_unschedulable", "cpu_milli")
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "nodes", *columns) == [
            (0, 0.0, 2.0, "Added", None, True, False, 4000),
            (0, 2.0, 3.0, "Cordoned", None, True, True, 4000),
            (0, 3.0, 4.0, "NotReady", "Deleted", False, False, 8000),
            (1, 6.0, None, "Added", None, True, False, 2000),
        ]


def test_a_failed_decision_keeps_counts_that_add_up_and_the_message(tmp_path: Path) -> None:
    engine = profile(
        [
            node("small", cpu=1),
            node("tiny", cpu=1, memory=1),
            node("tainted", taints="gpu"),
            node("off", unschedulable=True),
        ]
    )
    wanted = pod("big", cpu=4, memory="1Gi")
    decision = engine.decide(wanted)
    with writer(tmp_path / "run") as made:
        made.pod_created(0.0, wanted, SCHEDULER)
        made.decided(0.0, SCHEDULER, 1, decision, 0.002)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        (row,) = run.decisions.rows()
        assert (row["outcome"], row["num_nodes"], row["node"], row["pod_id"]) == ("unschedulable", 4, None, 0)
        assert row["message"] == decision.message
        assert sorted(rows(run, "filter_counts", "plugin", "reason", "num_nodes")) == [
            ("NodeResourcesFit", "Insufficient cpu", 1),
            ("NodeResourcesFit", "Insufficient cpu, Insufficient memory", 1),
            ("NodeUnschedulable", "node(s) were unschedulable", 1),
            ("TaintToleration", "node(s) had untolerated taint(s)", 1),
        ]


def test_a_pod_refused_outright_counts_for_all_nodes(tmp_path: Path) -> None:
    wanted = pod("claims", claims="missing")
    decision = profile([node("a"), node("b")]).decide(wanted)
    assert decision.diagnosis is not None
    assert decision.diagnosis.pre_filter is not None
    with writer(tmp_path / "run") as made:
        made.decided(0.0, SCHEDULER, 1, decision, 0.0)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "filter_counts", "plugin", "num_nodes") == [(decision.diagnosis.pre_filter[0], 2)]


def test_preemption_keeps_node_and_victims(tmp_path: Path) -> None:
    victim = pod("victim", cpu=8, node="a")
    decision = profile([node("a", cpu=8)], [victim]).decide(pod("urgent", cpu=8, priority=10))
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a", cpu=8))
        made.pod_created(0.0, victim, "")
        made.bound(0.0, victim.metadata.uid, "a")
        made.decided(1.0, SCHEDULER, 1, decision, 0.0)
        made.ended(1.0, victim.metadata.uid, PodEnd.PREEMPTED)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "decisions", "nominated_node", "num_victims") == [("a", 1)]
        assert rows(run, "preemptions", "decision_id", "node", "victim_id", "victim") == [(0, "a", 0, "default/victim")]


def test_the_best_nodes_are_kept_with_each_plugins_share(tmp_path: Path) -> None:
    engine = profile([node("a", cpu=4), node("b", cpu=8), node("c", cpu=8)])
    wanted = pod("one", cpu=1)
    best = best_nodes(engine.inspect(wanted), 2)
    assert [scored.node for scored in best] == ["b", "c"]
    assert all(sum(scored.shares.values()) == scored.total for scored in best)
    with writer(tmp_path / "run", RecordOptions(scores=1)) as made:
        made.node_added(0.0, node("b", cpu=8))
        made.decided(0.0, SCHEDULER, 1, engine.decide(wanted), 0.0, best)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        kept = rows(run, "scores", "decision_id", "rank", "node", "total", "plugin", "score")
        assert kept == [(0, 1, "b", best[0].total, plugin, score) for plugin, score in sorted(best[0].shares.items())]


@pytest.mark.parametrize(
    ("keep", "expected"),
    [("all", [0, 1]), ("failed", [1]), ("none", [])],
    ids=["all", "failed", "none"],
)
def test_options_leave_decisions_out_but_count_them(tmp_path: Path, keep: Any, expected: list[int]) -> None:
    good, bad = pod("good"), pod("bad", cpu=99)
    with writer(tmp_path / "run", RecordOptions(decisions=keep, queue=False, events=False, objects=False)) as made:
        made.node_added(0.0, node("a"))
        for one in (good, bad):
            made.pod_created(0.0, one, SCHEDULER)
        made.queue_moved(0.0, SCHEDULER, good.metadata.uid, None, Place.ACTIVE, "PodAdd")
        made.event(0.0, "Pod", "default/good", "Started", "it runs")
        made.object_applied(0.0, Namespace(metadata=ObjectMeta(name="team")))
        made.decided(0.0, SCHEDULER, 1, placed(good, "a"), 0.0, [Scored("a", 1, {"Fit": 1})])
        made.decided(0.0, SCHEDULER, 1, profile([node("a")]).decide(bad), 0.0)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert [row["decision_id"] for row in run.decisions] == expected
        assert rows(run, "pods", "attempts") == [(1,), (1,)]
        assert {name: len(getattr(run, name)) for name in ("queue_moves", "events", "objects", "scores")} == {
            "queue_moves": 0,
            "events": 0,
            "objects": 0,
            "scores": 0,
        }
        assert run.meta["options"]["decisions"] == keep


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"decisions": "some"}, "decisions"), ({"scores": -1}, "scores"), ({"chunk_rows": 0}, "chunk_rows")],
    ids=["decisions", "scores", "chunk_rows"],
)
def test_wrong_options_are_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        RecordOptions(**options)


def test_moves_events_objects_and_plugin_times_are_kept_in_order(tmp_path: Path) -> None:
    one = pod("one")
    team = Namespace(metadata=ObjectMeta(name="team"))
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, one, SCHEDULER)
        made.queue_moved(0.0, SCHEDULER, one.metadata.uid, None, Place.ACTIVE, "PodAdd")
        made.queue_moved(0.0, SCHEDULER, one.metadata.uid, Place.ACTIVE, Place.IN_FLIGHT, "Pop")
        made.queue_moved(0.0, SCHEDULER, "never heard of", Place.IN_FLIGHT, None, "Done")
        made.object_applied(0.0, team)
        made.object_deleted(2.0, team)
        made.event(1.0, "Pod", "default/one", "Started", "it runs")
        made.decided(1.0, SCHEDULER, 1, placed(one, "a"), 0.75)
        made.plugin_times(1.0, SCHEDULER, [Spent("NodeResourcesFit", "Filter", 10, 0.5)])
        made.plugin_times(3.0, SCHEDULER, [Spent("SchedulingGates", "PreEnqueue", 1, 0.25)], is_of_attempt=False)
        made.close(3.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "queue_moves", "pod_id", "origin", "place", "event") == [
            (0, None, "active", "PodAdd"),
            (0, "active", "in_flight", "Pop"),
            (None, "in_flight", None, "Done"),
        ]
        assert rows(run, "objects", "verb", "kind", "name") == [
            ("Applied", "Namespace", "team"),
            ("Deleted", "Namespace", "team"),
        ]
        assert rows(run, "events", "subject", "reason") == [("default/one", "Started")]
        assert rows(run, "plugin_times", "decision_id", "plugin", "point", "num_calls", "cpu_seconds") == [
            (0, "NodeResourcesFit", "Filter", 10, 0.5),
            (None, "SchedulingGates", "PreEnqueue", 1, 0.25),
        ]


def test_a_resource_that_appears_late_gets_a_column_and_is_0_before(tmp_path: Path) -> None:
    with writer(tmp_path / "run", RecordOptions(chunk_rows=1)) as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, pod("plain", cpu=1), SCHEDULER)
        made.bound(0.0, "default/plain", "a")
        made.ended(1.0, "default/plain", PodEnd.SUCCEEDED)
        made.flush()
        made.node_added(2.0, node("gpus", resources={"nvidia.com/gpu": 8}))
        made.pod_created(2.0, pod("gpu", requests={"nvidia.com/gpu": 2}), SCHEDULER)
        made.bound(2.0, "default/gpu", "gpus")
        made.close(3.0)
    with Run.open(tmp_path / "run") as run:
        assert run.resources["nvidia.com/gpu"] == "nvidia_com_gpu"
        assert rows(run, "occupancy", "pod", "nvidia_com_gpu") == [("default/plain", 0), ("default/gpu", 2)]
        assert rows(run, "nodes", "node", "nvidia_com_gpu") == [("a", 0), ("gpus", 8)]


def test_small_and_large_chunks_write_the_same(tmp_path: Path) -> None:
    found = []
    for chunk_rows in (1, 1000):
        path = tmp_path / f"run{chunk_rows}"
        with writer(path, RecordOptions(chunk_rows=chunk_rows)) as made:
            made.node_added(0.0, node("a"))
            for number in range(20):
                one = pod(f"p{number}", cpu=number + 1)
                made.pod_created(float(number), one, SCHEDULER)
                made.decided(float(number), SCHEDULER, 1, placed(one, "a"), 0.0)
                made.bound(float(number), one.metadata.uid, "a")
                if number >= 5:
                    made.ended(float(number), f"default/p{number - 5}", PodEnd.SUCCEEDED)
            made.close(20.0)
        with Run.open(path) as run:
            found.append({name: list(table) for name, table in run.tables.items() if name != "meta"})
    assert found[0] == found[1]


def test_pods_share_their_manifests(tmp_path: Path) -> None:
    with writer(tmp_path / "run") as made:
        for number in range(5):
            own = {"fairway.dev/duration": f"{number}s"}
            made.pod_created(0.0, pod(f"p{number}", cpu=1, annotations=own), SCHEDULER)
        made.pod_created(0.0, pod("other", cpu=2), SCHEDULER)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert len(run.templates) == 2
        assert run.pod("p3")["annotations"] == '{"fairway.dev/duration":"3s"}'


def test_manifests_take_room_by_their_size_not_by_their_number(tmp_path: Path) -> None:
    size, num_pods = 200_000, 400
    tracemalloc.start()
    try:
        with writer(tmp_path / "run") as made:
            for number in range(num_pods):
                made.pod_created(0.0, pod(f"p{number}", labels={"all": f"{number}".rjust(size, "x")}), SCHEDULER)
                made.ended(1.0, f"default/p{number}", PodEnd.SUCCEEDED)
            taken, _ = tracemalloc.get_traced_memory()
            made.close(1.0)
    finally:
        tracemalloc.stop()
    assert taken < num_pods * size / 2
    with Run.open(tmp_path / "run") as run:
        assert len(run.templates) == num_pods


def test_a_pod_takes_no_room_for_resources_that_it_does_not_ask_for() -> None:
    resources = Resources()
    assert resources.vector({"cpu": 5, "memory": 0}) == (5,)
    many = {f"example.com/r{number}": 1 for number in range(5000)}
    assert resources.vector(many) == (0, 0, *many.values())
    assert resources.vector({"memory": 3}) == (0, 3)
    assert resources.vector({}) == ()


def test_a_decision_told_after_the_pods_end_still_counts_as_its_attempt(tmp_path: Path) -> None:
    one = pod("one")
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("a"))
        made.pod_created(0.0, one, SCHEDULER)
        made.bound(0.0, one.metadata.uid, "a")
        made.ended(0.0, one.metadata.uid, PodEnd.REJECTED)
        made.decided(0.0, SCHEDULER, 1, placed(one, "a"), 0.0)
        made.close(1.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "pods", "attempts") == [(1,)]
        assert rows(run, "decisions", "pod_id") == [(0,)]


# -- the file ----------------------------------------------------------------------------------------------------------


def test_the_file_has_another_name_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    made = writer(path)
    assert (path.exists(), partial_path(path).exists()) == (False, True)
    made.close(1.0)
    assert (path.exists(), list(tmp_path.iterdir())) == (True, [path])
    with pytest.raises(RecordError, match="closed"):
        made.flush()


def test_an_exception_leaves_a_readable_run_marked_incomplete(tmp_path: Path) -> None:
    def interrupted() -> None:
        with writer(tmp_path / "run") as made:
            made.node_added(0.0, node("a"))
            made.pod_created(3.0, pod("one"), SCHEDULER)
            made.bound(4.0, "default/one", "a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with Run.open(tmp_path / "run") as run:
        assert (run.is_complete, run.meta["interruption"]) == (False, "KeyboardInterrupt")
        assert run.end_seconds == 4.0
        assert len(run.occupancy) == 1


def test_what_a_killed_writer_leaves_can_be_read(tmp_path: Path) -> None:
    made = writer(tmp_path / "run")
    made.node_added(0.0, node("a"))
    for number in range(10):
        made.pod_created(0.0, pod(f"p{number}"), SCHEDULER)
        made.bound(1.0, f"default/p{number}", "a")
        made.ended(2.0, f"default/p{number}", PodEnd.SUCCEEDED)
    made.flush()
    for file in tmp_path.glob("run.partial*"):
        shutil.copy(file, tmp_path / file.name.replace("run", "left"))
    made.close(3.0)
    with Run.open(tmp_path / "left.partial") as run:
        assert not run.is_complete
        assert len(run.pods) == 10


def test_a_new_run_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "run"
    partial_path(path).write_bytes(b"left by a writer that was killed")
    for seed in (1, 2):
        writer(path, seed=seed).close(1.0)
    with Run.open(path) as run:
        assert run.seed == 2


@pytest.mark.parametrize("where", ["no/such/directory/run", "."], ids=["missing", "directory"])
def test_a_place_that_can_not_be_written_is_an_error(tmp_path: Path, where: str) -> None:
    with pytest.raises(RecordError, match="directory"):
        writer(tmp_path / where)


def test_a_scenario_that_is_no_json_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        writer(tmp_path / "run", scenario={"bad": object()})
    assert list(tmp_path.iterdir()) == []


def test_a_story_that_can_not_be_is_an_error(tmp_path: Path) -> None:
    made = writer(tmp_path / "run")
    made.node_added(0.0, node("a"))
    made.pod_created(0.0, pod("one"), SCHEDULER)
    made.bound(0.0, "default/one", "a")
    mistakes: dict[str, Callable[[], object]] = {
        "there already": lambda: made.node_added(1.0, node("a")),
        "not there": lambda: made.node_gone(1.0, "b", NodeEnd.DELETED),
        r"one \(uid default/one\) is there already": lambda: made.pod_created(1.0, pod("one"), SCHEDULER),
        "bound to a already": lambda: made.bound(1.0, "default/one", "a"),
        "no pod with the uid x": lambda: made.bound(1.0, "x", "a"),
    }
    for words, mistake in mistakes.items():
        with pytest.raises(RecordError, match=words):
            mistake()
    made.close(1.0)


def test_the_null_writer_takes_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[str]]:
        public = inspect.getmembers(kind, inspect.isfunction)
        return {name: list(inspect.signature(call).parameters) for name, call in public if not name.startswith("_")}

    assert calls(NullRecorder) == calls(Recorder)
    assert calls(Recorder) == {name: call for name, call in calls(RunWriter).items() if name != "flush"}


def test_the_null_writer_numbers_pods_and_keeps_nothing() -> None:
    with NullRecorder() as silent:
        assert [silent.pod_created(0.0, pod(name), SCHEDULER) for name in ("a", "b")] == [0, 1]
        silent.close(1.0)


def test_a_gated_pod_says_who_gates_it(tmp_path: Path) -> None:
    gated = pod("gated", gates="wait")
    refusal = profile([node("a")]).gate(gated)
    assert refusal is not None
    decision = placed(gated, "")
    decision.outcome, decision.gate = Outcome.GATED, refusal
    with writer(tmp_path / "run") as made:
        made.decided(0.0, SCHEDULER, 1, decision, 0.0)
        made.close(0.0)
    with Run.open(tmp_path / "run") as run:
        assert rows(run, "decisions", "outcome", "message", "num_nodes") == [
            ("gated", ", ".join(refusal[1].reasons), None)
        ]
