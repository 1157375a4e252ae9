"""Deployments, DaemonSets, Jobs and CronJobs: read, completed and checked."""

from typing import Any

import pytest

from fairway.model import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    LabelSelector,
    ObjectMeta,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    decode_object,
    default_object,
    load_yaml,
    to_builtins,
    validate_object,
)
from fairway.model.controllers import Controller
from fairway.model.default_controllers import scaled

CONTAINERS = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
POD = {"metadata": {"labels": {"app": "web"}}, "spec": CONTAINERS}
BATCH_POD = {"spec": CONTAINERS | {"restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "web"}}
INDEXED = {"completionMode": "Indexed", "completions": 3}
GROUPS = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}


def read(kind: str, **spec: Any) -> Any:
    """A controller of the kind, completed; without a spec of its own, the smallest that makes sense."""
    if kind == "Job":
        spec = {"template": BATCH_POD} | spec
    elif kind == "CronJob":
        jobs = {"spec": {"template": BATCH_POD} | spec.pop("job", {})}
        spec = {"schedule": "@daily", "jobTemplate": jobs} | spec
    else:
        selector = SELECTOR["matchLabels"] if kind == "ReplicationController" else SELECTOR
        spec = {"template": POD, "selector": selector} | spec
    tree = {"apiVersion": GROUPS.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    return default_object(decode_object(tree))


KINDS: dict[str, type[Controller]] = {
    "Deployment": Deployment,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
    "DaemonSet": DaemonSet,
    "Job": Job,
    "CronJob": CronJob,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read_and_makes_sense(kind: str) -> None:
    thing = read(kind)
    assert isinstance(thing, KINDS[kind])
    assert thing.metadata.namespace == "default"
    assert validate_object(thing) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_complete_stays_as_it_is_and_survives_writing(kind: str) -> None:
    thing = read(kind)
    assert default_object(thing) is thing
    assert decode_object(to_builtins(thing) | {"apiVersion": thing.api_version, "kind": thing.kind}) == thing


DEFAULTS = {
    "Deployment": {
        "replicas": 1,
        "revision_history_limit": 10,
        "strategy.type": "RollingUpdate",
        "strategy.rolling_update.max_surge": "25%",
        "strategy.rolling_update.max_unavailable": "25%",
    },
    "ReplicaSet": {"replicas": 1},
    "ReplicationController": {"replicas": 1},
    "StatefulSet": {
        "replicas": 1,
        "pod_management_policy": "OrderedReady",
        "update_strategy.type": "RollingUpdate",
        "update_strategy.rolling_update.partition": 0,
        "update_strategy.rolling_update.max_unavailable": 1,
    },
    "DaemonSet": {
        "update_strategy.type": "RollingUpdate",
        "update_strategy.rolling_update.max_unavailable": 1,
        "update_strategy.rolling_update.max_surge": 0,
    },
    "Job": {
        "parallelism": 1,
        "completions": 1,
        "completion_mode": "NonIndexed",
        "backoff_limit": 6,
        "pod_replacement_policy": "TerminatingOrFailed",
        "suspend": False,
    },
    "CronJob": {
        "concurrency_policy": "Allow",
        "successful_jobs_history_limit": 3,
        "failed_jobs_history_limit": 1,
        "suspend": False,
        "job_template.spec.backoff_limit": 6,
    },
}


def fields(thing: Any, paths: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for path in paths:
        value = thing.spec
        for name in path.split("."):
            value = getattr(value, name)
        found[path] = value
    return found


@pytest.mark.parametrize(("kind", "expected"), DEFAULTS.items(), ids=DEFAULTS)
def test_defaults(kind: str, expected: dict[str, Any]) -> None:
    assert fields(read(kind), expected) == expected


JOB_DEFAULTS = {
    "parallelism alone is a work queue": ({"parallelism": 3}, {"parallelism": 3, "completions": None}),
    "completions alone": ({"completions": 3}, {"parallelism": 1, "completions": 3}),
    "a limit per index": (
        {"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 2},
        {"backoff_limit": 2**31 - 1},
    ),
    "a failure policy waits for pods to end": (
        {"podFailurePolicy": {"rules": []}},
        {"pod_replacement_policy": "Failed"},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), JOB_DEFAULTS.values(), ids=JOB_DEFAULTS)
def test_defaults_of_a_job_depend_on_each_other(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fields(read("Job", **spec), expected) == expected


def test_labels_come_from_the_template_where_the_api_server_takes_them() -> None:
    labels = {"app": "web"}
    assert read("Job", template=POD).metadata.labels == labels
    controller = read("ReplicationController", selector={})
    assert (controller.metadata.labels, controller.spec.selector) == (labels, labels)
    assert read("Deployment").metadata.labels == {}


RULE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
PROBLEMS = {
    "negative replicas": ("Deployment", {"replicas": -1}, "spec.replicas: -1 must not be negative"),
    "a ReplicaSet's": ("ReplicaSet", {"replicas": -1}, "spec.replicas: -1 must not be negative"),
    "no selector": ("Deployment", {"selector": None}, "spec.selector: does not match the labels of its own pods"),
    "a selector for others": (
        "DaemonSet",
        {"selector": {"matchLabels": {"app": "db"}}},
        "spec.selector: does not match the labels of its own pods, {'app': 'web'}",
    ),
    "a ReplicationController's": (
        "ReplicationController",
        {"selector": {"app": "db"}},
        "spec.selector: does not match",
    ),
    "a selector that is none": (
        "Deployment",
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
        "spec.selector.matchExpressions[0].operator",
    ),
    "a template without containers": (
        "Deployment",
        {"template": {"metadata": {"labels": {"app": "web"}}}},
        "spec.template.spec.containers: must have at least one container",
    ),
    "an unknown strategy": (
        "Deployment",
        {"strategy": {"type": "BigBang"}},
        "spec.strategy.type: 'BigBang' is not one of RollingUpdate, Recreate",
    ),
    "recreate with numbers": (
        "Deployment",
        {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "spec.strategy.rollingUpdate: may not be specified when strategy type is Recreate",
    ),
    "no way to update": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
        "spec.strategy.rollingUpdate.maxUnavailable: may not be 0 when maxSurge is 0",
    ),
    "a share that is none": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxSurge": "half"}}},
        "spec.strategy.rollingUpdate.maxSurge: 'half' must be a number, or a percentage",
    ),
    "both ways at once": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        "spec.updateStrategy.rollingUpdate.maxSurge: may not be set when maxUnavailable is non-zero",
    ),
    "pods that end": (
        "Deployment",
        {"template": POD | {"spec": CONTAINERS | {"restartPolicy": "Never"}}},
        "spec.template.spec.restartPolicy: 'Never' must be Always here",
    ),
    "an unknown order": (
        "StatefulSet",
        {"podManagementPolicy": "Random"},
        "spec.podManagementPolicy: 'Random' is not one of OrderedReady, Parallel",
    ),
    "a negative partition": (
        "StatefulSet",
        {"updateStrategy": {"rollingUpdate": {"partition": -1}}},
        "spec.updateStrategy.rollingUpdate.partition: -1 must not be negative",
    ),
    "a job's pods that never end": (
        "Job",
        {"template": POD},
        "spec.template.spec.restartPolicy: '' is not one of OnFailure, Never",
    ),
    "negative parallelism": ("Job", {"parallelism": -2}, "spec.parallelism: -2 must not be negative"),
    "an unknown mode": (
        "Job",
        {"completionMode": "Sorted"},
        "spec.completionMode: 'Sorted' is not one of NonIndexed, Indexed",
    ),
    "indexes without an end": (
        "Job",
        {"completionMode": "Indexed", "parallelism": 2},
        "spec.completions: must be there when completionMode is Indexed",
    ),
    "a limit per index without indexes": (
        "Job",
        {"backoffLimitPerIndex": 1},
        "spec.backoffLimitPerIndex: requires completionMode Indexed",
    ),
    "failed indexes without a limit": (
        "Job",
        {"completionMode": "Indexed", "completions": 3, "maxFailedIndexes": 1},
        "spec.backoffLimitPerIndex: must be there when maxFailedIndexes is",
    ),
    "a success policy without indexes": (
        "Job",
        {"completions": 3, "successPolicy": {"rules": [{"succeededCount": 1}]}},
        "spec.successPolicy: requires completionMode Indexed",
    ),
    "a success policy without rules": (
        "Job",
        INDEXED | {"successPolicy": {"rules": []}},
        "spec.successPolicy.rules: must be 1 to 20 rules, found 0",
    ),
    "a rule that says nothing": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{}]}},
        "spec.successPolicy.rules[0]: must have succeededCount or succeededIndexes",
    ),
    "more successes than indexes": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{"succeededCount": 4}]}},
        "spec.successPolicy.rules[0].succeededCount: must be at most 3",
    ),
    "more successes than the indexes it names": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]}},
        "spec.successPolicy.rules[0].succeededCount: must be at most 2",
    ),
    "an index that is not there": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "0,3"}]}},
        "spec.successPolicy.rules[0].succeededIndexes: '3' is no range of indexes below completions, which is 3",
    ),
    "indexes that do not increase": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "1,0-2"}]}},
        "spec.successPolicy.rules[0].succeededIndexes: '0-2' comes after 1: indexes must increase",
    ),
    "words for indexes": (
        "Job",
        INDEXED | {"successPolicy": {"rules": [{"succeededIndexes": "all"}]}},
        "spec.successPolicy.rules[0].succeededIndexes: 'all' is neither an index nor a range such as 2-5",
    ),
    "a selector of its own that selects others": (
        "Job",
        {"manualSelector": True, "selector": SELECTOR},
        "spec.selector: does not match the labels of its own pods",
    ),
    "a fate that claims do not have": (
        "StatefulSet",
        {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Recycle"}},
        "spec.persistentVolumeClaimRetentionPolicy.whenScaled: 'Recycle' is not one of Retain, Delete",
    ),
    "an unknown time zone": ("CronJob", {"timeZone": "Mars/Olympus"}, "spec.timeZone: unknown time zone"),
    "an unknown action": (
        "Job",
        {"podFailurePolicy": {"rules": [RULE | {"action": "Panic"}]}},
        "spec.podFailurePolicy.rules[0].action: 'Panic' is not one of FailJob, FailIndex, Ignore, Count",
    ),
    "a rule without a condition": (
        "Job",
        {"podFailurePolicy": {"rules": [RULE, {"action": "Ignore"}]}},
        "spec.podFailurePolicy.rules[1]: must have either onExitCodes or onPodConditions",
    ),
    "an exit code that is no failure": (
        "Job",
        {"podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0]}}]}},
        "spec.podFailurePolicy.rules[0].onExitCodes.values: must not have 0 when operator is In",
    ),
    "a container that is not there": (
        "Job",
        {
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onExitCodes": {"containerName": "d", "operator": "In", "values": [1]}}]
            }
        },
        "spec.podFailurePolicy.rules[0].onExitCodes.containerName: 'd' is not one of c",
    ),
    "a policy that does not go with another": (
        "Job",
        {"podFailurePolicy": {"rules": [RULE]}, "podReplacementPolicy": "TerminatingOrFailed"},
        "spec.podReplacementPolicy: 'TerminatingOrFailed' is not one of Failed",
    ),
    "a schedule that makes no sense": (
        "CronJob",
        {"schedule": "0 24 * * *"},
        "spec.schedule: hour: '24' is not within 0-23",
    ),
    "an unknown concurrency": (
        "CronJob",
        {"concurrencyPolicy": "Maybe"},
        "spec.concurrencyPolicy: 'Maybe' is not one of Allow, Forbid, Replace",
    ),
    "a job within": (
        "CronJob",
        {"job": {"backoffLimit": -1}},
        "spec.jobTemplate.spec.backoffLimit: -1 must not be negative",
    ),
}


