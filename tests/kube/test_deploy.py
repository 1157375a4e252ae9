"""The chart in a real cluster: accepted by the API server, and with rights that are enough and no more than that."""

from __future__ import annotations

import json
import os
import secrets
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from deploy.crds import definitions
from tests.deploy.chart import MANIFESTS, is_hook, load, render
from tests.kube.api import Json
from tests.kube.batch import later, let_go, ours, until
from tests.kube.control_plane import ControlPlane
from tests.kube.datasets import GROUPS, Datasets
from tests.kube.fault_proxy import FaultProxy
from tests.kube.group_kinds import COSCHEDULING, JOB_SET, LEADER_WORKER_SET, VOLCANO, defined
from tests.kube.processes import Program, free_port, wait_until
from tests.kube.test_pod_groups import group, told

SOURCES: Final = Path(__file__).parents[2] / "src"
RIGHTS: Final = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")

READ_ONLY: Final = """
import errno, os, sys


def refuse_to_write(event, arguments):
    changes = event in {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
    if event == "open" and isinstance(arguments[2], int):
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        changes = arguments[2] & writes and isinstance(arguments[0], (str, bytes)) and arguments[0] != os.devnull
    if changes:
        raise OSError(errno.EROFS, "Read-only file system: " + event + " " + repr(arguments))


sys.addaudithook(refuse_to_write)
"""
"""Lets a Python process find itself on a file system that it can not write to, as in the chart's containers."""

OURS: Final = "fairway.dev"
KINDS_OF_OURS: Final = ("accounts", "jobrecords", "maintenancewindows", "queues", "reservations")

Right = tuple[str, str, str]  # group, resource, verb

EVERYBODYS: Final[set[Right]] = {("authorization.k8s.io", "selfsubjectaccessreviews", "create")}
"""What every account of a cluster may do (ClusterRole `system:basic-user`): ask what it may do."""


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"tlsSecretName": "cert", "leaderElection.enabled": False, "extraEnv": [{"name": "A", "value": "b"}]},
        {
            "networkPolicy.enabled": True,
            "networkPolicy.metricsFrom": [{"namespaceSelector": {}}],
            "networkPolicy.apiServer": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
        },
    ],
    ids=["manifests", "chart with other values", "network policy"],
)
def test_objects_are_accepted_by_the_api_server(control_plane: ControlPlane, values: dict[str, Any]) -> None:
    objects = render(values) if values else load(MANIFESTS.read_text())
    for each in objects:
        accepted = control_plane.api().apply(each, dry_run=True)
        assert accepted["kind"] == each["kind"]


