"""Jobs: enough successes, or too many failures."""

from typing import Any

import msgspec
import pytest

from fairway.model import Job, LabelSelector, ObjectMeta, Pod, PodCondition
from fairway.model.controllers import (
    JobSpec,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodes,
    PodFailurePolicyOnPodCondition,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from fairway.sim.controllers import ControllerSettings
from fairway.testing import node
from fairway.testing.group_builders import pod_group
from tests.sim.controllers.world import World, template

DISRUPTED = PodCondition(type="DisruptionTarget", status="True")
IGNORE_DISRUPTIONS = PodFailurePolicyRule(
    action="Ignore", on_pod_conditions=(PodFailurePolicyOnPodCondition(type="DisruptionTarget", status="True"),)
)


def job(name: str = "job", **spec: Any) -> Job:
    fields = {"template": template(duration="9")} | spec  # with the latency of the kubelet: 10 s each
    return Job(metadata=ObjectMeta(name=name, namespace="default"), spec=JobSpec(**fields))


def failing(**annotations: str) -> Any:
    return template(**({"fail_after": "9"} | annotations))


def policy(*rules: PodFailurePolicyRule) -> PodFailurePolicy:
    return PodFailurePolicy(rules=rules)


def on_code(action: str, *codes: int, operator: str = "In") -> PodFailurePolicyRule:
    return PodFailurePolicyRule(
        action=action, on_exit_codes=PodFailurePolicyOnExitCodes(operator=operator, values=codes)
    )


def births(world: World, until: int) -> list[int]:
    """The seconds in which pods were created."""
    times = []
    for second in range(int(world.timeline.now()), until):
        before = world.num_created
        world.run(second)
        times += [second] * (world.num_created - before)
    return times


def indexes(world: World) -> list[str]:
    return [pod.metadata.annotations["batch.kubernetes.io/job-completion-index"] for pod in world.pods]


# -- success ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [0], id="one pod"),
        pytest.param({"completions": 3}, [0, 10, 20], id="one after the other"),
        pytest.param({"completions": 5, "parallelism": 2}, [0, 0, 10, 10, 20], id="two at a time"),
        pytest.param({"completions": 2, "parallelism": 9}, [0, 0], id="no more than needed"),
        pytest.param({"parallelism": 3}, [0, 0, 0], id="a work queue: when one is done, all is done"),
        pytest.param({"completions": 0}, [], id="nothing to do"),
    ],
)
def test_pods_are_started_in_time(spec: dict[str, Any], expected: list[int]) -> None:
    world = World()
    world.create(job(**spec))
    assert births(world, 100) == expected
    assert world.verdict() == "Complete CompletionsReached"
    assert world.pods == []


def test_the_status_tells_what_happened() -> None:
    world = World()
    world.create(job(completions=5, parallelism=2))
    world.run(100)
    status = world.job().status
    assert (status.succeeded, status.failed, status.active) == (5, 0, 0)
    assert status.start_time is not None
    assert status.completion_time is not None
    assert (status.completion_time - status.start_time).total_seconds() == 30
    assert world.most == 2


def test_its_pods_know_their_job() -> None:
    world = World()
    made = world.create(job())
    world.run(1)
    (pod,) = world.pods
    assert pod.metadata.name.startswith("job-")
    assert pod.metadata.labels == {
        "app": "web",
        "batch.kubernetes.io/job-name": "job",
        "job-name": "job",
        "batch.kubernetes.io/controller-uid": made.metadata.uid,
        "controller-uid": made.metadata.uid,
    }


def test_a_job_with_a_selector_of_its_own_labels_nothing() -> None:
    world = World()
    world.create(job(manual_selector=True, selector=LabelSelector(match_labels={"app": "web"})))
    world.run(1)
    (pod,) = world.pods
    assert pod.metadata.labels == {"app": "web"}


