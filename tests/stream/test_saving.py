"""A stream that is kept is the run that was recorded over there, from its beginning or from how things stood later."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairway.cycle import Outcome
from fairway.queue import Place
from fairway.record import Run, RunWriter
from fairway.record.vocabulary import PodEnd
from fairway.stream.saving import StreamSaver
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.told import MEMBER, PASSED_OVER, Attempt, Event, JobAttempt, JobRef, PodRef, PodSeen, Told
from fairway.stream.watching import Gap
from fairway.testing import node, pod
from tests.record.runs import profile, writer
from tests.stream.test_telling import SCHEDULER, acts, events_of, possible, sized, tell


def rows(path: Path, table: str, *left_out: str) -> list[dict[str, Any]]:
    with Run.open(path) as run:
        return [{key: row[key] for key in row if key not in left_out} for row in run.tables[table].rows()]


def save(path: Path, recorder: StreamRecorder, end: float) -> None:
    with RunWriter(path, scenario={}, seed=0) as kept:
        saver = StreamSaver(kept)
        saver.begin(recorder.stream_id, None)
        for event in events_of(recorder):
            saver.take(event)
        kept.close(end)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8, deadline=None)
@given(st.lists(acts, min_size=10, max_size=80))
def test_what_is_kept_is_what_was_recorded(tmp_path: Path, story: list[tuple[str, str, int]]) -> None:
    stream = StreamRecorder("s")
    with writer(tmp_path / "there") as run:
        for recorder in (stream, run):
            for place in (1, 2, 3):
                recorder.node_added(0.0, node(f"n{place}"))
            for step in possible(story):
                tell(recorder, *step)
        run.close(100.0)
    save(tmp_path / "here", stream, 100.0)
    assert rows(tmp_path / "here", "occupancy") == rows(tmp_path / "there", "occupancy")
    for_templates = ("template_id",)  # manifests are made of what the stream tells
    assert rows(tmp_path / "here", "pods", *for_templates) == rows(tmp_path / "there", "pods", *for_templates)


def test_attempts_are_kept_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    nodes = [node(f"n{number}", cpu=1) for number in range(3)] + [node("tainted", taints="gpu")]
    victim = pod("victim", uid="victim", cpu=1, node="n0", priority=-1)
    decisions = [
        profile(nodes).decide(pod("big", uid="big", cpu=2)),
        profile(nodes).decide(pod("fits", uid="fits", cpu=1)),
        profile(nodes[:1], [victim]).decide(pod("pushes", uid="pushes", cpu=1)),
        profile([]).decide(pod("alone", uid="alone")),
    ]
    assert [decision.outcome for decision in decisions].count(Outcome.SCHEDULED) == 1
    stream = StreamRecorder("s")
    with writer(tmp_path / "there") as run:
        for recorder in (stream, run):
            for one in (*nodes,):
                recorder.node_added(0.0, one)
            for what in (victim, *(decision.pod for decision in decisions)):
                recorder.pod_created(1.0, what, SCHEDULER)
                recorder.queue_moved(1.0, SCHEDULER, what.metadata.uid, None, Place.ACTIVE, "PodAdd")
            for number, decision in enumerate(decisions):
                recorder.decided(2.0 + number, SCHEDULER, 1, decision, 0.25)
        run.close(9.0)
    save(tmp_path / "here", stream, 9.0)
    for table in ("decisions", "filter_counts", "preemptions", "queue_moves"):
        assert rows(tmp_path / "here", table) == rows(tmp_path / "there", table), table
    assert len(rows(tmp_path / "here", "preemptions")) == 1


def test_who_is_deleted_while_waiting_leaves_the_queue(tmp_path: Path) -> None:
    stream = StreamRecorder("s")
    with writer(tmp_path / "there") as run:
        for recorder in (stream, run):
            recorder.pod_created(1.0, sized("waits", 1), SCHEDULER)
            recorder.queue_moved(1.0, SCHEDULER, "waits", None, Place.ACTIVE, "PodAdd")
            recorder.ended(2.0, "waits", PodEnd.DELETED)
            recorder.queue_moved(2.0, SCHEDULER, "waits", Place.ACTIVE, None, "PodDelete")
            recorder.queue_moved(3.0, SCHEDULER, "nobody", Place.ACTIVE, None, "PodDelete")
        run.close(9.0)
    save(tmp_path / "here", stream, 9.0)
    assert rows(tmp_path / "here", "queue_moves") == rows(tmp_path / "there", "queue_moves")[:2]
    assert len(rows(tmp_path / "here", "pods")) == 1


def test_after_a_gap_it_goes_on_from_how_things_stand(tmp_path: Path) -> None:
    first, second = StreamRecorder("one"), StreamRecorder("two")
    for recorder in (first, second):
        for name in ("n1", "n2") if recorder is first else ("n2", "n3"):
            recorder.node_added(0.0, node(name))
        for name in ("stays", "moves", "waits"):
            recorder.pod_created(0.0, sized(name, 1), SCHEDULER)
            recorder.queue_moved(0.0, SCHEDULER, name, None, Place.ACTIVE, "PodAdd")
        recorder.bound(1.0, "stays", "n2")
    first.pod_created(2.0, sized("goes", 1), SCHEDULER)
    first.bound(2.0, "goes", "n1")
    first.bound(3.0, "moves", "n1")
    second.pod_created(1.5, sized("comes", 1), SCHEDULER)
    second.bound(1.5, "comes", "n3")
    for recorder in (first, second):
        recorder.close(3.0)  # nothing waits any more
    _, standing = second.snapshot()
    path = tmp_path / "run"
    with RunWriter(path, scenario={}, seed=0) as kept:
        saver = StreamSaver(kept)
        saver.begin("one", 1_000_000_000_000)
        for event in events_of(first):
            saver.take(event)
        saver.begin("two", 1_010_000_000_000)  # ten seconds after the first one's beginning
        saver.lose(Gap(7, 1, 7, "other leader"))
        for event in standing:
            saver.take(event)
        second.ended(2.0, "stays", PodEnd.SUCCEEDED)
        for event in events_of(second)[-2:]:
            saver.take(event)
        assert saver.time == 12.0
        kept.close(saver.time)
    held = {
        (row["pod"], row["node"], row["from_seconds"], row["to_seconds"], row["reason"])
        for row in rows(path, "occupancy")
    }
    assert held == {
        ("default/stays", "n2", 1.0, 12.0, "Succeeded"),
        ("default/goes", "n1", 2.0, 11.5, "Deleted"),
        ("default/moves", "n1", 3.0, 11.5, "Deleted"),
        ("default/comes", "n3", 11.5, None, None),
    }
    assert [(row["node"], row["to_seconds"]) for row in rows(path, "nodes")] == [
        ("n1", 11.5),
        ("n2", None),
        ("n3", None),
    ]
    (gap,) = rows(path, "events")
    assert (gap["reason"], gap["message"]) == ("Gap", "7 events, 1 to 7: other leader")


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("others", [0, 1])
def test_a_job_that_failed_has_one_row_whatever_is_missing_of_it(tmp_path: Path, is_told: bool, others: int) -> None:
    """Its members come first, then what became of it: either may be lost in a gap, or left out by a filter."""
    refs = [PodRef("lab", f"train-{number}", f"uid-{number}") for number in range(3)]
    members = [
        Attempt(ref, SCHEDULER, 1, "unschedulable", message="two of three fit", job_part=PASSED_OVER)
        for ref in refs[:2]
    ]
    members.append(Attempt(refs[2], SCHEDULER, 1, "unschedulable", message="two of three fit", job_part=MEMBER))
    job = JobAttempt(
        JobRef("fairway.dev", "lab", "train"),
        SCHEDULER,
        1,
        "unschedulable",
        3,
        2,
        refs[2],
        1,
        message="two of three fit",
    )
    told: list[Told] = [*members[others:], *([job] if is_told else [])]
    with RunWriter(tmp_path / "run", scenario={}, seed=0) as kept:
        saver = StreamSaver(kept)
        saver.begin("s", None)
        for ref in refs:
            saver.take(Event(0.0, PodSeen(ref, "Created", SCHEDULER)))
        for what in told:
            saver.take(Event(1.0, what))
        if others:
            saver.take(Event(2.0, PodSeen(refs[0], "Deleted")))  # something else
        saver.finish()
        kept.close(3.0)
    decisions = rows(tmp_path / "run", "decisions")
    assert [(row["pod"], row["outcome"], row["message"]) for row in decisions] == [
        ("lab/train-2", "unschedulable", "two of three fit")
    ]
    assert len(rows(tmp_path / "run", "job_decisions")) == int(is_told and not others)