@dataclass
class Installed:
    """Fairway as the chart installs it, run by this machine instead of a kubelet."""

    control_plane: ControlPlane
    namespace: str
    objects: list[Json]
    user: str
    token: str
    proxy: FaultProxy
    program: Program
    port: int

    def granted(self) -> set[Right]:
        return {
            (group, resource, verb)
            for each in self.objects
            if each["kind"] in ("Role", "ClusterRole")
            for rule in each["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    def asked(self) -> dict[Right, set[int]]:
        """Everything that was asked of the API server, and its answers' codes."""
        found: dict[Right, set[int]] = {}
        log = self.control_plane.audit_file
        assert log is not None
        for record in map(json.loads, log.read_text().splitlines()):  # watches that have only begun as well
            about = record.get("objectRef")
            if record["user"]["username"] == self.user and about:
                sub = f"/{about['subresource']}" if about.get("subresource") else ""
                right = (about.get("apiGroup", ""), f"{about['resource']}{sub}", record["verb"])
                found.setdefault(right, set()).add(record["responseStatus"]["code"])
        return found

    def visit(self, path: str, token: str = "") -> int:
        """Ask the scheduler itself."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code


@pytest.fixture
def full_plane(grouping_plane: ControlPlane) -> Iterator[ControlPlane]:
    """One that serves every kind that Fairway reads without being told to."""
    with defined(grouping_plane.api(), COSCHEDULING, VOLCANO, JOB_SET, LEADER_WORKER_SET):
        yield grouping_plane


@pytest.fixture
def own_namespace(full_plane: ControlPlane) -> str:
    name = f"deploy-{secrets.token_hex(4)}"
    full_plane.api().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def installed(full_plane: ControlPlane, own_namespace: str, tmp_path: Path) -> Iterator[Installed]:
    with install(full_plane, own_namespace, tmp_path, {}) as made:
        made.program.wait_until(lambda: b'"holderIdentity"' in _lease(made), "Fairway leads")
        yield made


@contextmanager
def install(control_plane: ControlPlane, namespace: str, tmp_path: Path, values: dict[str, Any]) -> Iterator[Installed]:
    objects = render(values, "fairway", namespace)
    api = control_plane.api()
    for each in objects:
        if each["kind"] in RIGHTS and not is_hook(each):
            api.apply(each)
    token = control_plane.service_account_token(namespace, "fairway")
    (config,) = [each["data"]["config.yaml"] for each in objects if each["kind"] == "ConfigMap"]
    (tmp_path / "config.yaml").write_text(config)
    port = free_port()
    with FaultProxy(control_plane.url, control_plane.ca_file, control_plane.serving_files("proxy")) as proxy:
        # As an older server would, which does not know how to stream lists.
        proxy.add("GET", "sendInitialEvents=true", "answer", status=422)
        command = [sys.executable, "-m", "fairway", "run", f"--config={tmp_path / 'config.yaml'}"]
        flags = [
            f"--kubeconfig={control_plane.kubeconfig('fairway', url=proxy.url, token=token)}",
            f"--secure-port={port}",
        ]
        read_only = tmp_path / "read-only"
        read_only.mkdir()
        (read_only / "sitecustomize.py").write_text(READ_ONLY)
        path = os.pathsep.join((str(SOURCES), str(read_only)))
        environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "KUBECONFIG": "", "HOME": "/nonexistent"}
        flags += ["--shadow"] if values.get("shadow") else []
        flags += [] if values.get("batch.enabled") else ["--batch=false"]
        program = Program([*command, *flags], tmp_path / "fairway.log", environment)
        user = f"system:serviceaccount:{namespace}:fairway"
        made = Installed(control_plane, namespace, objects, user, token, proxy, program, port)
        try:
            yield made
        finally:
            program.kill()
            for each in objects:
                if each["kind"] in ("ClusterRole", "ClusterRoleBinding") and not is_hook(each):
                    api.delete(each["kind"], each["metadata"]["name"])


def _lease(made: Installed) -> bytes:
    leases = made.control_plane.api().items("Lease", made.namespace)
    return json.dumps([lease["spec"] for lease in leases]).encode()


def node(name: str, cpu: str = "2", **labels: str) -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, namespace: str, cpu: str = "100m", claim: str = "", **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": "fairway", "containers": [container], "volumes": volumes, **spec},
    }


def batch_job(name: str, namespace: str) -> Json:
    """A Job whose controller is somebody else."""
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": spec}},
    }


def claim(name: str, namespace: str, storage_class: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    }


def storage() -> list[Json]:
    header = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "WaitForFirstConsumer"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "local-1"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "hostPath": {"path": "/data"},
        },
        "status": {"phase": "Available"},
    }
    return [
        {**header, "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"},
        {**header, "metadata": {"name": "made"}, "provisioner": "example.com/disks"},
        volume,
    ]


@pytest.mark.slow
def test_rights_are_enough_and_each_is_needed(installed: Installed) -> None:
    api, namespace = installed.control_plane.api(), installed.namespace
    # Nodes of 2 CPUs; everything that a scheduler does to pods happens once.
    for each in (node("a", rack="r0"), node("b", rack="r0"), *storage()):
        api.create(each)
    for each in (claim("static", namespace, "local"), claim("dynamic", namespace, "made")):
        api.create(each)

    def bound(name: str) -> bool:
        return bool(api.get("Pod", name, namespace)["spec"].get("nodeName"))

    def waits(name: str) -> bool:
        return any(
            each["status"] == "False" for each in api.get("Pod", name, namespace)["status"].get("conditions", [])
        )

    # An ordinary binding, and one whose answer gets lost.
    installed.proxy.add("POST", r"pods/lost/binding", "applied", times=1)
    for name in ("plain", "lost"):
        api.create(pod(name, namespace))
        wait_until(lambda name=name: bound(name), f"{name} is bound")  # type: ignore[misc]
    # Pods that belong together, and whose group is told that it has its nodes.
    api.request("POST", f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups", group("g", namespace, 2))
    for name in ("g-0", "g-1"):
        api.create(pod(name, namespace, schedulingGroup={"podGroupName": "g"}))
    wait_until(lambda: told(api, "g", namespace)[:2] == ("True", "Scheduled"), "the group has started")
    # Volumes: only the scheduler's own part; nobody provisions here.
    api.create(pod("uses-static", namespace, claim="static"))
    api.create(pod("uses-dynamic", namespace, claim="dynamic"))
    wait_until(lambda: "claimRef" in api.get("PersistentVolume", "local-1")["spec"], "the volume is promised")
    wait_until(
        lambda: bool(api.get("PersistentVolumeClaim", "dynamic", namespace)["metadata"].get("annotations")),
        "the claim has a node",
    )
    # A pod that waits, and is tried again without news: the event becomes a series.
    selector = {"matchLabels": {"app": "absent"}}
    term = {"topologyKey": "rack", "labelSelector": selector}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    api.create(pod("lonely", namespace, affinity=affinity))
    wait_until(lambda: waits("lonely"), "the pod waits")

    def in_series() -> bool:
        return any(each.get("series") for each in api.items("Event", namespace))

    tries = iter(range(1, 1000))

    def moved_and_in_series() -> bool:
        api.patch("Node", "a", None, {"metadata": {"labels": {"rack": f"r{next(tries)}"}}})
        return in_series()

    wait_until(moved_and_in_series, "the event is a series")
    # Preemption.
    for name in ("a", "b"):
        low = pod(f"low-{name}", namespace, "1500m", nodeSelector={"kubernetes.io/hostname": name})
        api.create(low)
        wait_until(lambda name=name: bound(f"low-{name}"), "the node is full")  # type: ignore[misc]
    api.create(pod("high", namespace, "1500m", priorityClassName="system-cluster-critical"))

    def evicted() -> bool:
        lows = [each for each in api.items("Pod", namespace) if each["metadata"]["name"].startswith("low-")]
        return len(lows) < 2 or any(each["metadata"].get("deletionTimestamp") for each in lows)

    wait_until(evicted, "somebody makes room")
    # The scheduler's own server.
    assert installed.visit("/metrics") == 403
    assert installed.visit("/metrics", installed.control_plane.token("nobody")) == 403
    assert installed.visit("/metrics", "made-up") == 401
    assert installed.visit("/metrics", installed.control_plane.token("admin")) == 200
    assert installed.visit("/readyz") == 200

    assert installed.program.stop() == 0
    asked = installed.asked()
    assert installed.granted() - set(asked) == set(), "rights that nobody needs"
    assert {right: codes for right, codes in asked.items() if codes & {401, 403}} == {}
    assert set(asked) - installed.granted() == set(), "rights that come from elsewhere"
    assert installed.token not in installed.program.output()


@pytest.mark.slow
@pytest.mark.parametrize("is_shadow", [False, True], ids=["scheduling", "shadow"])
def test_datasets_need_only_to_be_read(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, is_shadow: bool
) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "DataLocality"}]}}
    values: dict[str, Any] = {
        "data.enabled": True,
        "shadow": is_shadow,
        "config": {"profiles": [{"schedulerName": "fairway", "plugins": plugins}]},
    }
    datasets = Datasets(control_plane.api(), namespace)
    datasets.install(*GROUPS)
    try:
        datasets.place("data", gateways=["a"])
        with install(control_plane, namespace, tmp_path, values) as installed:
            installed.program.wait_until(lambda: "in sync" in installed.program.output(), "it knows the cluster")
            asked = installed.asked()
            assert installed.program.stop() == 0
    finally:
        datasets.remove(*GROUPS)
    of_data = {right: codes for right, codes in asked.items() if right[0] in GROUPS}
    assert set(of_data) == {
        (group, resource, verb)
        for group in GROUPS
        for resource in ("datasets", "datasetsinternal")
        for verb in ("list", "watch")
    }
    assert not set(of_data) - installed.granted()
    assert {right: codes for right, codes in asked.items() if codes & {401, 403}} == {}


def queued_pod(name: str, namespace: str, **spec: Any) -> Json:
    made = pod(name, namespace, "1", **spec)
    made["metadata"]["annotations"] = {"fairway.dev/queue": "batch", "fairway.dev/time-limit": "6s"}
    return made


@pytest.mark.slow
def test_queues_need_their_rights_and_no_other(full_plane: ControlPlane, own_namespace: str, tmp_path: Path) -> None:
    """A job and a Job that run out of time, a window that drains, a reservation, an account."""
    api, namespace = full_plane.api(), own_namespace
    full_plane.start_kubelet()
    with (
        defined(api, *definitions()),
        install(full_plane, namespace, tmp_path, {"batch.enabled": True}) as installed,
    ):
        installed.program.wait_until(lambda: "queues of jobs are on" in installed.program.output(), "queues are on")
        for each in (node("a", rack="r0"), node("b", rack="r1")):
            api.create(each)
        api.create(ours("Account", "all", namespaces=["*"]))
        api.create(ours("Queue", "batch", limits={"killGrace": "1s", "warnBefore": "5s"}))
        owner = api.create(batch_job("made", namespace))
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "made", "uid": owner["metadata"]["uid"]}
        of_job = queued_pod("made-1", namespace, nodeSelector={"rack": "r0"})
        of_job["metadata"]["ownerReferences"] = [reference | {"controller": True}]
        api.create(pod("guest", namespace, nodeSelector={"rack": "r1"}))
        for each in (queued_pod("lone", namespace, nodeSelector={"rack": "r0"}), of_job):
            api.create(each)
        who = {"users": ["ada"]}
        api.create(ours("Reservation", "course", start=later(7200), duration="1h", nodes={"count": 1}, **{"for": who}))
        until(api, "lone", namespace, "Running")
        closes = {"selector": {"rack": "r1"}}
        api.create(
            ours("MaintenanceWindow", "w", start=later(8), duration="1h", mode="drain", drainLead="1m", nodes=closes)
        )
        until(api, "lone", namespace, "Finished", "TimedOut")
        wanted = {
            *((OURS, kind, verb) for kind in KINDS_OF_OURS for verb in ("list", "watch")),
            *((OURS, f"{kind}/status", "update") for kind in KINDS_OF_OURS),
            *((OURS, "jobrecords", verb) for verb in ("create", "patch")),
            ("", "pods", "patch"),
            ("", "pods/eviction", "create"),
            ("", "nodes", "patch"),
            ("batch", "jobs", "patch"),
        }
        wait_until(lambda: wanted <= set(installed.asked()), "everything was done once", 120)
        asked = installed.asked()
        assert {right: codes for right, codes in asked.items() if codes & {401, 403}} == {}
        assert set(asked) <= installed.granted() | EVERYBODYS
        # An object is read by itself when a write to it is refused, as by an operator who changed it meanwhile.
        assert {right for right in installed.granted() if right[0] == OURS} - set(asked) <= {
            (OURS, kind, "get") for kind in KINDS_OF_OURS
        }
        installed.program.stop()
        for each in api.items("JobRecord"):
            let_go(api, each)


@pytest.mark.slow
def test_shadow_needs_only_to_read(full_plane: ControlPlane, own_namespace: str, tmp_path: Path) -> None:
    api, namespace = full_plane.api(), own_namespace
    values = {"shadow": True, "schedulerName": "fairway"}
    with install(full_plane, namespace, tmp_path, values) as installed:
        installed.program.wait_until(lambda: "in sync" in installed.program.output(), "it knows the cluster")
        for each in (node("a"), node("b"), pod("web", namespace)):
            api.create(each)
        api.bind("web", namespace, "a")
        assert installed.visit("/metrics", full_plane.token("nobody")) == 403
        asked = installed.asked()
        assert installed.program.stop() == 0
        assert {right: codes for right, codes in asked.items() if codes & {401, 403}} == {}
        assert set(asked) == installed.granted()
