"""Pods near their data on a real API server: the walk of Datashim's example, and definitions that come and go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.cli.main import main
from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.datasets import GROUPS, NEW, OLD, Datasets
from tests.kube.processes import Program, wait_until

ZONES = {"near": ("b", "r"), "gateway": ("b", "r"), "region": ("a", "r"), "far": ("x", "q")}
"""Nodes by name: their zones and regions. The data is served by one of them."""

LONG = 90.0
"""Seconds, for a look at which kinds there are, which is taken every half a minute."""


def configuration(plugin: str = "DataLocality", **args: Any) -> Json:
    enabled = {"multiPoint": {"enabled": [{"name": plugin, "weight": 20}]}}
    return {"profiles": [{"plugins": enabled, "pluginConfig": [{"name": plugin, "args": args}] if args else []}]}


def node(name: str, cpu: str = "4") -> Json:
    zone, region = ZONES[name]
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    topology = {"topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": region}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **topology}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, namespace: str, cpu: str = "1", dataset: str = "data", **annotations: str) -> Json:
    labels = {"dataset.0.id": dataset, "dataset.0.useas": "mount"} if dataset else {}
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def datasets(control_plane: ControlPlane, namespace: str) -> Iterator[Datasets]:
    made = Datasets(control_plane.api(), namespace)
    made.remove(*GROUPS)
    yield made
    control_plane.stop_others()
    made.remove(*GROUPS)


@pytest.fixture
def kubeconfig(control_plane: ControlPlane) -> Path:
    """Of a scheduler that may also read datasets, and no definitions."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads-datasets"}}
    rules = [
        {"apiGroups": list(GROUPS), "resources": ["datasets", "datasetsinternal"], "verbs": ["get", "list", "watch"]}
    ]
    control_plane.api().apply(role | {"rules": rules})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads-datasets"}
    control_plane.api().apply(role | {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]})
    return control_plane.kubeconfig("system:kube-scheduler")


def place_of(api: Api, name: str, namespace: str) -> str:
    """The pod's node, once it has one."""
    found: list[str] = []

    def is_bound() -> bool:
        found[:] = [api.get("Pod", name, namespace)["spec"].get("nodeName", "")]
        return bool(found[0])

    wait_until(is_bound, f"{name} is bound")
    return found[0]


def test_the_walk_of_datashims_example(
    control_plane: ControlPlane,
    namespace: str,
    datasets: Datasets,
    kubeconfig: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api = control_plane.api()
    for name in ZONES:
        api.create(node(name))
    datasets.install(NEW)
    datasets.place("data", gateways=["gateway"])
    control_plane.start_fairway(configuration("CacheAwarePlugin"), kubeconfig=kubeconfig)
    api.create(pod("first", namespace))
    assert place_of(api, "first", namespace) == "gateway"

    config = tmp_path / "scheduler.yaml"
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config.write_text(yaml.safe_dump(header | configuration()))
    live = ["--config", str(config), "--kubeconfig", str(control_plane.kubeconfig("admin"))]
    assert main(["why", f"{namespace}/first", *live]) == 0
    told = capsys.readouterr().out
    assert "goes to gateway" in told
    assert "its own host is a gateway" in told  # TODO words

    api.create(pod("filler", namespace, cpu="3", dataset=""))
    # The gateway has no room any more: next to it, in its zone.
    wait_until(lambda: bool(api.get("Pod", "filler", namespace)["spec"].get("nodeName")), "the filler is placed")


def test_definitions_come_after_the_scheduler_and_go_while_it_runs(
    control_plane: ControlPlane, namespace: str, datasets: Datasets, kubeconfig: Path
) -> None:
    api = control_plane.api()
    for name in ZONES:
        api.create(node(name))
    scheduler = control_plane.start_fairway(
        configuration(mode="require"), kubeconfig=kubeconfig, flags=["--trust-loopback"]
    )
    api.create(pod("waits", namespace))
    wait_until(lambda: "does not exist" in message(api, "waits", namespace), "the pod waits for its dataset")
    datasets.install(NEW, OLD)
    datasets.declare("data", OLD)  # nothing is known of it yet but its name
    datasets.place("data", gateways=["near"], group=NEW)  # the newer group is believed
    datasets.place("old", gateways=["far"], group=OLD)
    wait_until(lambda: bool(api.get("Pod", "waits", namespace)["spec"].get("nodeName")), "it is woken", LONG)
    assert place_of(api, "waits", namespace) == "near"
    api.create(pod("of-the-other-group", namespace, dataset="old"))
    assert place_of(api, "of-the-other-group", namespace) == "far"

    datasets.remove(NEW, OLD)
    api.create(pod("late", namespace, dataset="old"))
    wait_until(lambda: "does not exist" in message(api, "late", namespace), "the dataset is gone", LONG)
    api.create(pod("plain", namespace, dataset=""))
    assert place_of(api, "plain", namespace)
    datasets.install(OLD)
    datasets.place("old", gateways=["region"], group=OLD)
    wait_until(lambda: bool(api.get("Pod", "late", namespace)["spec"].get("nodeName")), "it is woken", LONG)
    assert place_of(api, "late", namespace) == "region"
    complaints = [line for line in lines(scheduler) if line.get("level") in ("WARNING", "ERROR", "warning", "error")]
    assert complaints == []
    assert scheduler.stop() == 0


def message(api: Api, name: str, namespace: str) -> str:
    conditions = api.get("Pod", name, namespace)["status"].get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def lines(program: Program) -> list[Json]:
    return [json.loads(line) for line in program.output().splitlines() if line.startswith("{")]
