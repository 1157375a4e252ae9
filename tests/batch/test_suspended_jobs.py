"""Suspended Jobs in queues: planned without pods, resumed at their turn, started as one."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from fairway.batch.job import JobOrders
from fairway.batch.limits import KEPT_SECONDS
from fairway.batch.reasons import JobOutcome, JobState, Reason
from fairway.model import Job, Pod
from tests.batch.room import Room, job
from tests.batch.test_failing_jobs import controller


def suspended(name: str, cpu: int = 1, number: int = 1, **said: Any) -> Job:
    made = controller(job(name, cpu=cpu, **said), number=number)
    assert isinstance(made, Job)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, suspend=True))


def found(room: Room, name: str) -> Job:
    made = room.simulation.api.find("Job", "default", name)
    assert isinstance(made, Job)
    return made


def pods_of(room: Room, name: str) -> list[Pod]:
    pods = room.simulation.api.objects("Pod")
    return [pod for pod in pods if (owner := pod.metadata.controller) is not None and owner.name == name]


def change(room: Room, name: str, **spec: Any) -> None:
    made = found(room, name)
    room.simulation.api.update(msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, **spec)))


def test_it_waits_without_pods_and_starts_at_its_turn() -> None:
    room = Room(
        [
            (0.0, job("first", cpu=3, run=30.0, limit=30.0)),
            (1.0, suspended("train", cpu=2, number=2)),
            (2.0, job("last")),
        ]
    )
    room.until(29.0)
    train = room.find("train")
    assert (train.state, train.standing.reason, train.min_count) == (JobState.QUEUED, Reason.RESOURCES, 2)
    assert (pods_of(room, "train"), found(room, "train").spec.suspend) == ([], True)
    assert room.starts["last"] == 2.0, "a short one passes it"
    room.until(31.0)
    assert not found(room, "train").spec.suspend
    assert {pod.metadata.name: room.starts[pod.metadata.name] for pod in pods_of(room, "train")} == {
        pod.metadata.name: 30.0 for pod in pods_of(room, "train")
    }
    assert len(pods_of(room, "train")) == 2
    assert (room.find("train").state, room.find("train").started) == (JobState.RUNNING, 30.0)
    room.until(60.0)
    assert room.desk.book.ended["default/train"].outcome is JobOutcome.SUCCEEDED
    assert room.desk.book.ended["default/train"].started == 30.0


def test_promises_hold_for_it_and_against_it() -> None:
    """The wide one without pods is the head of its queue: nobody may delay it, whoever fits before it may pass."""
    arrivals = [
        (0.0, job("first", cpu=3, run=30.0, limit=30.0)),
        (1.0, suspended("wide", cpu=2, number=2)),
        (2.0, job("long", run=40.0, limit=40.0)),
        (2.0, job("short", run=20.0, limit=20.0)),
    ]
    room = Room(arrivals)
    room.until(100.0)
    starts = {room.starts[name] for name in room.starts if name.startswith("wide")}
    assert starts == {30.0}
    assert (room.starts["short"], room.starts["long"]) == (2.0, 40.0)


def test_the_owner_of_a_waiting_one_may_still_change_what_it_says() -> None:
    room = Room([(0.0, suspended("train", cpu=2, number=2, hold="true"))])
    room.until(5.0)
    assert room.find("train").standing.reason is Reason.HELD
    made = found(room, "train")
    template = made.spec.template
    said = {**template.metadata.annotations, "fairway.dev/hold": "false"}
    metadata = msgspec.structs.replace(template.metadata, annotations=said)
    change(room, "train", template=msgspec.structs.replace(template, metadata=metadata))
    room.until(6.0)
    assert len(room.starts) == 2
    assert room.find("train").started == 5.0


def test_one_that_somebody_else_resumes_waits_for_its_turn_with_its_pods() -> None:
    room = Room([(0.0, job("first", cpu=4, run=30.0, limit=30.0)), (1.0, suspended("train", cpu=2, number=2))])
    room.until(5.0)
    change(room, "train", suspend=False)
    room.until(29.0)
    train = room.find("train")
    assert (len(train.members), train.imagined, train.standing.reason) == (2, (), Reason.RESOURCES)
    assert set(room.starts) == {"first"}
    room.until(31.0)
    assert room.find("train").started == 30.0


def test_one_that_runs_and_is_suspended_waits_again_and_keeps_its_time() -> None:
    """And starts again, as nobody else is there."""
    room = Room([(0.0, suspended("train", cpu=4, run=50.0, limit=100.0)), (11.0, job("other", cpu=4, limit=10.0))])
    room.until(10.0)
    train = room.find("train")
    assert train.started == 0.0
    (before,) = pods_of(room, "train")
    change(room, "train", suspend=True)
    room.until(12.0)
    assert room.find("train") is train
    assert (train.started, train.ledger.submitted, found(room, "train").spec.suspend) == (10.0, 0.0, False)
    assert [(each.start, each.end) for each in train.ledger.intervals] == [(0.0, 10.0), (10.0, math.inf)]
    (after,) = pods_of(room, "train")
    assert after.metadata.uid != before.metadata.uid
    room.until(70.0)
    assert (room.desk.book.ended["default/train"].ended, room.starts["other"]) == (60.0, 60.0)


def test_one_that_is_cancelled_stays_suspended_and_is_not_taken_up_again() -> None:
    room = Room([(0.0, job("first", cpu=4, run=30.0, limit=30.0)), (1.0, suspended("train", cpu=2, number=2))])
    room.until(5.0)
    room.desk.ordering.heed(room.find("train"), JobOrders(cancel=True))
    room.simulation.schedulers[0].queues.look()  # type: ignore[union-attr]
    room.until(6.0)
    assert room.desk.book.ended["default/train"].outcome is JobOutcome.CANCELLED
    change(room, "train", ttl_seconds_after_finished=5)
    room.until(60.0)
    assert room.desk.book.find("default/train") is None
    assert (found(room, "train").spec.suspend, found(room, "train").spec.active_deadline_seconds) == (True, None)
    assert set(room.starts) == {"first"}


def test_one_that_is_deleted_is_over() -> None:
    room = Room([(0.0, job("first", cpu=4, run=30.0, limit=30.0)), (1.0, suspended("train", cpu=2, number=2))])
    room.until(5.0)
    room.simulation.api.remove(found(room, "train"))
    room.until(6.0)
    assert room.desk.book.ended["default/train"].outcome is JobOutcome.CANCELLED
    assert list(room.desk.book) == [room.find("first")]


def test_room_is_kept_for_pods_that_are_to_come_but_not_for_ever() -> None:
    """Somebody else's controller sees to the Job, and makes nothing."""
    made = suspended("train", cpu=4)
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, managed_by="example.com/nobody"))
    room = Room([(0.0, made), (1.0, job("next", cpu=4, limit=10.0))])
    room.until(KEPT_SECONDS - 1)
    assert (room.find("train").state, room.starts) == (JobState.STARTING, {})
    room.until(KEPT_SECONDS + 1)
    assert room.starts == {"next": KEPT_SECONDS}
    train = room.find("train")
    assert (train.standing.reason, train.standing.words) == (Reason.GANG_INCOMPLETE, "0 of 1 members exist")


def test_a_queue_that_is_unknown_or_a_job_that_can_not_run_at_once_is_told() -> None:
    made = suspended("part", number=2)
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, completions=5))
    room = Room([(0.0, suspended("lost", queue="p")), (0.0, made), (0.0, suspended("big", cpu=3, number=2))])
    room.until(5.0)
    assert room.find("lost").standing.reason == "QueueUnknown"
    assert "2 of 5 completions" in room.find("part").standing.words
    assert room.find("big").standing.reason == "NeverFits"
    assert not room.starts
