"""Jobs on a real API server, in mode fairway: each as its own users write it; many, and large ones."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from fairway.cli.main import main
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import COSCHEDULING, JOB_SET, LEADER_WORKER_SET, VOLCANO, defined
from tests.kube.jobs import CONFIGURATION, GROUPS, PATIENCE, bound, gang, plain, reasons, waits
from tests.kube.processes import wait_until
from tests.kube.test_pod_groups import group, member, node, told


@pytest.fixture
def namespace(grouping_plane: ControlPlane) -> str:
    name = f"jobs-{secrets.token_hex(4)}"
    grouping_plane.api().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def test_a_pod_group_as_upstream_has_it_starts_together(grouping_plane: ControlPlane, namespace: str) -> None:
    api = grouping_plane.api()
    for name in ("a", "b"):
        api.create(node(name))
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    api.request("POST", GROUPS.format(namespace), group("t", namespace, 3))
    for number in range(2):
        api.create(member(f"t-{number}", namespace, "t"))

    words = f"job {namespace}/t is incomplete: 2 of 3 members exist"
    wait_until(
        lambda: waits(api, "t-0", namespace) == waits(api, "t-1", namespace) == words,
        "they are told what they wait for",
        PATIENCE,
    )
    assert bound(api, namespace) == {}
    api.create(member("t-2", namespace, "t"))
    wait_until(lambda: len(bound(api, namespace)) == 3, "all are bound", PATIENCE)
    wait_until(lambda: told(api, "t", namespace)[:2] == ("True", "Scheduled"), "people are told", PATIENCE)
    wait_until(lambda: ("GangScheduled", "PodGroup", "t") in reasons(api, namespace), "and of its start", PATIENCE)

    api.request("POST", GROUPS.format(namespace), group("w", namespace, 2))
    for number in range(2):
        api.create(member(f"w-{number}", namespace, "w"))
    wait_until(lambda: told(api, "w", namespace)[:2] == ("False", "Unschedulable"), "people are told", PATIENCE)
    assert "1 of 2 members fit" in told(api, "w", namespace)[2]
    assert len(bound(api, namespace)) == 3
    wait_until(lambda: ("FailedGang", "PodGroup", "w") in reasons(api, namespace), "and by an event", PATIENCE)
    api.delete("Pod", "t-0", namespace)
    wait_until(lambda: {"w-0", "w-1"} <= set(bound(api, namespace)), "there is room now", PATIENCE)


def owned(made: Json, kind: str, api_version: str, name: str) -> Json:
    """A pod as its controller makes it."""
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def template(**metadata: Any) -> Json:
    return {
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": plain("x", "")["spec"]["containers"]},
    }


def job_set(name: str) -> Json:
    """A driver and two Jobs of two workers; only the set itself asks that all start together."""
    jobs = [("driver", 1, 1), ("workers", 2, 2)]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "annotations": {"fairway.dev/start-together": "true"}},
        "spec": {
            "network": {"enableDNSHostnames": True},
            "successPolicy": {"operator": "All", "targetReplicatedJobs": ["driver"]},
            "failurePolicy": {"maxRestarts": 3},
            "replicatedJobs": [
                {
                    "name": role,
                    "replicas": replicas,
                    "template": {
                        "spec": {
                            "parallelism": number,
                            "completions": number,
                            "completionMode": "Indexed",
                            "backoffLimit": 0,
                            "template": template(),
                        }
                    },
                }
                for role, replicas, number in jobs
            ],
        },
    }


def job_set_pods(name: str, namespace: str) -> list[Json]:
    """What jobset and job controllers make of it: jobset.go `labelAndAnnotateObject`, job_controller.go (1.36)."""
    made = []
    for role, replicas, number in (("driver", 1, 1), ("workers", 2, 2)):
        for copy in range(replicas):
            job = f"{name}-{role}-{copy}"
            said = {
                "jobset.sigs.k8s.io/jobset-name": name,
                "jobset.sigs.k8s.io/jobset-uid": f"uid-of-{name}",
                "jobset.sigs.k8s.io/replicatedjob-name": role,
                "jobset.sigs.k8s.io/replicatedjob-replicas": str(replicas),
                "jobset.sigs.k8s.io/global-replicas": "3",
                "jobset.sigs.k8s.io/job-index": str(copy),
                "jobset.sigs.k8s.io/job-global-index": str(copy + (role == "workers")),
                "jobset.sigs.k8s.io/job-key": secrets.token_hex(20),
                "jobset.sigs.k8s.io/restart-attempt": "0",
            }
            for index in range(number):
                done = {"batch.kubernetes.io/job-completion-index": str(index)}
                labels = {**said, **done, "job-name": job, "batch.kubernetes.io/job-name": job}
                each = plain(f"{job}-{index}-{secrets.token_hex(2)}", namespace, labels=labels, annotations=said | done)
                made.append(owned(each, "Job", "batch/v1", job))
    return made


def leader_worker_set(name: str) -> Json:
    """Two groups of a leader with two workers, each of which starts together."""
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "annotations": {"fairway.dev/start-together": "true"}},
        "spec": {
            "replicas": 2,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1}},
            "leaderWorkerTemplate": {
                "size": 3,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template(labels={"role": "leader"}),
                "workerTemplate": template(),
            },
        },
    }


def leader_worker_pods(name: str, namespace: str) -> list[Json]:
    """What lws makes of it: leaderworkerset_controller.go, pod_controller.go and pod_webhook.go (0.7)."""
    made = []
    for group_index in range(2):
        leader, key = f"{name}-{group_index}", secrets.token_hex(20)
        for worker in range(3):
            labels = {
                "leaderworkerset.sigs.k8s.io/name": name,
                "leaderworkerset.sigs.k8s.io/group-index": str(group_index),
                "leaderworkerset.sigs.k8s.io/group-key": key,
                "leaderworkerset.sigs.k8s.io/worker-index": str(worker),
                "leaderworkerset.sigs.k8s.io/template-revision-hash": "5d4f8c",
            }
            said = {"leaderworkerset.sigs.k8s.io/size": "3"}
            said |= {"leaderworkerset.sigs.k8s.io/leader-name": leader} if worker else {}
            each = plain(f"{leader}-{worker}" if worker else leader, namespace, labels=labels, annotations=said)
            made.append(owned(each, "StatefulSet", "apps/v1", leader if worker else name))
    return made


def volcano_group(name: str) -> Json:
    """As Volcano's controller makes it of a Job that says `minAvailable: 3` and nothing of its tasks."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {
            "minMember": 3,
            "minTaskMember": {"ps": 1, "worker": 3},
            "minResources": {"cpu": "3", "pods": "3"},
            "queue": "default",
        },
        "status": {"phase": "Inqueue"},
    }