@pytest.mark.parametrize(
    ("manager", "num_created"), [("kubernetes.io/job-controller", 1), ("kueue.x-k8s.io/multikueue", 0)]
)
def test_a_job_that_somebody_else_manages_is_left_to_them_and_it_is_said(manager: str, num_created: int) -> None:
    world = World()
    world.create(job(managed_by=manager))
    world.run(5)
    assert world.num_created == num_created
    assert [words[2] for words in world.reports] == ([] if num_created else ["ManagedBy"])


def test_parallelism_can_be_changed() -> None:
    world = World()
    made = world.create(job(completions=100, parallelism=4))
    world.run(5)
    world.change(made, parallelism=1)
    world.run(5)
    assert world.count() == 1
    world.change(made, parallelism=3)
    world.run(8)
    assert world.count() == 3
    world.run(300)
    assert world.job().finish is None
    assert world.job().status.failed == 0


# -- indexes ---------------------------------------------------------------------------------------------------------


def test_each_index_succeeds_once() -> None:
    world = World()
    world.create(job(completions=5, parallelism=3, completion_mode="Indexed"))
    world.run(5)
    assert indexes(world) == ["0", "1", "2"]
    pod = world.pods[1]
    assert pod.metadata.name.startswith("job-1-")
    assert pod.spec.hostname == "job-1"
    assert pod.metadata.labels["batch.kubernetes.io/job-completion-index"] == "1"
    world.run(15)
    assert indexes(world) == ["3", "4"]
    world.run(55)
    assert world.job().status.completed_indexes == "0-4"
    assert (world.verdict(), world.num_created) == ("Complete CompletionsReached", 5)


def test_an_index_whose_pod_was_deleted_is_done_again() -> None:
    world = World()
    world.create(job(completions=3, parallelism=3, completion_mode="Indexed"))
    world.run(5)
    world.api.delete(world.pods[1])
    world.run(9)
    assert indexes(world) == ["0", "2"]  # 1 has to wait
    world.run(10)
    assert indexes(world) == ["1"]  # the successes of the others forgive its failure
    world.run(30)
    assert (world.job().status.completed_indexes, world.job().status.failed) == ("0-2", 1)


def test_indexes_fail_on_their_own() -> None:
    world = World(nodes=(node("n"),))
    pods = failing(fail_after="4")
    world.create(job(template=pods, completions=2, parallelism=2, completion_mode="Indexed", backoff_limit_per_index=1))
    # Both fail at 5, again 10 s later at 20, and then there is no more.
    assert births(world, 100) == [0, 0, 15, 15]
    assert world.verdict() == "Failed FailedIndexes"
    status = world.job().status
    assert (status.failed_indexes, status.completed_indexes, status.failed) == ("0-1", "", 4)


def test_too_many_failed_indexes_end_the_job() -> None:
    world = World()
    spec: dict[str, Any] = {
        "completions": 50,
        "completion_mode": "Indexed",
        "backoff_limit_per_index": 0,
        "max_failed_indexes": 2,
    }
    world.create(job(template=failing(), **spec))
    assert births(world, 100) == [0, 10, 20]
    assert world.verdict() == "Failed MaxFailedIndexesExceeded"


def test_fewer_completions_end_the_pods_beyond() -> None:
    world = World()
    made = world.create(job(completions=4, parallelism=4, completion_mode="Indexed"))
    world.run(5)
    world.change(made, completions=2, parallelism=2)
    world.run(50)
    status = world.job().status
    assert (world.verdict(), status.completed_indexes, status.failed) == ("Complete CompletionsReached", "0-1", 0)


