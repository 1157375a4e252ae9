"""`try --live` against a cluster at work: does the cluster then do what the command said it would?

A real API server, kube-controller-manager, kube-scheduler, and KWOK for the kubelets of 50 nodes. Each test asks
`fairway try` first, then does what it asked about, and compares. The operators of JobSets and RayClusters are not here:
the pods that they make are created as their documentation says, from the object that the API server stores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairway.cli.main import main
from tests.kube.api import ApiError, Json
from tests.kube.build import program
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until
from tests.kube.test_control_plane import make_node

NUM_NODES = 50
PATIENCE = 180.0
KINDS = ("Deployment", "ReplicaSet", "Job", "Pod")


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """50 nodes of one CPU, with everybody at work."""
    api = control_plane.api()
    api.create_all(make_node(f"node-{number:02}", cpu="1") for number in range(NUM_NODES))
    kubeconfig = control_plane.kubeconfig()
    controllers = Program(
        [
            program("kube-controller-manager"),
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--leader-elect=false",
            "--controllers=deployment-controller,replicaset-controller,job-controller,garbage-collector-controller",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ],
        control_plane.directory / "controllers.log",
    )
    try:
        control_plane.start_kube_scheduler()
        control_plane.start_kubelet()
        yield control_plane
    finally:
        for kind in KINDS:
            api.delete_all(kind)
        # Pods of jobs are held by a finalizer that only the controllers take off.
        wait_until(lambda: not api.items("Pod"), "all pods are gone", PATIENCE, every=0.3)
        controllers.kill()


def asked(cluster: ControlPlane, folder: Path, capsys: pytest.CaptureFixture[str], thing: Json) -> tuple[int, Any]:
    """What `fairway try --live` says about it."""
    file = folder / "asked.json"
    file.write_text(json.dumps(thing))
    code = main(["try", "-f", str(file), "--kubeconfig", str(cluster.kubeconfig()), "-o", "json"])
    shown = capsys.readouterr()
    assert shown.out, shown.err
    return code, json.loads(shown.out)


def deployment(
    namespace: str,
    replicas: int,
    *,
    image: str = "v1",
    surge: int | str = 0,
    fewer: int | str = "25%",
    **fields: Any,
) -> Json:
    """Pods that fill a node each."""
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}} | fields
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": fewer}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
            },
        },
    }


def pods(cluster: ControlPlane, namespace: str) -> list[Json]:
    found: list[Json] = cluster.api().items("Pod", namespace)
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def on_nodes(cluster: ControlPlane, namespace: str, image: str = "v1") -> int:
    """How many pods of a version run."""
    return sum(
        pod["spec"]["containers"][0]["image"] == image and pod["status"].get("phase") == "Running"
        for pod in pods(cluster, namespace)
    )


def test_a_deployment_that_has_eight_of_ten(
    cluster: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.api().create(deployment(namespace, 8))
    wait_until(lambda: on_nodes(cluster, namespace) == 8, "eight run", PATIENCE, every=0.3)
    code, document = asked(cluster, tmp_path, capsys, deployment(namespace, 10))
    assert code == 0
    assert document["there"] == {f"Deployment {namespace}/web": 8}
    assert len(document["pods"]) == 2
    code, document = asked(cluster, tmp_path, capsys, deployment(namespace, NUM_NODES + 2))
    assert (code, document["placed"], len(document["pods"])) == (3, NUM_NODES - 8, NUM_NODES - 6)
    before = {pod["metadata"]["name"] for pod in pods(cluster, namespace)}
    cluster.api().apply(deployment(namespace, 10))
    wait_until(lambda: on_nodes(cluster, namespace) == 10, "ten run", PATIENCE, every=0.3)
    after = {pod["metadata"]["name"] for pod in pods(cluster, namespace)}
    assert before <= after  # nobody was replaced: as it was said, there was no roll-out
    assert len(after - before) == 2


def test_a_roll_out_fits_without_surge_and_not_with(
    cluster: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.api().create(deployment(namespace, NUM_NODES))
    wait_until(lambda: on_nodes(cluster, namespace) == NUM_NODES, "all nodes are full", PATIENCE, every=0.3)

    # With a surge of a quarter and nobody to spare, 13 new pods wait for ever.
    surging = deployment(namespace, NUM_NODES, image="v2", surge="25%", fewer=0)
    code, document = asked(cluster, tmp_path, capsys, surging)
    (rollout,) = document["rollouts"]
    assert (code, rollout["complete"], rollout["new"], len(rollout["waiting"])) == (3, False, 0, 13)
    assert rollout["fix"] == "maxSurge 0, maxUnavailable 1"
    cluster.api().apply(surging)

    def refused() -> list[str]:
        return [
            condition["message"]
            for pod in pods(cluster, namespace)
            for condition in pod["status"].get("conditions", ())
            if (condition["type"], condition["status"]) == ("PodScheduled", "False")
        ]

    wait_until(lambda: len(refused()) == 13, "thirteen new pods fit nowhere", PATIENCE, every=0.3)
    assert on_nodes(cluster, namespace) == NUM_NODES
    assert set(refused()) == {rollout["message"]}  # in the very words of kube-scheduler

    # Back to the old version; then without surge.
    cluster.api().apply(deployment(namespace, NUM_NODES))
    wait_until(
        lambda: len(pods(cluster, namespace)) == NUM_NODES, "the old version is alone again", PATIENCE, every=0.3
    )
    careful = deployment(namespace, NUM_NODES, image="v2", surge=0, fewer="25%")
    code, document = asked(cluster, tmp_path, capsys, careful)
    (rollout,) = document["rollouts"]
    assert (code, rollout["complete"], rollout["new"], rollout["leastAvailable"]) == (0, True, NUM_NODES, 38)
    assert rollout["mostPods"] == NUM_NODES
    cluster.api().apply(careful)
    fewest = NUM_NODES

    def is_through() -> bool:
        nonlocal fewest
        status = cluster.api().get("Deployment", "web", namespace)["status"]
        fewest = min(fewest, status.get("availableReplicas", 0))
        return on_nodes(cluster, namespace, "v2") == NUM_NODES

    wait_until(is_through, "the new version runs everywhere", PATIENCE, every=0.3)
    assert fewest >= 38


def test_a_change_that_no_scheduler_reads(
    cluster: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the API server fills in is no change; a variable is one, and the controllers then think so, too."""
    probe = {"httpGet": {"port": 80}, "periodSeconds": 30}
    fields: Json = {"args": ["serve"], "readinessProbe": probe, "env": [{"name": "EMPTY", "value": ""}]}
    cluster.api().create(deployment(namespace, 4, **fields))
    wait_until(lambda: on_nodes(cluster, namespace) == 4, "four run", PATIENCE, every=0.3)
    before = {pod["metadata"]["name"] for pod in pods(cluster, namespace)}
    code, document = asked(cluster, tmp_path, capsys, deployment(namespace, 4, **fields))
    assert (code, document["rollouts"], document["pods"]) == (0, [], [])
    cluster.api().apply(deployment(namespace, 4, **fields))
    changed = deployment(namespace, 4, **fields | {"env": [{"name": "EMPTY", "value": "no more"}]})
    code, document = asked(cluster, tmp_path, capsys, changed)
    assert [(code, one["complete"], one["new"]) for one in document["rollouts"]] == [(0, True, 4)]
    assert {pod["metadata"]["name"] for pod in pods(cluster, namespace)} == before
    cluster.api().apply(changed)
    wait_until(
        lambda: (
            before.isdisjoint({pod["metadata"]["name"] for pod in pods(cluster, namespace)})
            and on_nodes(cluster, namespace) == 4
        ),
        "all four were replaced",
        PATIENCE,
        every=0.3,
    )