def volcano_pods(job: str, group_name: str, namespace: str) -> list[Json]:
    """job_controller_util.go, `createJobPod` (1.12)."""
    made = []
    for task, number in (("ps", 1), ("worker", 3)):
        for index in range(number):
            said = {
                "scheduling.k8s.io/group-name": group_name,
                "volcano.sh/job-name": job,
                "volcano.sh/job-version": "0",
                "volcano.sh/job-retry-count": "0",
                "volcano.sh/queue-name": "default",
                "volcano.sh/task-index": str(index),
                "volcano.sh/task-spec": task,
                "volcano.sh/template-uid": f"{job}-{task}",
            }
            labels = {name: said[name] for name in ("volcano.sh/job-name", "volcano.sh/task-spec")}
            each = plain(f"{job}-{task}-{index}", namespace, labels=labels, annotations=said)
            made.append(owned(each, "Job", "batch.volcano.sh/v1alpha1", job))
    return made


def coscheduling_group(name: str) -> Json:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 2, "scheduleTimeoutSeconds": 10},
    }


def test_groups_of_others_start_together_as_their_users_write_them(
    grouping_plane: ControlPlane, namespace: str
) -> None:
    """Definitions that are installed while Fairway runs are found; pods that name a group wait for its object."""
    api = grouping_plane.api()
    api.create_all(node(f"n{index}") for index in range(10))
    fairway = grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    volcano = volcano_pods("tf", "tf-0b1c", namespace)
    label = {"scheduling.x-k8s.io/pod-group": "mpi"}
    pods = {
        "mpi": [plain(f"mpi-{index}", namespace, labels=label) for index in range(2)],
        "tf-0b1c": volcano,
        "train": job_set_pods("train", namespace),
        "serve": leader_worker_pods("serve", namespace),
    }
    api.create_all(each for name in ("mpi", "tf-0b1c") for each in pods[name])
    for name in ("mpi", "tf-0b1c"):
        first = pods[name][0]["metadata"]["name"]
        words = f"job {namespace}/{name} is incomplete: no PodGroup {namespace}/{name}"
        wait_until(lambda first=first, words=words: waits(api, first, namespace) == words, "told", PATIENCE)  # type: ignore[misc]
    with defined(api, COSCHEDULING, VOLCANO, JOB_SET, LEADER_WORKER_SET):
        for path, made in (
            ("scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups", coscheduling_group("mpi")),
            ("scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups", volcano_group("tf-0b1c")),
            ("jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets", job_set("train")),
            ("leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets", leader_worker_set("serve")),
        ):
            api.request("POST", f"/apis/{path.format(namespace)}", made)
        early = {each["metadata"]["name"] for name in ("mpi", "tf-0b1c") for each in pods[name]}
        wait_until(lambda: set(bound(api, namespace)) == early, "those that were there have started", PATIENCE)
        kinds = ("jobsets of jobset.x-k8s.io/v1alpha2", "leaderworkersets of leaderworkerset.x-k8s.io/v1")
        wait_until(lambda: all(f"{kind} are served" in fairway.output() for kind in kinds), "they are seen", PATIENCE)
        *others, last = pods["train"]
        *group_of_first, _, _ = pods["serve"]
        api.create_all([*others, *group_of_first])
        known = early | {each["metadata"]["name"] for each in pods["serve"][:3]}
        wait_until(lambda: set(bound(api, namespace)) == known, "the first leader with its workers runs", PATIENCE)
        api.create_all([last, *pods["serve"][4:]])
        everybody = {each["metadata"]["name"] for some in pods.values() for each in some}
        wait_until(lambda: set(bound(api, namespace)) == everybody, "all have started", PATIENCE)
        started = {("GangScheduled", "PodGroup", name) for name in ("mpi", "tf-0b1c")}
        wait_until(lambda: started <= set(reasons(api, namespace)), "and people are told", PATIENCE)
        grouping_plane.stop_others()