@pytest.mark.parametrize(
    ("rules", "message", "indexes"),
    [
        pytest.param([{"succeeded_count": 2}], "Matched rules at index 0", "0-1", id="two of any"),
        pytest.param([{"succeeded_indexes": "0"}], "Matched rules at index 0", "0", id="the leader"),
        pytest.param([{"succeeded_indexes": "1-2"}], "Matched rules at index 0", "0-2", id="all of these"),
        pytest.param(
            [{"succeeded_indexes": "1-3", "succeeded_count": 1}], "Matched rules at index 0", "0-1", id="one of these"
        ),
        pytest.param(
            [{"succeeded_indexes": "4"}, {"succeeded_count": 3}], "Matched rules at index 1", "0-2", id="either"
        ),
    ],
)
def test_a_success_policy_ends_the_job_early(rules: list[dict[str, Any]], message: str, indexes: str) -> None:
    world = World()
    success = SuccessPolicy(rules=tuple(SuccessPolicyRule(**rule) for rule in rules))
    world.create(job(completions=5, parallelism=1, completion_mode="Indexed", success_policy=success))
    world.run(200)
    assert world.verdict() == "Complete SuccessPolicy"
    finish = world.job().finish
    assert finish is not None
    assert (finish.message, world.job().status.completed_indexes) == (message, indexes)
    assert [one.type for one in world.job().status.conditions] == ["SuccessCriteriaMet", "Complete"]
    assert world.pods == []


def test_pods_that_are_not_needed_any_more_are_ended_and_have_not_failed() -> None:
    world = World()
    success = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_indexes="2"),))
    world.create(job(completions=5, parallelism=3, completion_mode="Indexed", success_policy=success))
    world.run(5)
    world.api.delete(world.pods[0])  # done again later: after the end it is of no use
    world.run(10)
    assert world.job().finish is None or world.pods == []
    world.run(12)
    status = world.job().status
    assert (world.verdict(), status.completed_indexes, status.failed) == ("Complete SuccessPolicy", "1-2", 1)
    assert world.num_created == 3


def test_a_job_that_has_to_fail_fails_whatever_its_success_policy_says() -> None:
    world = World()
    success = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_count=2),))
    spec: dict[str, Any] = {"completions": 2, "completion_mode": "Indexed", "backoff_limit": 0}
    world.create(job(template=failing(), success_policy=success, **spec))
    world.run(100)
    assert world.verdict() == "Failed BackoffLimitExceeded"


# -- failures --------------------------------------------------------------------------------------------------------


def test_the_back_off_doubles() -> None:
    world = World()
    world.create(job(template=failing(), backoff_limit=3))
    # Each fails after 10 s; then 10, 20, 40 s pass.
    assert births(world, 300) == [0, 20, 50, 100]
    assert world.verdict() == "Failed BackoffLimitExceeded"
    assert world.job().status.failed == 4


def test_the_back_off_has_a_limit_and_six_failures_are_allowed() -> None:
    world = World(settings=ControllerSettings(job_backoff_limit=60))
    world.create(job(template=failing()))
    assert births(world, 1000) == [0, 20, 50, 100, 170, 240, 310]
    assert world.verdict() == "Failed BackoffLimitExceeded"


def test_a_success_forgives_failures() -> None:
    world = World()
    world.create(job(completions=2, parallelism=1))
    world.run(5)
    world.api.delete(world.pods[0])  # fails: 10 s to wait
    assert births(world, 60) == [15, 25]
    assert world.verdict() == "Complete CompletionsReached"


def test_the_last_failure_ends_the_others() -> None:
    world = World()
    world.create(job(parallelism=3, completions=3, backoff_limit=0, template=template(duration="100")))
    world.run(5)
    world.api.delete(world.pods[0])
    world.run(5)
    assert all(pod.is_terminating for pod in world.pods)
    assert world.job().finish is None
    world.run(7)
    assert (world.verdict(), world.job().status.failed, world.pods) == ("Failed BackoffLimitExceeded", 3, [])


def test_rejected_pods_back_off() -> None:
    world = World(nodes=(node("full", pods=0),))
    world.create(job(backoff_limit=2))
    assert births(world, 100) == [0, 10, 30]
    assert world.verdict() == "Failed BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("rule", "code", "verdict", "num_created"),
    [
        pytest.param(on_code("FailJob", 42), "42", "Failed PodFailurePolicy", 1, id="fail the job"),
        pytest.param(on_code("FailJob", 42), "7", "Failed BackoffLimitExceeded", 3, id="another code"),
        pytest.param(on_code("FailJob", 42, operator="NotIn"), "7", "Failed PodFailurePolicy", 1, id="not in"),
        pytest.param(on_code("Ignore", 42), "42", "", 5, id="ignore"),
        pytest.param(on_code("Count", 42), "42", "Failed BackoffLimitExceeded", 3, id="count"),
        pytest.param(on_code("FailJob", 1), "", "Failed PodFailurePolicy", 1, id="a code nobody chose is 1"),
        pytest.param(IGNORE_DISRUPTIONS, "42", "Failed BackoffLimitExceeded", 3, id="a condition it has not"),
    ],
)
def test_the_policy_judges_failures(rule: PodFailurePolicyRule, code: str, verdict: str, num_created: int) -> None:
    world = World()
    pods = failing(exit_code=code) if code else failing()
    world.create(job(template=pods, backoff_limit=2, pod_failure_policy=policy(rule)))
    world.run(199)
    assert (world.verdict(), world.num_created) == (verdict, num_created)


