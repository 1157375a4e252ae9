"""How many pods a controller still wants: random controllers and clusters that have some of their pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.explain.workloads.rollout import SETTLED, Rollout
from fairway.explain.workloads.same_template import RESTARTED_AT, same_pod, same_template
from fairway.explain.workloads.standing import StandingObjects
from fairway.kinds.controllers import MAX_PODS, Wanted, wanted_by
from fairway.model import DecodeError, Deployment, Pod, PodTemplateSpec, Source, decode_object
from fairway.model.default_pod import default_pod
from fairway.testing import node
from tests.explain.workloads.fleets import deployment_pods, replica_set, running, workload

SOURCE = Source("test")
NODES = [node(f"n{number}", cpu=64) for number in range(4)]
KINDS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
NUMBERS = st.one_of(st.none(), st.integers(0, 6))


def wanted_of(plain: dict[str, Any]) -> Wanted:
    return wanted_by(decode_object(plain, "test"), SOURCE, NODES)  # type: ignore[arg-type]


def pods_of(wanted: Wanted) -> list[Pod]:
    return [wanted.make(index)[0] for index in range(wanted.num_pods)]


@given(st.sampled_from(KINDS), NUMBERS)
def test_a_controller_wants_its_replicas(kind: str, replicas: int | None) -> None:
    number: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    wanted = wanted_of(workload(kind, **number))
    assert wanted.num_pods == (1 if replicas is None else replicas)
    assert (wanted.title, wanted.path) == (f"{kind} default/web", "spec.template.")
    pods = pods_of(wanted)
    assert [one.metadata.name for one in pods] == [f"web-{index}" for index in range(wanted.num_pods)]
    owner = ("ReplicaSet", wanted.objects[0].metadata.name) if kind == "Deployment" else (kind, "web")
    for one in pods:
        assert one.metadata.controller is not None
        assert (one.metadata.controller.kind, one.metadata.controller.name) == owner
        assert one.metadata.labels["app"] == "web"
        assert one.spec.containers[0].image == "v1"


@given(parallelism=NUMBERS, completions=NUMBERS, suspend=st.booleans(), indexed=st.booleans(), cron=st.booleans())
def test_a_job_wants_what_runs_at_a_time(
    parallelism: int | None, completions: int | None, suspend: bool, indexed: bool, cron: bool
) -> None:
    spec: dict[str, Any] = workload("Job")["spec"] | {"suspend": suspend}
    spec |= {"completionMode": "Indexed"} if indexed else {}
    spec |= {} if parallelism is None else {"parallelism": parallelism}
    spec |= {} if completions is None else {"completions": completions}
    plain = workload("Job") | {"spec": spec}
    if cron:
        plain |= {"kind": "CronJob", "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": spec}}}
    wanted = wanted_of(plain)
    at_a_time = 1 if parallelism is None else parallelism
    number = at_a_time if completions is None else min(at_a_time, completions)
    assert wanted.num_pods == (0 if suspend else number)
    if suspend:
        assert wanted.remark == "suspended"
    elif completions is not None and completions > at_a_time:
        assert wanted.remark == f"{completions} in all, {at_a_time} at a time"
    else:
        assert wanted.remark == ("one run" if cron else "")
    for index, one in enumerate(pods_of(wanted)):
        assert one.metadata.labels["job-name"] == "web"
        said = one.metadata.labels.get("batch.kubernetes.io/job-completion-index")
        assert said == (str(index) if indexed else None)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_a_daemon_wants_the_nodes_that_it_may_run_on(
    marks: list[tuple[bool, bool]], tolerates: bool, is_picky: bool
) -> None:
    nodes = [
        node(f"n{number}", labels={"disk": "ssd" if ssd else "hdd"}, taints="team=red:NoSchedule" if tainted else ())
        for number, (ssd, tainted) in enumerate(marks)
    ]
    plain = workload("DaemonSet")
    inner = plain["spec"]["template"]["spec"]
    inner |= {"tolerations": [{"key": "team", "operator": "Exists"}]} if tolerates else {}
    inner |= {"nodeSelector": {"disk": "ssd"}} if is_picky else {}
    wanted = wanted_by(decode_object(plain, "test"), SOURCE, nodes)  # type: ignore[arg-type]
    expected = [
        f"n{number}"
        for number, (ssd, tainted) in enumerate(marks)
        if (ssd or not is_picky) and (tolerates or not tainted)
    ]
    assert [one.metadata.name for one in pods_of(wanted)] == [f"web-{name}" for name in expected]
    assert wanted.remark == f"one on each of {len(expected)} of {len(nodes)} nodes"


@pytest.mark.parametrize(
    ("plain", "field", "problem"),
    [
        (workload("Deployment", replicas=-1), "spec.replicas", "-1 must not be negative"),
        (workload("StatefulSet", replicas=MAX_PODS + 1), "spec.replicas", f"at most {MAX_PODS}"),
        (workload("Job", parallelism=-2), "spec.parallelism", "-2 must not be negative"),
        (workload("Job", completions=MAX_PODS + 1), "spec.completions", "too many to try"),
    ],
    ids=["negative", "too many", "parallelism", "completions"],
)
def test_numbers_that_can_not_be_are_told_by_field(plain: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(DecodeError) as caught:
        wanted_of(plain)
    assert caught.value.field == field
    assert problem in str(caught.value)
    assert caught.value.subject == f"{plain['kind']} default/web"


# -- what is there already ---------------------------------------------------------------------------------------------


def settled(
    plain: dict[str, Any], there: list[dict[str, Any]], *, is_rollout: bool = False
) -> tuple[Wanted, StandingObjects]:
    standing = StandingObjects([decode_object(one, "test") for one in there], [], is_rollout=is_rollout)
    thing = decode_object(plain, "test")
    return standing.settled(thing, wanted_of(plain)), standing  # type: ignore[arg-type]


@given(replicas=st.integers(0, 6), number=st.integers(0, 8), with_set=st.booleans())
def test_a_deployment_makes_what_it_lacks(replicas: int, number: int, with_set: bool) -> None:
    there = deployment_pods(number, ["n0", "n1"]) + ([replica_set(number)] if with_set else [])
    wanted, standing = settled(workload("Deployment", replicas=replicas), there)
    assert wanted.num_pods == max(0, replicas - number)
    assert wanted.num_there == number
    assert standing.rollouts == []
    if number:
        more = f", {number - replicas} more than wanted" if number > replicas else ""
        assert wanted.remark == f"{number} there already{more}"
    for one in pods_of(wanted):
        assert one.metadata.name not in {plain["metadata"]["name"] for plain in there}
        if number:  # they belong to the same set as those that are there
            assert one.metadata.labels["pod-template-hash"] == "abc"
            assert one.metadata.controller is not None
            assert one.metadata.controller.name == "web-abc"


@given(replicas=st.integers(0, 6), ordinals=st.sets(st.integers(0, 7)))
def test_a_stateful_set_makes_the_ordinals_that_are_missing(replicas: int, ordinals: set[int]) -> None:
    there = [running(f"web-{number}", "n0", "StatefulSet/web") for number in sorted(ordinals)]
    wanted, _ = settled(workload("StatefulSet", replicas=replicas), there)
    missing = sorted(set(range(replicas)) - ordinals)
    assert [one.metadata.name for one in pods_of(wanted)] == [f"web-{number}" for number in missing]


@given(there=st.sets(st.integers(0, 3)))
def test_a_daemon_set_makes_those_of_other_nodes(there: set[int]) -> None:
    pods = [running(f"web-x{number}", f"n{number}", "DaemonSet/web") for number in sorted(there)]
    wanted, _ = settled(workload("DaemonSet"), pods)
    missing = sorted(set(range(len(NODES))) - there)
    assert [one.metadata.name for one in pods_of(wanted)] == [f"web-n{number}" for number in missing]


@given(parallelism=st.integers(1, 4), completions=st.integers(1, 6), done=st.integers(0, 6), at_it=st.integers(0, 4))
def test_a_job_makes_what_is_still_to_be_done(parallelism: int, completions: int, done: int, at_it: int) -> None:
    there = [running(f"web-d{number}", "n0", "Job/web", phase="Succeeded") for number in range(done)]
    there += [running(f"web-r{number}", "n0", "Job/web") for number in range(at_it)]
    wanted, _ = settled(workload("Job", parallelism=parallelism, completions=completions), there)
    left = max(0, completions - done)
    assert wanted.num_pods == max(0, min(parallelism, left) - at_it)


@given(
    number=st.integers(1, 5),
    kind=st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]),
    image=st.sampled_from(["v1", "v2"]),
    is_rollout=st.booleans(),
)
def test_another_image_or_a_wish_rolls_out(number: int, kind: str, image: str, is_rollout: bool) -> None:
    if kind == "Deployment":
        there = deployment_pods(number, ["n0", "n1"])
    else:
        there = [running(f"web-{index}", f"n{index % 4}", f"{kind}/web") for index in range(number)]
    replicas: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": number}
    wanted, standing = settled(workload(kind, image=image, **replicas), there, is_rollout=is_rollout)
    if image == "v1" and not is_rollout:
        assert standing.rollouts == []
        return
    (rollout,) = standing.rollouts
    assert (wanted.num_pods, wanted.num_there) == (0, number)
    assert rollout.is_restart == (image == "v1")
    assert rollout.start == SETTLED
    assert rollout.old_uids == {plain["metadata"]["uid"] for plain in there}
    assert isinstance(rollout, Rollout)
    before, after = rollout.before(), rollout.after()
    assert after.spec.template.spec.containers[0].image == image
    former = before[0]
    assert not same_template(former.spec.template, after.spec.template) or rollout.is_restart
    pods = [thing for thing in before if isinstance(thing, Pod)]
    assert len(pods) == number
    owners = {thing.metadata.uid for thing in before if not isinstance(thing, Pod)}
    assert all(one.metadata.controller is not None and one.metadata.controller.uid in owners for one in pods)
    assert all(one.status.phase == "Running" for one in pods)
    assert not any(rollout.is_new(one, None) for one in pods)


# -- the same template? ------------------------------------------------------------------------------------------------

CHANGES: dict[str, Any] = {
    "image": {"containers": [{"name": "c", "image": "v9", "resources": {"requests": {"cpu": "1"}}}]},
    "cpu": {"containers": [{"name": "c", "image": "v1", "resources": {"requests": {"cpu": "3"}}}]},
    "selector": {"nodeSelector": {"disk": "ssd"}},
    "toleration": {"tolerations": [{"key": "k", "operator": "Exists"}]},
    "host network": {"hostNetwork": True},
    "scheduler": {"schedulerName": "other"},
    "class": {"priorityClassName": "high"},
    "volume": {"volumes": [{"name": "v", "emptyDir": {}}]},
    "spread": {
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ]
    },
}


def template_of(**spec: Any) -> PodTemplateSpec:
    plain = workload("Deployment")
    plain["spec"]["template"]["spec"] |= spec
    thing = decode_object(plain, "test")
    assert isinstance(thing, Deployment)
    return thing.spec.template


@given(st.lists(st.sampled_from(sorted(CHANGES)), max_size=3), st.lists(st.sampled_from(sorted(CHANGES)), max_size=3))
def test_templates_are_the_same_if_they_say_the_same(first: list[str], second: list[str]) -> None:
    def merged(names: list[str]) -> dict[str, Any]:
        return {key: value for name in names for key, value in CHANGES[name].items()}

    one, two = template_of(**merged(first)), template_of(**merged(second))
    is_same = merged(first) == merged(second)
    assert same_template(one, two) is is_same
    assert same_template(two, one) is is_same
    completed = (
        msgspec.structs.replace(one, spec=default_pod(Pod(spec=one.spec), {}).spec) if "class" not in first else one
    )
    assert same_template(one, completed)  # as the API server hands it out


@pytest.mark.parametrize("change", CHANGES)
def test_a_pod_of_a_changed_template_is_told_apart_and_one_with_additions_is_not(change: str) -> None:
    made, plain = template_of(**CHANGES[change]), template_of()
    wanted = Pod(metadata=made.metadata, spec=made.spec)
    there = Pod(metadata=plain.metadata, spec=plain.spec)
    assert same_pod(there, there)
    assert not same_pod(there, wanted)
    admission_may_add = change in ("selector", "toleration", "class", "volume")
    assert same_pod(wanted, there) is admission_may_add


def test_a_restart_is_no_other_template() -> None:
    plain = template_of()
    meta = msgspec.structs.replace(plain.metadata, annotations={RESTARTED_AT: "2024-01-01"})
    assert same_template(plain, msgspec.structs.replace(plain, metadata=meta))
    other = msgspec.structs.replace(plain.metadata, annotations={"a": "b"})
    assert not same_template(plain, msgspec.structs.replace(plain, metadata=other))