@pytest.mark.parametrize(("kind", "spec", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems_name_the_field(kind: str, spec: dict[str, Any], problem: str) -> None:
    clean = {key: value for key, value in spec.items() if value is not None}
    thing = read(kind, **clean)
    if spec.get("selector", SELECTOR) is None:
        thing = type(thing)(metadata=thing.metadata, spec=type(thing.spec)(template=thing.spec.template))
        thing = default_object(thing)
    assert [str(one) for one in validate_object(thing, "f.yaml") if problem in str(one)]


def test_a_long_name_leaves_no_room_for_the_minute() -> None:
    thing = CronJob(metadata=ObjectMeta(name="n" * 53, namespace="default"), spec=read("CronJob").spec)
    assert "at most 52 are allowed" in str(validate_object(thing)[0])


def test_a_replica_set_that_is_only_looked_at_needs_no_template() -> None:
    selector = LabelSelector(match_labels={"app": "web"})
    bare = ReplicaSet(metadata=ObjectMeta(name="x"))
    spec = type(bare.spec)(selector=selector)
    assert validate_object(default_object(ReplicaSet(metadata=bare.metadata, spec=spec))) == []


@pytest.mark.parametrize(
    ("value", "up", "expected"),
    [
        pytest.param("25%", True, 3, id="up"),
        pytest.param("25%", False, 2, id="down"),
        pytest.param(4, True, 4, id="a number"),
        pytest.param("100%", False, 10, id="all"),
        pytest.param(None, True, 0, id="nothing"),
    ],
)
def test_shares_of_ten(value: int | str | None, up: bool, expected: int) -> None:
    assert scaled(value, 10, up=up) == expected


def test_nulls_of_a_real_cluster_are_read() -> None:
    text = b"""
    apiVersion: batch/v1
    kind: Job
    metadata: {name: x, creationTimestamp: null}
    spec:
      completions: 2
      template: {metadata: {creationTimestamp: null}, spec: {restartPolicy: Never, containers: [{name: c}]}}
    status: {succeeded: 1, conditions: null, completedIndexes: "0"}
    """
    job = load_yaml(text, "f")[0].object
    assert isinstance(job, Job)
    assert (job.status.succeeded, job.status.completed_indexes, job.finish) == (1, "0", None)