def test_preempted_pods_count_unless_the_policy_ignores_them() -> None:
    for rules, failed in (((), 1), ((IGNORE_DISRUPTIONS,), 0)):
        world = World()
        made = job(pod_failure_policy=policy(*rules)) if rules else job()
        world.create(made)
        world.run(5)
        world.api.delete(world.pods[0], DISRUPTED)
        world.run(100)
        assert (world.verdict(), world.job().status.failed) == ("Complete CompletionsReached", failed)
        assert world.num_created == 2


def test_fail_index_ends_one_index() -> None:
    world = World()
    pods = failing(exit_code="3")
    spec: dict[str, Any] = {"completions": 2, "completion_mode": "Indexed", "backoff_limit_per_index": 5}
    world.create(job(template=pods, pod_failure_policy=policy(on_code("FailIndex", 3)), **spec))
    assert births(world, 100) == [0, 10]
    assert world.verdict() == "Failed FailedIndexes"


@pytest.mark.parametrize(
    ("replacement", "time"), [("TerminatingOrFailed", 15), ("Failed", 40)], ids=["at once", "when it is gone"]
)
def test_a_pod_on_its_way_out_is_replaced(replacement: str, time: int) -> None:
    world = World()
    world.create(job(pod_replacement_policy=replacement))
    world.run(5)
    (pod,) = world.pods
    world.kubelets.lose(pod.spec.node_name)
    world.api.delete(pod)
    world.timeline.at(30, lambda: world.kubelets.revive(pod.spec.node_name))
    assert births(world, 100) == [time]  # 10 s after it failed: when its deletion was asked for, or when it was gone
    assert world.job().status.failed == 1
    assert world.verdict() == "Complete CompletionsReached"


def test_a_pod_that_was_never_placed_and_is_deleted_has_failed() -> None:
    world = World(binds=False)
    world.create(job(backoff_limit=0))
    world.run(5)
    world.api.delete(world.pods[0])
    world.run(6)
    assert world.verdict() == "Failed BackoffLimitExceeded"


# -- time ------------------------------------------------------------------------------------------------------------


def test_a_deadline_ends_the_job() -> None:
    world = World()
    world.create(job(template=template(), active_deadline_seconds=60))
    world.run(59.9)
    assert world.count() == 1
    world.run(60)
    assert world.count() == 0
    world.run(61)
    assert world.verdict() == "Failed DeadlineExceeded"
    world.run(1000)
    assert world.num_created == 1


def test_a_deadline_that_is_kept_does_nothing() -> None:
    world = World()
    world.create(job(active_deadline_seconds=60))
    world.run(100)
    assert world.verdict() == "Complete CompletionsReached"


def test_a_suspended_job_has_no_pods_and_its_clock_stands_still() -> None:
    world = World()
    made = world.create(job(template=template(), suspend=True, active_deadline_seconds=60, parallelism=2))
    world.run(100)
    assert world.pods == []
    world.change(made, suspend=False)
    world.run(105)
    assert world.count() == 2
    world.change(made, suspend=True)
    world.run(300)
    assert world.pods == []
    assert world.job().finish is None
    world.change(made, suspend=False)
    world.run(359)
    assert world.count() == 2
    world.run(362)
    assert world.verdict() == "Failed DeadlineExceeded"