# -- kinds of operators ------------------------------------------------------------------------------------------------


def definition(group: str, version: str, kind: str) -> Json:
    """The least that an API server wants to know about a kind."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def store(cluster: ControlPlane, thing: Json) -> Json:
    """Make the object known to the API server, its kind first, and read it back."""
    group, version = thing["apiVersion"].split("/")
    crd = definition(group, version, thing["kind"])
    try:
        cluster.api().create(crd)
    except ApiError as error:
        assert error.status == 409  # another test made it  # noqa: PT017
    path = f"apis/{group}/{version}/namespaces/{thing['metadata']['namespace']}/{crd['spec']['names']['plural']}"

    def is_stored() -> bool:
        try:
            cluster.api().request("POST", path, thing)
        except ApiError:
            return False
        return True

    wait_until(is_stored, f"the server takes a {thing['kind']}", PATIENCE, every=0.3)
    return cluster.api().request("GET", f"{path}/{thing['metadata']['name']}")


def template(cpu: str) -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}


def outcome(cluster: ControlPlane, namespace: str, number: int) -> tuple[int, int]:
    """How many pods run in the end, and how many fit nowhere."""

    def counts() -> tuple[int, int]:
        running = refused = 0
        for pod in pods(cluster, namespace):
            conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", ())}
            running += pod["status"].get("phase") == "Running"
            refused += conditions.get("PodScheduled") == "False"
        return running, refused

    wait_until(lambda: sum(counts()) == number, f"{number} pods are decided about", PATIENCE, every=0.3)
    return counts()


@pytest.mark.parametrize(("replicas", "code"), [(5, 0), (7, 3)], ids=["fits", "does not fit"])
def test_a_job_set(
    replicas: int,
    code: int,
    cluster: ControlPlane,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Eight pods to a job, each with most of a node: six jobs are 48 pods on 50 nodes, seven are too many."""
    job: Json = {"parallelism": 8, "completions": 8, "completionMode": "Indexed", "template": template("600m")}
    job["template"]["spec"]["restartPolicy"] = "Never"
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": replicas, "template": {"spec": job}}]},
    }
    stored = store(cluster, job_set)
    found, document = asked(cluster, tmp_path, capsys, stored)
    assert (found, len(document["pods"])) == (code, 8 * replicas)
    assert document["notCounted"] == []
    # What the operator makes: a Job for each replica, from the template.
    for number in range(replicas):
        one = stored["spec"]["replicatedJobs"][0]["template"]["spec"]
        labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "workers"}
        one["template"]["metadata"] = {"labels": labels}
        meta = {"name": f"train-workers-{number}", "namespace": namespace, "labels": labels}
        made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": one}
        cluster.api().create(made)
    running, refused = outcome(cluster, namespace, 8 * replicas)
    assert (running, refused) == (document["placed"], len(document["pods"]) - document["placed"])
    # Once they run, nothing is missing but what fits nowhere.
    found, document = asked(cluster, tmp_path, capsys, stored)
    assert (found, len(document["pods"]), list(document["there"].values())) == (code, refused, [running])


