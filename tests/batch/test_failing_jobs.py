"""Limits and failure rules in a small simulation: who ends, who comes again, and what it has used by then."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobOutcome, JobState, Reason, Refused
from fairway.model import (
    Job,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodTemplateSpec,
    ReplicaSet,
    ReplicaSetSpec,
    Toleration,
)
from fairway.model.batch import FailureRule, FailureRules, QueueLimits
from fairway.model.controllers import JobSpec
from fairway.model.duration import Duration
from fairway.sim.simulation import Fault
from tests.batch.room import Room, job


def controller(pod: Pod, kind: str = "Job", number: int = 1) -> Job | ReplicaSet:
    """Makes pods like this one."""
    labels = {**pod.metadata.labels, "app": "a"}
    restarts = "Never" if kind == "Job" else "Always"
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels, annotations=pod.metadata.annotations),
        spec=msgspec.structs.replace(pod.spec, restart_policy=restarts),
    )
    meta = ObjectMeta(name=pod.metadata.name, namespace="default")
    if kind == "Job":
        return Job(
            metadata=meta, spec=JobSpec(parallelism=number, completions=number, backoff_limit=6, template=template)
        )
    spec = ReplicaSetSpec(replicas=number, selector=LabelSelector(match_labels={"app": "a"}), template=template)
    return ReplicaSet(metadata=meta, spec=spec)


def patient(pod: Pod) -> Pod:
    """Nobody but the desk takes it from a lost node."""
    spec = msgspec.structs.replace(pod.spec, tolerations=(Toleration(operator="Exists", effect="NoExecute"),))
    return msgspec.structs.replace(pod, spec=spec)


def rules(*given: FailureRule, **other: Any) -> dict[str, Any]:
    return {"queues": {"q": {"failure": FailureRules(rules=given, **other)}}}


def only(room: Room) -> BatchJob:
    (found,) = room.desk.book.jobs.values()
    return found


def test_a_job_hears_of_its_deadline_and_is_ended_with_the_queues_grace() -> None:
    limits = QueueLimits(max=Duration(1000), warn_before=Duration(20), kill_grace=Duration(3), over_time=Duration(10))
    room = Room([(0.0, job("j", run=900.0, limit=100.0))], latency=5.0, queues={"q": {"limits": limits}})
    room.until(84.0)
    pod = next(iter(room.find("j").members.values()))
    assert "fairway.dev/deadline" not in pod.metadata.annotations
    room.until(86.0)  # it runs since the fifth second
    found = room.find("j")
    pod = next(iter(found.members.values()))
    assert pod.metadata.annotations["fairway.dev/deadline"] == "2030-01-01T00:01:45Z"
    assert [each for each in room.told if each[2] == "TimeLimitNear"] == [
        (85.0, "default/j", "TimeLimitNear", "its limit of 1m 40s is reached in 20s")
    ]
    room.until(116.0)
    assert (found.state, found.standing.reason) == (JobState.ENDING, JobOutcome.TIMED_OUT)
    room.until(118.5)
    assert (found.state, found.standing.reason) == (JobState.FINISHED, JobOutcome.TIMED_OUT)
    assert found.consumed(1000.0) == pytest.approx(113.0)  # limit, overTime and grace, of five seconds the kubelet's


def test_a_job_of_a_controller_fails_with_it() -> None:
    room = Room([], objects=[controller(job("train", run=500.0, limit=30.0), number=2)])
    room.until(20.0)
    first, second = room.desk.book.jobs.values()
    room.until(40.0)
    assert {each.standing[:2] for each in (first, second)} == {(JobState.FINISHED, JobOutcome.TIMED_OUT)}
    owner: Any = room.simulation.api.find("Job", "default", "train")
    assert owner.finish.reason == "DeadlineExceeded"
    assert not room.desk.book.jobs


def test_what_another_controller_makes_anew_has_no_time_left() -> None:
    room = Room([], objects=[controller(job("serve", run=500.0, limit=30.0), "ReplicaSet")])
    room.until(100.0)
    found = only(room)
    assert found.standing[:2] == (JobState.REFUSED, Refused.TIME_USED_UP)
    assert (found.consumed(100.0), len(room.starts)) == (30.0, 1)


def test_time_counts_over_all_starts_of_a_job() -> None:
    """Its pod fails after 20 s each time, and the Job makes another after its own back-off."""
    room = Room([], objects=[controller(job("train", run=100.0, limit=50.0, fail_after="20"))])
    room.until(25.0)
    found = only(room)
    assert (found.state, found.standing.reason) == (JobState.QUEUED, Reason.GANG_INCOMPLETE)
    room.until(200.0)
    assert found.ledger.intervals[-1].end - found.ledger.intervals[-1].start == pytest.approx(10.0)
    assert found.consumed(1000.0) == pytest.approx(50.0)
    assert (found.standing.reason, found.ledger.submitted) == (JobOutcome.TIMED_OUT, 0.0)


def gang(count: int, **said: str) -> list[Pod]:
    given: Any = {"limit": 500.0, "run": 100.0, "gang": "g", "gang_size": str(count), **said}
    return [job(f"g-{n}", **given) for n in range(count)]


def test_bare_pods_of_a_gang_are_made_anew_if_they_say_so_and_only_so_often() -> None:
    members = gang(3, requeue="recreate")
    members[1] = job("g-1", limit=500.0, fail_after="10", gang="g", gang_size="3", requeue="recreate")
    room = Room([(0.0, each) for each in members], **rules(retries=2))
    room.until(50.0)
    found = room.find("g")
    assert found.state is JobState.RUNNING  # two of three, for less than a minute
    room.until(71.0)
    assert (found.ledger.num_restarts, found.state) == (1, JobState.RUNNING)
    assert [(each.start, each.end) for each in found.ledger.intervals] == [(0.0, 10.0), (70.0, math.inf)]
    room.until(300.0)
    assert (found.ledger.num_restarts, found.standing[:2]) == (2, (JobState.FINISHED, JobOutcome.FAILED))
    assert "after 2 restarts" in found.standing.words
    assert room.simulation.api.objects("Pod") == []


def test_bare_pods_of_a_broken_gang_stay_away_otherwise() -> None:
    members = gang(2)
    members[1] = job("g-1", limit=500.0, fail_after="10", gang="g", gang_size="2")
    room = Room([(0.0, each) for each in members])
    room.until(69.0)
    found = room.find("g")
    room.until(75.0)
    assert found.standing[:2] == (JobState.FINISHED, JobOutcome.FAILED)
    assert "fairway.dev/requeue: recreate would" in found.standing.words


def test_a_lone_pod_that_says_so_is_made_anew_and_counted() -> None:
    room = Room([(0.0, job("j", limit=500.0, fail_after="10", requeue="recreate"))], **rules(retries=2))
    room.until(5.0)
    found = room.find("j")
    room.until(100.0)
    assert (found.ledger.num_restarts, found.standing[:2]) == (2, (JobState.FINISHED, JobOutcome.FAILED))
    assert found.consumed(1000.0) == 30.0


@pytest.mark.parametrize(
    ("mode", "state", "reason", "starts"),
    [
        ("requeue", JobState.RUNNING, None, 2),
        ("fail", JobState.FINISHED, JobOutcome.NODE_FAILED, 1),
        ("wait", JobState.RUNNING, None, 1),
    ],
)
def test_a_lost_node_does_what_the_queue_says(mode: str, state: JobState, reason: object, starts: int) -> None:
    """The node goes dark at 10 s, which is noticed at 60 s; its job is given up at 410 s."""
    given = rules(node_loss=mode)
    objects = [controller(patient(job("train", cpu=4, run=900.0, limit=1000.0)))]
    room = Room([], cpus=(4, 4), objects=objects, **given)
    room.until(10.0)
    found = only(room)
    (pod,) = found.members.values()
    room.simulation.lifecycle.apply("lose", pod.spec.node_name)
    room.until(409.0)
    assert found.state is JobState.RUNNING
    room.until(440.0)
    assert (found.state, found.standing.reason, len(room.starts)) == (state, reason, starts)
    if mode == "requeue":
        assert (found.ledger.num_requeues, found.ledger.submitted) == (1, 0.0)
        assert [each.refund for each in found.ledger.intervals] == ["NodeLost", ""]


def test_a_job_goes_on_with_fewer() -> None:
    members = [job(f"g-{n}", cpu=4, limit=1000.0, run=900.0, gang="g", gang_size="3", gang_min="2") for n in range(3)]
    given = rules(node_loss="shrink")
    room = Room(
        [(0.0, patient(each)) for each in members],
        cpus=(4, 4, 4),
        faults=[Fault(10.0, "n1", "lose")],
        **given,
    )
    room.until(450.0)
    found = room.find("g")
    assert (found.state, len(found.members), len(found.ledger.intervals)) == (JobState.RUNNING, 2, 1)


def test_a_job_that_never_comes_to_run_waits_longer_each_time() -> None:
    stuck = job("train", limit=100.0)
    annotations = {**stuck.metadata.annotations, "fairway.dev/start-latency": "1d"}
    stuck = msgspec.structs.replace(stuck, metadata=msgspec.structs.replace(stuck.metadata, annotations=annotations))
    room = Room([], objects=[controller(stuck)])
    room.until(1799.0)
    found = only(room)
    assert found.state is JobState.STARTING
    room.until(1815.0)
    assert found.standing[:2] == (JobState.QUEUED, Reason.BACK_OFF)
    assert (found.ledger.back_off_until, found.ledger.num_requeues) == (1860.0, 1)
    assert "did not run within 30m" in found.standing.words
    room.until(1861.0)
    assert found.state is JobState.STARTING
    room.until(3700.0)
    assert found.ledger.back_off_until == 1860.0 + 1800.0 + 120.0
    assert found.consumed(4000.0) == 0.0


@pytest.mark.parametrize(
    ("code", "outcome", "restarts"),
    [("42", JobOutcome.FAILED, 0), ("7", JobOutcome.FAILED, 1)],
    ids=["at once", "after one more try"],
)
def test_exit_codes_decide(code: str, outcome: JobOutcome, restarts: int) -> None:
    given = rules(
        FailureRule(on="exitCodes", codes=(42,), do="FailJob"), FailureRule(on="PodFailed", do="RestartJob", max=1)
    )
    said: Any = {"limit": 500.0, "fail_after": "10", "exit_code": code, "gang": "g", "gang_size": "2"}
    room = Room([(0.0, job(f"g-{n}", **said, requeue="recreate")) for n in range(2)], **given)
    room.until(5.0)
    found = room.find("g")
    room.until(100.0)
    assert (found.standing.reason, found.ledger.num_restarts) == (outcome, restarts)


def test_the_task_that_matters_completes_the_job() -> None:
    given = rules(FailureRule(on="TaskDone", task="main", do="CompleteJob"))
    main = job("g-0", limit=500.0, run=20.0, gang="g", gang_size="2", task="main")
    room = Room([(0.0, main), (0.0, job("g-1", limit=500.0, run=400.0, gang="g", gang_size="2"))], **given)
    room.until(10.0)
    found = room.find("g")
    room.until(30.0)
    assert found.standing[:2] == (JobState.FINISHED, JobOutcome.SUCCEEDED)
    assert room.simulation.api.objects("Pod") == []


def test_a_job_whose_controller_is_deleted_is_cancelled() -> None:
    room = Room([], objects=[controller(job("train", run=500.0, limit=900.0))])
    room.until(10.0)
    found = only(room)
    room.simulation.api.remove(room.simulation.api.find("Job", "default", "train"))
    room.until(20.0)
    assert found.standing[:2] == (JobState.FINISHED, JobOutcome.CANCELLED)
    assert not room.desk.book.jobs


def test_an_evicted_job_waits_again_in_its_place() -> None:
    """Drained, its Job makes another pod, which has to wait for room like anybody."""
    objects = [controller(job("train", cpu=4, run=100.0, limit=200.0))]
    room = Room([(1.0, job("next", cpu=4))], objects=objects, faults=[Fault(10.0, "n0", "drain", 50.0)])
    room.until(30.0)
    found = next(each for each in room.desk.book if each.ledger.owner)
    assert (found.state, found.ledger.submitted, len(room.starts)) == (JobState.QUEUED, 0.0, 1)
    room.until(61.0)
    assert found.state is JobState.RUNNING  # it came before the other one
    assert found.consumed(61.0) == pytest.approx(11.0)
