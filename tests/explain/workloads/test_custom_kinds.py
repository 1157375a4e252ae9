"""Kinds that operators bring: which pods come of them, what is said about those that were not counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairway.explain.manifest_files import load_manifests
from fairway.explain.workloads.inputs import Inputs
from fairway.model import Loaded, Source, pod_requests
from fairway.testing import node
from tests.cli.trial_files import Folder, controller
from tests.explain.workloads.custom_objects import CASES, JOB_SET, RAY_SPEC, Case, template, thing

NODES = [node("n1", cpu=16, memory="64Gi"), node("n2", cpu=16, memory="64Gi")]


def pods_of(folder: Folder, *things: Any) -> dict[str, Any]:
    file = folder.write("wanted.json", *things)
    manifests = load_manifests(Inputs([file]), (), [Loaded(one, Source()) for one in NODES])
    names = dict(manifests.names)
    return {
        pod.metadata.name: pod
        for wanted in manifests.wanted
        for pod, _ in manifests.pods_of(wanted, range(wanted.num_pods), names)
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_kind_makes_the_pods_that_its_operator_makes(case: Case, folder: Folder) -> None:
    pods = pods_of(folder, case.thing)
    assert {name: pod_requests(pod).get("cpu", 0) for name, pod in pods.items()} == case.pods
    for pod in pods.values():
        assert case.labels.items() <= pod.metadata.labels.items()
        assert pod.metadata.controller is not None
    printed = folder.attempt(NODES, [case.thing])
    assert printed.code == 0
    assert "not counted" not in printed.out + printed.err


def test_parts_are_told_apart(folder: Folder) -> None:
    printed = folder.attempt(NODES, [thing("ray.io/v1", "RayCluster", **RAY_SPEC)])
    assert "1 of RayCluster default/x (head), 2 of RayCluster default/x (small)" in printed.err
    assert "0 of RayCluster default/x (off) (suspended)" in printed.err


def test_pods_that_start_together_say_so(folder: Folder) -> None:
    printed = folder.attempt(NODES, [CASES["Volcano Job"].thing])
    assert "3 start together or not at all" in printed.err


def test_a_volcano_job_is_for_another_scheduler_unless_it_says_otherwise(folder: Folder) -> None:
    job = thing("batch.volcano.sh/v1alpha1", "Job", tasks=[{"name": "t", "replicas": 1, "template": template()}])
    printed = folder.attempt(NODES, [job], "-o", "json")
    assert printed.code == 3
    assert "schedulerName volcano is not configured" in printed.document["pods"][0]["message"]


def test_spark_asks_for_memory_beyond_its_heap(folder: Folder) -> None:
    pods = pods_of(folder, CASES["SparkApplication"].thing)
    mebibyte = 2**20
    assert pod_requests(pods["x-driver"])["memory"] == (512 + 384) * mebibyte
    assert pod_requests(pods["x-exec-1"])["memory"] == (4096 + 409) * mebibyte
    assert pods["x-driver"].metadata.labels["version"] == "4"


def test_claims_come_with_the_pods(folder: Folder) -> None:
    claim = {"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    prometheus = thing("monitoring.coreos.com/v1", "Prometheus", storage={"volumeClaimTemplate": claim})
    (pod,) = pods_of(folder, prometheus).values()
    (volume,) = pod.spec.volumes
    assert volume.persistent_volume_claim.claim_name == "prometheus-x-db-prometheus-x-0"
    printed = folder.attempt(NODES, [prometheus])
    assert printed.code == 0
    assert (
        "no StorageClass fast in the cluster's files: took one that makes volumes, WaitForFirstConsumer" in printed.err
    )


RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {"name": "data", "template": {"spec": {"template": template("500m")}}},
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "i"}]}}},
                        },
                    },
                ]
            }
        },
    },
}
TRAIN_JOB = thing(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    runtimeRef={"name": "torch"},
    trainer={"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "3"}}},
)


def test_a_train_job_is_made_by_its_runtime(folder: Folder) -> None:
    pods = pods_of(folder, TRAIN_JOB, RUNTIME)
    cpus = {name: pod_requests(pod).get("cpu", 0) for name, pod in pods.items()}
    assert cpus == {"x-data-0-0": 500, "x-node-0-0": 3000, "x-node-0-1": 3000}
    with_runtime_in_the_cluster = folder.attempt([*NODES, RUNTIME], [TRAIN_JOB])
    assert with_runtime_in_the_cluster.code == 0


# -- what was not counted ----------------------------------------------------------------------------------------------

UNKNOWN = {
    "apiVersion": "example.com/v1",
    "kind": "Reactor",
    "metadata": {"name": "r", "namespace": "lab"},
    "spec": {"cores": {"template": template("2")}, "number": 3},
}
NOT_COUNTED = {
    "a template of an unknown kind": (UNKNOWN, "Reactor lab/r (it holds a pod template"),
    "a number of an unknown kind": (
        thing("example.com/v1", "Pump", replicas=3),
        "Pump default/x (it has spec.replicas",
    ),
    "a kind that can not be foretold": (
        thing("kubeflow.org/v1beta1", "Experiment"),
        "Experiment default/x (its trials come",
    ),
    "a template that is missing": (
        thing("argoproj.io/v1alpha1", "Rollout", workloadRef={"name": "web"}),
        "Rollout default/x (it has no spec.template)",
    ),
    "a list that is missing": (thing("jobset.x-k8s.io/v1alpha2", "JobSet"), "JobSet default/x (it has nothing at"),
    "a runtime that is missing": (TRAIN_JOB, "TrainJob default/x (its ClusterTrainingRuntime/TrainingRuntime torch is"),
}


@pytest.mark.parametrize(("one", "told"), NOT_COUNTED.values(), ids=NOT_COUNTED)
def test_what_was_not_counted_is_named_with_an_exit_code_of_its_own(
    one: dict[str, Any], told: str, folder: Folder
) -> None:
    printed = folder.attempt(NODES, [one, controller("Deployment", "web")])
    assert printed.code == 5
    assert f"not counted: {told}" in printed.out
    assert "no concern" not in printed.err
    document = folder.attempt(NODES, [one, controller("Deployment", "web")], "-o", "json").document
    (entry,) = document["notCounted"]
    assert told.startswith(f"{entry['kind']} {entry['name']} ({entry['reason'][:15]}")
    assert entry["source"].endswith("wanted.json, items[0]")


def test_alone_it_is_no_error_either(folder: Folder) -> None:
    printed = folder.attempt(NODES, [UNKNOWN])
    assert printed.code == 5
    assert "0 of 0 pods get a node\nnot counted: Reactor lab/r" in printed.out


@pytest.mark.parametrize("options", [("-o", "csv"), ("-o", "name"), ("--copies", "1")], ids=["csv", "name", "copies"])
def test_it_is_said_whatever_is_printed(options: tuple[str, str], folder: Folder) -> None:
    printed = folder.attempt(NODES, [UNKNOWN, controller("Deployment", "web")], *options)
    assert printed.code == 5
    assert "not counted: Reactor lab/r (it holds a pod template" in printed.err


def test_no_is_still_no(folder: Folder) -> None:
    assert folder.attempt(NODES, [UNKNOWN, controller("Deployment", "web", replicas=99)]).code == 3


CONCERNS_NOBODY = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"containers": "image: x"}},
    thing("networking.k8s.io/v1", "NetworkPolicy", podSelector={}),
    thing("autoscaling/v2", "HorizontalPodAutoscaler", minReplicas=2),
    thing("cert-manager.io/v1", "Certificate", dnsNames=["a"]),
    thing("kueue.x-k8s.io/v1beta1", "Workload", podSets=[{"template": template()}]),
    thing("argoproj.io/v1alpha1", "WorkflowTemplate", templates=[template()["spec"]]),
]


@pytest.mark.parametrize("one", CONCERNS_NOBODY, ids=lambda one: one["kind"])
def test_what_makes_no_pods_is_of_no_concern(one: dict[str, Any], folder: Folder) -> None:
    printed = folder.attempt(NODES, [one, controller("Deployment", "web")])
    assert printed.code == 0
    assert f"skipped what is of no concern to a scheduler: 1 {one['kind']}" in printed.err
    assert "not counted" not in printed.out


def test_what_is_in_the_cluster_has_its_pods_there(folder: Folder) -> None:
    assert folder.attempt([*NODES, UNKNOWN, JOB_SET], [controller("Deployment", "web")]).code == 0


# -- what users add ----------------------------------------------------------------------------------------------------

TABLE = """
kinds:
  - group: example.com
    kind: Reactor
    pods:
      - part: core
        template: spec.cores.template
        count: [{path: spec.number}, 2]
        labels: {reactor: $(name)}