def test_a_finished_job_goes_after_its_time_to_live() -> None:
    world = World()
    world.create(job(ttl_seconds_after_finished=100))
    world.run(109.9)
    assert world.verdict() == "Complete CompletionsReached"
    world.run(110)
    assert world.jobs() == []


def test_of_finished_jobs_without_one_the_latest_are_kept() -> None:
    world = World(settings=ControllerSettings(finished_jobs=3))
    for number in range(10):
        world.create(job(f"job-{number}"))
        world.run(20 * number + 15)
    assert world.jobs() == ["job-7", "job-8", "job-9"]


def test_a_job_that_is_deleted_takes_its_pods_along() -> None:
    world = World()
    made = world.create(job(parallelism=3, completions=9))
    world.run(5)
    world.api.remove(made)
    world.run(10)
    assert (world.pods, world.num_created) == ([], 3)


def test_a_job_of_a_real_cluster_goes_on_where_it_was() -> None:
    world = World()
    made = job(completions=4, parallelism=2, completion_mode="Indexed")
    status = msgspec.structs.replace(made.status, succeeded=2, completed_indexes="0,2")
    world.create(msgspec.structs.replace(made, status=status))
    world.run(5)
    assert indexes(world) == ["1", "3"]
    world.run(20)
    assert world.job().status.completed_indexes == "0-3"


def test_a_long_job_keeps_numbers_not_pods() -> None:
    world = World(nodes=(node("n", pods=1000),))
    world.create(job(completions=5000, parallelism=500))
    world.run(101)
    assert (world.verdict(), world.num_created, world.most) == ("Complete CompletionsReached", 5000, 500)
    living: list[Pod] = world.pods
    assert living == []


# -- PodGroups ---------------------------------------------------------------------------------------------------------

GROUPS = ControllerSettings(pod_groups=True)
INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "parallelism": 3, "completions": 3}


def named(pod: Pod) -> str:
    """The group of a pod."""
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


def test_pods_that_run_at_once_are_a_group_where_jobs_make_them() -> None:
    world = World(settings=GROUPS, binds=False)
    world.api.create(job(**INDEXED))
    world.run(1)
    (group,) = world.api.objects("PodGroup")
    assert group.spec.scheduling_policy.gang.min_count == 3
    owner = group.metadata.controller
    assert (owner.kind, owner.name) == ("Job", "job")
    assert group.metadata.name == "job"
    assert [named(each) for each in world.pods] == ["job"] * 3
    world.api.remove(world.api.find("Job", "default", "job"))
    world.run(2)
    assert world.api.objects("PodGroup") == []


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        (ControllerSettings(), INDEXED),
        (GROUPS, INDEXED | {"parallelism": 2}),
        (GROUPS, INDEXED | {"parallelism": 1, "completions": 1}),
        (GROUPS, {"parallelism": 3, "completions": 3}),
    ],
    ids=["not asked for", "in turns", "one pod", "not indexed"],
)
def test_other_jobs_make_no_group(settings: ControllerSettings, spec: dict[str, Any]) -> None:
    world = World(settings=settings, binds=False)
    world.api.create(job(**spec))
    world.run(1)
    assert world.pods
    assert world.api.objects("PodGroup") == []
    assert {named(each) for each in world.pods} == {""}


def test_a_pod_that_is_made_again_belongs_to_the_same_group() -> None:
    world = World(settings=GROUPS)
    world.api.create(job(**INDEXED, template=failing(), backoff_limit=10))
    world.run(55)
    assert len(world.api.objects("PodGroup")) == 1
    assert world.num_created > 3
    assert {named(each) for each in world.pods} == {"job"}


def test_a_group_of_somebody_else_is_left_alone() -> None:
    world = World(settings=GROUPS, binds=False)
    world.api.create(pod_group("job", 7))
    world.api.create(job(**INDEXED))
    world.run(1)
    assert len(world.pods) == 3
    assert {named(each) for each in world.pods} == {""}
    world.api.remove(world.api.find("Job", "default", "job"))
    world.run(2)
    assert len(world.api.objects("PodGroup")) == 1