def test_gates_that_open_one_by_one(grouping_plane: ControlPlane, namespace: str) -> None:
    api = grouping_plane.api()
    for name in ("a", "b"):
        api.create(node(name))
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    groups = GROUPS.format(namespace)
    api.request("POST", groups, group("t", namespace, 2))
    pods = [member(f"t-{number}", namespace, "t") for number in range(2)]
    for each in pods:
        each["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        api.create(each)
    patch: Json = {"spec": {"schedulingGates": []}}
    path = f"/api/v1/namespaces/{namespace}/pods"
    kind = "application/merge-patch+json"
    api.request("PATCH", f"{path}/t-0", patch, content_type=kind)

    wait_until(
        lambda: "2 of 2 members exist, 1 of them gated" in waits(api, "t-0", namespace),
        "it waits for the other",
        PATIENCE,
    )
    assert bound(api, namespace) == {}
    api.request("PATCH", f"{path}/t-1", patch, content_type=kind)
    wait_until(lambda: len(bound(api, namespace)) == 2, "both are bound", PATIENCE)


def test_the_cluster_and_its_scheduler_are_asked_about_jobs(
    grouping_plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api = grouping_plane.api()
    for name in ("a", "b"):
        api.create(node(name))
    fairway = grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    for name, number in (("runs", 3), ("wide", 2)):
        api.request("POST", GROUPS.format(namespace), group(name, namespace, number))
        for index in range(number):
            api.create(member(f"{name}-{index}", namespace, name))
        if name == "runs":
            wait_until(lambda: len(bound(api, namespace)) == 3, "the first runs", PATIENCE)
    wait_until(lambda: "1 of 2 members fit" in waits(api, "wide-0", namespace), "the second waits", PATIENCE)
    metrics = grouping_plane.metrics(fairway)
    tried = 'scheduler_podgroup_schedule_attempts_total{profile="default-scheduler",result="%s"}'
    assert (metrics[tried % "scheduled"], metrics[tried % "unschedulable"] >= 1) == (1, True)
    assert (metrics["fairway_gang_members_sum"], metrics["fairway_gang_wait_seconds_count"]) == (3, 1)
    assert metrics["scheduler_podgroup_scheduling_algorithm_duration_seconds_count"] >= 2
    assert metrics["fairway_gang_backtracks_count"] >= 2
    state = 'fairway_gangs{state="%s"}'
    wait_until(
        lambda: sum(grouping_plane.metrics(fairway)[state % each] for each in ("backoff", "unschedulable")) == 1,
        "it is counted",
        PATIENCE,
        every=0.3,
    )
    kubeconfig = ["--kubeconfig", str(grouping_plane.kubeconfig())]
    scheduler = ["--scheduler", fairway.url, "--insecure-skip-tls-verify", *kubeconfig]
    asked = {
        ("why", f"{namespace}/runs", "--live", *kubeconfig): (0, "has started · 3 of 3 members run on 2 nodes"),
        ("why", f"{namespace}/wide", "--live", *kubeconfig): (3, "1 of 2 members fit (min 2, PodGroup)"),
        ("why", f"{namespace}/wide-0", "--live", *kubeconfig): (3, f"job {namespace}/wide waits"),
        ("why", f"{namespace}/runs", *scheduler): (0, f"job {namespace}/runs has started · 3 members have a node"),
        ("why", f"{namespace}/wide", *scheduler): (3, "1 of 2 members fit (min 2)"),
        ("why", f"{namespace}/wide-0", *scheduler): (0, f"job {namespace}/wide waits"),
        ("status", "--live", *kubeconfig): (0, f"job {namespace}/wide: Insufficient cpu."),
        ("status", *scheduler): (0, f"job {namespace}/wide: Insufficient cpu."),
    }
    for command, (code, words) in asked.items():
        assert (main(command), words in capsys.readouterr().out) == (code, True), command


@pytest.mark.slow
def test_a_job_of_a_thousand_starts(grouping_plane: ControlPlane, namespace: str) -> None:
    api = grouping_plane.api()
    amounts = {"cpu": "110", "memory": "64Gi", "pods": "110"}
    for index in range(10):
        big = node(f"n{index:02}")
        big["status"]["allocatable"] = big["status"]["capacity"] = amounts
        api.create(big)
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    api.create_all(gang("t", 1000, namespace))
    wait_until(lambda: len(bound(api, namespace)) == 1000, "all are bound", 300)


@pytest.mark.slow
def test_two_hundred_jobs_of_eight_start(grouping_plane: ControlPlane, namespace: str) -> None:
    api = grouping_plane.api()
    amounts = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    for index in range(50):
        big = node(f"n{index:02}")
        big["status"]["allocatable"] = big["status"]["capacity"] = amounts
        api.create(big)
    grouping_plane.start_fairway(CONFIGURATION, kubeconfig=grouping_plane.kubeconfig())
    for index in range(200):
        api.create_all(gang(f"j{index:03}", 8, namespace))
    wait_until(lambda: len(bound(api, namespace)) == 1600, "all are bound", 300)