"""


def test_a_file_of_kinds_extends_the_table(folder: Folder) -> None:
    table = folder.write("kinds.yaml", TABLE)
    printed = folder.attempt(NODES, [UNKNOWN], "--kinds", table, "-o", "name")
    assert printed.code == 0
    assert printed.out.split() == [f"lab/r-core-{number}" for number in range(6)]
    failing = folder.attempt([node("small", cpu=1)], [UNKNOWN], "--kinds", table)
    assert failing.code == 3
    assert f"--kinds {table}" in failing.err  # in the hint
    assert folder.run(*failing.err.splitlines()[-1].split()[2:]).code == 3  # which works


def test_a_file_of_kinds_wins_over_the_table(folder: Folder) -> None:
    table = folder.write("kinds.yaml", "kinds: [{group: jobset.x-k8s.io, kind: JobSet, notCounted: we know better}]")
    printed = folder.attempt(NODES, [JOB_SET], "--kinds", table)
    assert printed.code == 5
    assert "not counted: JobSet default/x (we know better)" in printed.out


def definition(pods: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "reactors.example.com", "annotations": {"fairway.dev/pods": pods}},
        "spec": {"group": "example.com", "names": {"kind": "Reactor", "plural": "reactors"}},
    }


def test_a_definition_says_what_its_kind_makes(folder: Folder) -> None:
    crd = definition("pods: [{template: spec.cores.template, count: [{path: spec.number}]}]")
    for cluster, wanted in (([*NODES, crd], [UNKNOWN]), (NODES, [crd, UNKNOWN])):
        printed = folder.attempt(cluster, wanted, "-o", "name")
        assert (printed.code, printed.out.split()) == (0, ["lab/r-0", "lab/r-1", "lab/r-2"])


BAD_TABLES = {
    "no YAML": ("a: [", "kinds.yaml: YAML is malformed"),
    "an unknown field": ("kinds: [{group: a, kind: B, podz: []}]", "kinds[0]: Object contains unknown field `podz`"),
    "says nothing": (
        "kinds: [{group: a, kind: B}]",
        "B (a): needs exactly one of pods, makes, readAs, makesNone and notCounted",
    ),
    "no template": ("kinds: [{group: a, kind: B, pods: [{count: [1]}]}]", "B (a): pods[0]: needs template or pod"),
    "no path": (
        "kinds: [{group: a, kind: B, pods: [{template: 'spec..x'}]}]",
        "B (a): pods[0]: 'spec..x' is no path; write it like spec.template or metadata.labels[a.b/c]",
    ),
    "a count that is none": (
        "kinds: [{group: a, kind: B, pods: [{template: s, count: [x]}]}]",
        "kinds[0].pods[0].count",
    ),
}


@pytest.mark.parametrize(("text", "told"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_makes_no_sense_is_told(text: str, told: str, folder: Folder) -> None:
    printed = folder.attempt(NODES, [UNKNOWN], "--kinds", folder.write("kinds.yaml", text))
    assert printed.code == 1
    assert told in printed.err
    assert "Traceback" not in printed.err


def test_an_annotation_that_makes_no_sense_is_told(folder: Folder) -> None:
    printed = folder.attempt([*NODES, definition("pods: [{count: [1]}]")], [UNKNOWN])
    assert printed.code == 1
    assert "metadata.annotations[fairway.dev/pods]: Reactor (example.com): pods[0]: needs template" in printed.err


def test_a_missing_table_is_told(folder: Folder) -> None:
    printed = folder.attempt(NODES, [UNKNOWN], "--kinds", str(folder.path / "none.yaml"))
    assert printed.code == 1
    assert "none.yaml: cannot be read: No such file or directory" in printed.err


BAD_OBJECTS = {
    "a template that is wrong": (
        thing("argoproj.io/v1alpha1", "Rollout", template=template("-1")),
        "Rollout default/x: spec.template.spec.containers[0].resources.requests.cpu: -1 must not be negative",
    ),
    "a template of another shape": (
        thing("argoproj.io/v1alpha1", "Rollout", template={"spec": {"containers": {}}}),
        "Rollout default/x: spec.template.spec.containers: expected a list, found an object",
    ),
    "an item's template": (
        thing("ray.io/v1", "RayCluster", headGroupSpec={"template": template("lots")}),
        "RayCluster default/x: spec.headGroupSpec.template.spec.containers[0].resources.requests.cpu: quantity 'lots'",
    ),
    "a number that is none": (
        thing("argoproj.io/v1alpha1", "Rollout", replicas=-1, template=template()),
        "Rollout default/x: spec.replicas: -1 is not a number of pods; allowed: 0 or more",
    ),
    "too many": (
        thing("argoproj.io/v1alpha1", "Rollout", replicas=10**9, template=template()),
        "Rollout default/x: 1000000000 pods are too many to try",
    ),
    "no name": (
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "spec": {"template": template()}},
        "Rollout : metadata.name: must not be empty",
    ),
}


@pytest.mark.parametrize(("one", "told"), BAD_OBJECTS.values(), ids=BAD_OBJECTS)
def test_what_is_wrong_with_an_object_is_told_by_its_own_fields(one: dict[str, Any], told: str, folder: Folder) -> None:
    printed = folder.attempt(NODES, [one])
    assert printed.code == 1
    assert told in printed.err


def test_old_versions_are_named_as_old(folder: Folder) -> None:
    things = [CASES["extensions/v1beta1 Deployment"].thing, CASES["batch/v1beta1 CronJob"].thing]
    printed = folder.attempt(NODES, things)
    told = "of an API version that is gone, read as the present one: 1 batch/v1beta1 CronJob, 1 extensions/v1beta1"
    assert told in printed.err


def test_names_left_to_the_server_get_numbers(folder: Folder) -> None:
    unnamed = json.loads(json.dumps(JOB_SET)) | {"metadata": {"generateName": "set-"}}
    job = controller("Job", "j") | {"metadata": {"generateName": "pi-"}}
    printed = folder.attempt(NODES, [unnamed, unnamed, job, job], "-o", "name")
    assert printed.code == 0
    assert {"default/set-1-driver-0-0", "default/set-2-driver-0-0", "default/pi-1-0", "default/pi-2-0"} <= set(
        printed.out.split()
    )