@pytest.mark.parametrize(("workers", "code"), [(40, 0), (60, 3)], ids=["fits", "does not fit"])
def test_a_ray_cluster(
    workers: int,
    code: int,
    cluster: ControlPlane,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ray = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "ray", "namespace": namespace},
        "spec": {
            "headGroupSpec": {"template": template("1")},
            "workerGroupSpecs": [
                {
                    "groupName": "cpu",
                    "replicas": workers,
                    "minReplicas": 0,
                    "maxReplicas": 99,
                    "template": template("800m"),
                }
            ],
        },
    }
    stored = store(cluster, ray)
    found, document = asked(cluster, tmp_path, capsys, stored)
    assert (found, len(document["pods"])) == (code, workers + 1)
    spec = stored["spec"]
    head = {
        "ray.io/cluster": "ray",
        "ray.io/node-type": "head",
        "ray.io/group": "headgroup",
        "ray.io/is-ray-node": "yes",
    }
    worker = head | {"ray.io/node-type": "worker", "ray.io/group": "cpu"}
    made = [("ray-head", head, spec["headGroupSpec"]["template"])]
    group = spec["workerGroupSpecs"][0]
    made += [(f"ray-cpu-worker-{number}", worker, group["template"]) for number in range(group["replicas"])]
    cluster.api().create_all(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": labels}, **one}
        for name, labels, one in made
    )
    running, refused = outcome(cluster, namespace, workers + 1)
    assert (running, refused) == (document["placed"], len(document["pods"]) - document["placed"])
