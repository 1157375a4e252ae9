"""Jobs in runs: who belongs together, when each was complete and started, what was tried and what was held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.explain.run_replay import replay_run
from fairway.model import Pod
from fairway.model.group import GroupReading
from fairway.record import RecordError, Run
from fairway.record.snapshot import objects_at, pods_at
from fairway.record.vocabulary import HoldEnd, HoldWhy, PodEnd
from fairway.record.writing.anonymous_rows import anonymise_run
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.testing import node, pod
from fairway.testing.group_builders import coscheduling_group, members, pod_group, volcano_group
from tests.record.job_runs import configuration, recorded
from tests.record.runs import SCHEDULER, writer
from tests.sim.diary import lasting

PREFIX = "example.org/gang"


def two_members(path: Path, **settings: Any) -> Run:
    first, second = members(2, cpu=1)
    return recorded(path, [node("a", cpu=4)], [(1, first), (20, second)], [pod_group("train", 2)], **settings)


def test_a_job_is_one_row_and_its_pods_say_so(tmp_path: Path) -> None:
    with two_members(tmp_path / "run") as run:
        (job,) = run.jobs.rows()
        assert job["job"] == "default/train"
        assert (job["spelling"], job["min_count"], job["size"]) == ("scheduling.k8s.io", 2, None)
        assert (job["created_seconds"], job["complete_seconds"], job["started_seconds"]) == (1.0, 20.0, 20.0)
        assert (job["ended_seconds"], job["ended"], job["num_attempts"]) == (None, None, 1)
        assert [row["job_id"] for row in run.pods.rows()] == [0, 0]
        (attempt,) = run.job_decisions.rows()
        assert (attempt["outcome"], attempt["num_members"], attempt["num_placed"]) == ("scheduled", 2, 2)
        assert (attempt["blocking_pod_id"], attempt["missing"], attempt["resource"]) == (None, None, None)
        assert [(row["job_id"], row["job_decision_id"]) for row in run.decisions.rows()] == [(0, 0), (0, 0)]


def test_a_failed_attempt_has_the_row_of_the_member_in_the_way(tmp_path: Path) -> None:
    with recorded(
        tmp_path / "run",
        [node("a", cpu=2)],
        [(0, each) for each in members(3, cpu=1)],
        [pod_group("train", 3)],
        end=0.5,
    ) as run:
        (attempt,) = run.job_decisions.rows()
        assert (attempt["outcome"], attempt["num_members"], attempt["num_placed"]) == ("unschedulable", 3, 2)
        assert (attempt["missing"], attempt["resource"], attempt["attempt"]) == (1, "cpu", 1)
        (decision,) = run.decisions.rows()
        assert decision["pod_id"] == attempt["blocking_pod_id"] == 2
        (count,) = run.filter_counts.rows()
        assert (count["decision_id"], count["plugin"]) == (decision["decision_id"], "NodeResourcesFit")
        assert [row["attempts"] for row in run.pods.rows()] == [1, 1, 1]
        (job,) = run.jobs.rows()
        assert (job["complete_seconds"], job["started_seconds"], job["num_attempts"]) == (0.0, None, 1)


def test_a_job_ends_with_its_last_member_and_may_come_again(tmp_path: Path) -> None:
    one, two = members(2, cpu=1)
    with writer(tmp_path / "run") as made:
        made.object_applied(0.0, pod_group("train", 2))
        for t in (0.0, 10.0):
            for each in (one, two):
                made.pod_created(t, each, SCHEDULER)
            made.ended(t + 1, one.metadata.uid, PodEnd.SUCCEEDED)
            made.ended(t + 2, two.metadata.uid, PodEnd.FAILED if t else PodEnd.SUCCEEDED)
        made.close(20.0)
    with Run.open(tmp_path / "run") as run:
        rows = [(row["job_id"], row["created_seconds"], row["ended_seconds"], row["ended"]) for row in run.jobs.rows()]
        assert rows == [(0, 0.0, 2.0, "Succeeded"), (1, 10.0, 12.0, "Failed")]


def test_a_gated_member_completes_its_job_when_its_gate_goes(tmp_path: Path) -> None:
    one = pod("a", annotations={"fairway.dev/gang": "g", "fairway.dev/gang-size": "1"}, gates=("wait",))
    with writer(tmp_path / "run") as made:
        made.pod_created(0.0, one, SCHEDULER)
        made.changed(5.0, pod("a", annotations=one.metadata.annotations))
        made.close(9.0)
    with Run.open(tmp_path / "run") as run:
        (job,) = run.jobs.rows()
        assert (job["created_seconds"], job["complete_seconds"], job["started_seconds"]) == (0.0, 5.0, None)


def test_jobs_that_start_together_have_an_attempt_each(tmp_path: Path) -> None:
    pods = []
    for gang, other in (("left", "right"), ("right", "left")):
        said = {"fairway.dev/gang": gang, "fairway.dev/gang-size": "2", "fairway.dev/connect-to": other}
        pods += [pod(f"{gang}-{number}", cpu=1, annotations=said) for number in range(2)]
    with recorded(
        tmp_path / "run", [node("a", cpu=8)], [(1, each) for each in pods], config=configuration("fairway"), end=20
    ) as run:
        assert [(row["job"], row["started_seconds"], row["num_attempts"] > 0) for row in run.jobs.rows()] == [
            ("default/left", 1.0, True),
            ("default/right", 1.0, True),
        ]
        placed = [row["job_id"] for row in run.job_decisions.where("outcome = 'scheduled'").rows()]
        assert sorted(placed) == [0, 1]
        assert len(run.decisions.where("outcome = 'scheduled'")) == 4
        assert all(row["attempts"] > 0 for row in run.pods.rows())
        assert replay_run(run).is_same


# -- what is held ------------------------------------------------------------------------------------------------------


def test_members_hold_their_nodes_while_they_are_bound(tmp_path: Path) -> None:
    settings = SchedulerSettings(decision_latency=0.5, bind_latency=1.0)
    with two_members(tmp_path / "run", settings=settings) as run:
        rows = [(row["why"], row["from_seconds"], row["to_seconds"], row["ended"]) for row in run.holds.rows()]
        assert rows == [("binding", 20.0, 21.5, "bound")] * 2
        assert [row["cpu_milli"] for row in run.holds.rows()] == [1000, 1000]
        (job,) = run.jobs.rows()
        assert job["started_seconds"] == 21.5


def test_a_hold_ends_in_a_word(tmp_path: Path) -> None:
    held = [pod(name, cpu=1) for name in ("bound", "late", "gone", "open")]
    with writer(tmp_path / "run") as made:
        made.node_added(0.0, node("n", cpu=8))
        for one in held:
            made.pod_created(0.0, one, SCHEDULER)
            made.held(1.0, one.metadata.uid, "n", HoldWhy.PERMIT)
        made.bound(3.0, held[0].metadata.uid, "n")
        made.released(4.0, held[1].metadata.uid, HoldEnd.TIMEOUT)
        made.released(4.5, held[1].metadata.uid, HoldEnd.REJECTED)  # nothing is held any more
        made.ended(5.0, held[2].metadata.uid, PodEnd.DELETED)
        made.close(9.0)
    with Run.open(tmp_path / "run") as run:
        rows = [(row["pod_id"], row["job_id"], row["to_seconds"], row["ended"]) for row in run.holds.rows()]
        assert rows == [
            (0, None, 3.0, "bound"),
            (1, None, 4.0, "timeout"),
            (2, None, 5.0, "deleted"),
            (3, None, None, None),
        ]


# -- what is kept, so that a reader knows the groups -------------------------------------------------------------------


SPELLED: dict[str, tuple[list[Pod], list[Any]]] = {
    "scheduling.k8s.io": (members(2, "zebra", cpu=1), [pod_group("zebra", 2)]),
    "scheduling.x-k8s.io": (
        [pod(f"c-{n}", cpu=1, labels={"scheduling.x-k8s.io/pod-group": "zebra"}) for n in range(2)],
        [coscheduling_group("zebra", 2)],
    ),
    "scheduling.volcano.sh": (
        [
            pod(
                f"v-{n}", cpu=1, annotations={"scheduling.k8s.io/group-name": "zebra", "volcano.sh/task-spec": "worker"}
            )
            for n in range(2)
        ],
        [volcano_group("zebra", 2, tasks={"worker": 1})],
    ),
    "gang.scheduling.koordinator.sh": (
        [
            pod(
                f"k-{n}",
                cpu=1,
                annotations={
                    "gang.scheduling.koordinator.sh/name": "zebra",
                    "gang.scheduling.koordinator.sh/min-available": "2",
                    "gang.scheduling.koordinator.sh/total-number": "3",
                    "gang.scheduling.koordinator.sh/groups": '["default/zebra"]',
                },
            )
            for n in range(2)
        ],
        [],
    ),
    "pfnet": (
        [pod(f"p-{n}", cpu=1, annotations={f"{PREFIX}-name": "zebra", f"{PREFIX}-size": "2"}) for n in range(2)],
        [],
    ),
    "fairway.dev": (
        [
            pod(f"f-{n}", cpu=1, annotations={"fairway.dev/gang": "zebra", "fairway.dev/gang-size": "2"})
            for n in range(2)
        ],
        [],
    ),
}


def groups_of(run: Run) -> dict[str, tuple[int, Any]]:
    """The groups that somebody who opens the run finds, with their members and how they start."""
    cluster = Cluster()
    cluster.groups.follow(GroupReading((PREFIX,)))
    for thing in objects_at(run, run.end_seconds):
        cluster.apply(Event(Verb.ADDED, thing))
    for each in pods_at(run, run.end_seconds):
        cluster.groups.observe(each)
    found = {}
    for group in cluster.groups:
        spec = cluster.groups.spec_of(group)
        assert spec is not None
        found[group.key.spelling.value] = len(group), spec
    return found


@pytest.mark.parametrize("spelling", SPELLED)
@pytest.mark.parametrize("is_anonymous", [False, True], ids=["named", "anonymous"])
def test_groups_of_every_spelling_are_found_again(tmp_path: Path, spelling: str, is_anonymous: bool) -> None:
    pods, objects = SPELLED[spelling]
    config = configuration(prefix=PREFIX)
    arrivals = [(1.0, each) for each in pods]
    with recorded(
        tmp_path / "run", [node("a", cpu=4)], arrivals, objects, config=config, end=50, anonymous=is_anonymous
    ) as run:
        (job,) = run.jobs.rows()
        assert (job["spelling"], job["min_count"], job["started_seconds"]) == (spelling, 2, 1.0)
        ((found, (number, spec)),) = groups_of(run).items()
        assert (found, number, spec.min_count) == (spelling, 2, 2)
        assert is_anonymous != (job["job"] == "default/zebra")
        if is_anonymous:
            assert "zebra" not in json.dumps([list(table.rows()) for table in run.tables.values()], default=str)
        assert str(spec.key) == job["job"]
        assert replay_run(run).is_same


# -- old files, hostile files, other names -----------------------------------------------------------------------------


def changed(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_run_of_an_older_version_opens_and_knows_no_jobs(tmp_path: Path) -> None:
    two_members(tmp_path / "run").close()
    drops = ["ALTER TABLE pods DROP COLUMN job_id", "ALTER TABLE decisions DROP COLUMN job_id"]
    drops += ["ALTER TABLE decisions DROP COLUMN job_decision_id"]
    drops += [f"DROP TABLE {name}" for name in ("jobs", "job_decisions", "holds")]
    changed(tmp_path / "run", *drops)
    with Run.open(tmp_path / "run") as run:
        assert not run.knows_jobs
        assert list(run.jobs.rows()) == list(run.job_decisions.rows()) == list(run.holds.rows()) == []
        assert run.metrics().pods.placed == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE pods SET job_id = 7", "its table pods has the number 7 in the column job_id"),
        (
            "UPDATE decisions SET job_decision_id = 9",
            "its table decisions has the number 9 in the column job_decision_id",
        ),
        ("UPDATE job_decisions SET blocking_pod_id = 5", "its table job_decisions has the number 5"),
        ("UPDATE jobs SET job_id = -1", "its table jobs has a number out of bounds (-1) in the column job_id"),
        ("UPDATE jobs SET complete_seconds = 'nan'", "a time that is none in the column complete_seconds"),
        ("ALTER TABLE jobs ADD COLUMN more INTEGER", "it holds a column more of its table jobs"),
    ],
    ids=["no such job", "no such attempt", "no such member", "number", "time", "column"],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, change: str, words: str) -> None:
    two_members(tmp_path / "run").close()
    changed(tmp_path / "run", change)
    with pytest.raises(RecordError, match="run") as caught:
        Run.open(tmp_path / "run")
    assert words in str(caught.value)


def test_a_finished_run_is_anonymised_with_its_jobs(tmp_path: Path) -> None:
    with recorded(
        tmp_path / "run",
        [node("a", cpu=2, labels={"rack": "r-secret"})],
        [(0, each) for each in members(3, "zebra", cpu=1)],
        [pod_group("zebra", 3, topology="rack")],
        config=configuration(topology=True),
        end=5,
    ):
        pass
    anonymise_run(tmp_path / "run", tmp_path / "other")
    with Run.open(tmp_path / "other") as run:
        everything = json.dumps([list(table.rows()) for table in run.tables.values()], default=str)
        assert "zebra" not in everything
        assert "r-secret" not in everything
        assert len(run.jobs) == 1
        assert len(run.job_decisions) > 0
        assert replay_run(run).is_same


# -- made again --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["kube", "fairway"])
@pytest.mark.parametrize("is_anonymous", [False, True], ids=["named", "anonymous"])
def test_attempts_for_jobs_are_made_again_and_come_out_the_same(tmp_path: Path, mode: str, is_anonymous: bool) -> None:
    busy = [(0.0, lasting("busy", 30, cpu=3))]
    jobs = [(float(5 * n + 1), each) for n in range(3) for each in members(3, f"j{n}", cpu=1)]
    groups = [pod_group(f"j{n}", 3) for n in range(3)]
    lone = [(2.0, lasting("small", 10, cpu=1))]
    nodes = [node("a", cpu=4), node("b", cpu=3)]
    arrivals = sorted((*busy, *jobs, *lone), key=lambda one: one[0])
    config = configuration(mode)
    with recorded(tmp_path / "run", nodes, arrivals, groups, config=config, end=120, anonymous=is_anonymous) as run:
        outcomes = [row["outcome"] for row in run.job_decisions.rows()]
        assert {"scheduled", "unschedulable"} <= set(outcomes)
        replay = replay_run(run)
        assert (replay.is_same, replay.counts["unlike"], replay.counts["error"]) == (True, 0, 0), str(replay)
        assert replay.counts["same"] + replay.counts["lot"] == len(run.decisions)


def test_an_attempt_that_came_out_otherwise_is_told(tmp_path: Path) -> None:
    two_members(tmp_path / "run").close()
    changed(
        tmp_path / "run",
        "UPDATE job_decisions SET outcome = 'unschedulable'",
        "UPDATE decisions SET outcome = 'unschedulable', node = NULL",
    )
    with Run.open(tmp_path / "run") as run:
        assert not replay_run(run).is_same
