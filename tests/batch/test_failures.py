"""Failures: the first rule that fits, then what holds by default; bounded, and the same at every look."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.failures import (
    Incident,
    JobSight,
    LostNode,
    back_off,
    failure_decision,
    requeue_decision,
)
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobOutcome
from fairway.model.batch import FailureRule, FailureRules
from fairway.model.duration import Duration
from fairway.testing import pod
from tests.batch.jobs import gang, job_of
from tests.batch.naive_failures import Case, verdict

FAILED = Incident("PodFailed", 0.0, "default/m0", "worker", 1)
RULES = FailureRules()


def decided(job: BatchJob, sight: JobSight, rules: FailureRules = RULES, now: float = 1000.0) -> tuple[str, bool, bool]:
    decision = failure_decision(job, sight, rules, now)
    if decision is None:
        return ("", False, False)
    return (decision.do, decision.counts_restart, decision.counts_requeue)


@pytest.mark.parametrize(
    ("job", "sight", "do"),
    [
        pytest.param(gang(), JobSight(2, 0.0), "", id="enough run"),
        pytest.param(gang(), JobSight(1, 950.0), "", id="too few, but not for long"),
        pytest.param(gang(), JobSight(1, 940.0), "RestartJob, counted", id="too few for a minute"),
        pytest.param(gang(restarts=2), JobSight(1, 0.0), "RestartJob, counted", id="the last retry"),
        pytest.param(gang(restarts=3), JobSight(1, 0.0), "FailJob", id="no retry is left"),
        pytest.param(
            gang(restarts=9),
            JobSight(1, 0.0, incidents=(FAILED._replace(is_excused=True),)),
            "RestartJob",
            id="excused",
        ),
        pytest.param(gang(owner=""), JobSight(1, 0.0), "FailJob", id="bare pods stay away"),
        pytest.param(gang(owner="", recreates=True), JobSight(1, 0.0), "RestartJob, counted", id="bare pods made anew"),
        pytest.param(gang(on_failure="fail"), JobSight(1, 0.0), "FailJob", id="it wants to fail"),
        pytest.param(gang(), JobSight(0, -800.0, is_starting=True), "Requeue, counted", id="never started"),
        pytest.param(gang(), JobSight(0, -799.0, is_starting=True), "", id="may still start"),
        pytest.param(gang(requeues=99), JobSight(0, -800.0, is_starting=True), "Requeue, counted", id="never gives up"),
    ],
)
def test_what_holds_by_default(job: BatchJob, sight: JobSight, do: str) -> None:
    what, restart, requeue = decided(job, sight)
    assert (f"{what}, counted" if restart or requeue else what) == do


@pytest.mark.parametrize(
    ("mode", "lost", "running", "requeues", "do"),
    [
        pytest.param("requeue", LostNode("n0", 650.0), 2, 0, "Requeue", id="lost for long enough"),
        pytest.param("requeue", LostNode("n0", 651.0), 2, 0, "", id="it may come back"),
        pytest.param("requeue", LostNode("n0", 999.0, is_certain=True), 2, 0, "Requeue", id="gone, or booted since"),
        pytest.param("requeue", LostNode("n0", 0.0), 2, 5, "FailJob", id="too often"),
        pytest.param("fail", LostNode("n0", 0.0), 2, 0, "FailJob", id="fail"),
        pytest.param("wait", LostNode("n0", 0.0), 0, 0, "", id="wait for it"),
        pytest.param("wait", LostNode("n0", -2600.0), 0, 0, "Requeue", id="not for more than an hour"),
        pytest.param("wait", LostNode("n0", 999.0, is_certain=True), 0, 0, "Requeue", id="not for one that is gone"),
        pytest.param("shrink", LostNode("n0", 0.0), 2, 0, "Shrink", id="enough are left"),
        pytest.param("shrink", LostNode("n0", 0.0), 1, 0, "Requeue", id="too few are left"),
    ],
)
def test_lost_nodes(mode: str, lost: LostNode, running: int, requeues: int, do: str) -> None:
    for job, rules in [
        (gang(requeues=requeues), FailureRules(node_loss=mode)),  # type: ignore[arg-type]
        (gang(requeues=requeues, on_node_loss=mode), RULES),
    ]:
        decision = failure_decision(job, JobSight(running, 0.0, lost=(lost,)), rules, 1000.0)
        assert (decision.do if decision else "") == do
        if decision:
            assert decision.is_excused
            assert decision.outcome == (JobOutcome.NODE_FAILED if do == "FailJob" else None)
            assert decision.pods == (("default/m0",) if do == "Shrink" else ())


@pytest.mark.parametrize(
    ("rules", "incident", "do"),
    [
        pytest.param([{"on": "PodFailed", "do": "FailJob"}], FAILED, "FailJob", id="one word"),
        pytest.param([{"on": "PodEvicted", "do": "FailJob"}], FAILED, "", id="another cause"),
        pytest.param(
            [{"on": "exitCodes", "codes": (1, 2), "do": "RestartPod"}, {"on": "PodFailed", "do": "FailJob"}],
            FAILED,
            "RestartPod",
            id="the first that fits",
        ),
        pytest.param(
            [{"on": "exitCodes", "codes": (7,), "do": "RestartPod"}, {"on": "PodFailed", "do": "FailJob"}],
            FAILED,
            "FailJob",
            id="another exit code",
        ),
        pytest.param([{"on": "PodFailed", "task": "ps", "do": "FailJob"}], FAILED, "", id="another task"),
        pytest.param([{"on": "PodFailed", "after": Duration(1001), "do": "FailJob"}], FAILED, "", id="not yet"),
        pytest.param([{"on": "PodFailed", "after": Duration(1000), "do": "FailJob"}], FAILED, "FailJob", id="by now"),
        pytest.param([{"on": "PodFailed", "do": "RestartJob", "max": 0}], FAILED, "FailJob", id="used up"),
        pytest.param([{"on": "PodFailed", "do": "Ignore", "max": 1}], FAILED, "", id="one may be ignored"),
        pytest.param(
            [{"on": "TaskDone", "task": "main", "do": "CompleteJob"}],
            Incident("TaskDone", 0.0, task="main"),
            "CompleteJob",
            id="its main task is done",
        ),
    ],
)
def test_rules(rules: list[dict[str, Any]], incident: Incident, do: str) -> None:
    failure = FailureRules(rules=tuple(FailureRule(**rule) for rule in rules))
    decision = failure_decision(gang(), JobSight(2, 0.0, incidents=(incident,)), failure, 1000.0)
    assert (decision.do if decision else "") == do
    if do == "RestartPod":
        assert decision is not None
        assert decision.pods == ("default/m0",)


@pytest.mark.parametrize("do", ["RestartPod", "RestartJob"])
@pytest.mark.parametrize("is_excused", [True, False])
def test_what_is_excused_counts_for_no_rule(do: str, is_excused: bool) -> None:
    rules = FailureRules(rules=(FailureRule(on="PodFailed", do=do),))  # type: ignore[arg-type]
    sight = JobSight(2, 0.0, incidents=(FAILED._replace(is_excused=is_excused),))
    assert decided(gang(), sight, rules) == (do, not is_excused, False)


def test_a_lone_pod_that_fails_is_over_unless_somebody_makes_another() -> None:
    sight = JobSight(0, 0.0, incidents=(FAILED,))
    assert decided(job_of(members=[pod("m0")]), sight)[0] == "FailJob"
    assert decided(job_of(members=[pod("m0", owner="ReplicaSet/a")]), sight)[0] == ""


def test_waits_between_tries_double_up_to_an_hour() -> None:
    assert [back_off(times) for times in (0, 1, 2, 5, 6, 1000)] == [60, 120, 240, 1920, 3600, 3600]
    decision = failure_decision(gang(requeues=3), JobSight(0, 0.0, is_starting=True), RULES, 2000.0)
    assert decision is not None
    assert decision.back_off_until == 2480.0


def test_who_is_ended_by_us_waits_again_and_nothing_counts() -> None:
    decision = requeue_decision(gang(requeues=9), "maintenance rack-r7")
    assert (decision.do, decision.counts_requeue, decision.is_excused) == ("Requeue", False, True)
    bare = requeue_decision(gang(owner=""), "maintenance rack-r7")
    assert (bare.do, bare.outcome) == ("FailJob", JobOutcome.CANCELLED)
    assert requeue_decision(gang(requeues=0), "").do == "Requeue"


RULE = st.builds(
    FailureRule,
    on=st.sampled_from(["PodFailed", "PodEvicted", "NodeLost", "NeverStarted", "exitCodes", "TaskDone"]),
    do=st.sampled_from(["Ignore", "RestartPod", "RestartJob", "FailJob", "CompleteJob", "Requeue"]),
    task=st.sampled_from(["", "", "worker", "ps"]),
    codes=st.sampled_from([(1,), (1, 137)]),
    after=st.sampled_from([0, 500, 1500]).map(Duration),
    max=st.sampled_from([None, 0, 1, 2]),
)
INCIDENT = st.builds(
    Incident,
    kind=st.sampled_from(["PodFailed", "PodEvicted", "TaskDone"]),
    since=st.sampled_from([0.0, 900.0]),
    pod=st.sampled_from(["default/m0", "default/m1"]),
    task=st.sampled_from(["", "worker", "ps"]),
    exit_code=st.sampled_from([None, 1, 137]),
    is_excused=st.booleans(),
)
LOST = st.builds(LostNode, name=st.just("n2"), since=st.sampled_from([-3000.0, 0.0, 900.0]), is_certain=st.booleans())


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_the_same_as_by_hand(data: st.DataObject) -> None:
    draw = data.draw
    recreates = draw(st.booleans())
    case = Case(
        is_gang=draw(st.booleans()),
        comes_again=recreates or draw(st.booleans()),
        recreates=recreates,
        may_requeue=draw(st.booleans()),
        min_count=draw(st.integers(1, 3)),
        num_running=draw(st.integers(0, 3)),
        is_starting=draw(st.booleans()),
        since=draw(st.sampled_from([-900.0, 0.0, 950.0])),
        num_restarts=draw(st.integers(0, 4)),
        num_requeues=draw(st.integers(0, 6)),
        incidents=draw(st.lists(INCIDENT, max_size=3, unique=True)),
        lost=draw(st.lists(LOST, max_size=1)),
        lost_members={"n2": 1},
        rules=draw(st.lists(RULE, max_size=3)),
        retries=3,
        requeues=5,
        broken_after=60.0,
        lost_after=350.0,
        node_loss=draw(st.sampled_from(["requeue", "fail", "wait", "shrink"])),
        now=1000.0,
    )
    job = gang(
        case.min_count,
        restarts=case.num_restarts,
        requeues=case.num_requeues,
        owner="Job/a" if case.comes_again and not recreates else "",
    )
    job.wishes = job_of(requeues=case.may_requeue, recreates=recreates).wishes
    job.group = job.group if case.is_gang else None
    sight = JobSight(case.num_running, case.since, case.is_starting, tuple(case.incidents), tuple(case.lost))
    rules = FailureRules(rules=tuple(case.rules), node_loss=case.node_loss)  # type: ignore[arg-type]
    do, restart, requeue = decided(job, sight, rules)
    assert (f"{do}, counted" if restart or requeue else do) == verdict(case)


@given(st.lists(st.booleans(), min_size=12, max_size=30))
def test_no_job_is_started_anew_without_end(by_node: list[bool]) -> None:
    job = gang()
    for loses_node in by_node:
        lost = (LostNode("n0", -math.inf),) if loses_node else ()
        decision = failure_decision(job, JobSight(0, 0.0, lost=lost), RULES, 1000.0)
        assert decision is not None
        if decision.do == "FailJob":
            break
        job.ledger.num_restarts += decision.counts_restart
        job.ledger.num_requeues += decision.counts_requeue
    else:
        raise AssertionError("it never failed")
    assert (job.ledger.num_restarts, job.ledger.num_requeues) in {(3, each) for each in range(6)} | {
        (each, 5) for each in range(4)
    }
