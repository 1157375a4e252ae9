"""Pods near their data on a real API server: the walk of Datashim's example, and definitions that come and go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.cli.main import main
from fairway.record import Run
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

    config = tmp_path / "scheduler.yaml"  # as the scheduler's own, under the plugin's own name
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config.write_text(yaml.safe_dump(header | configuration()))
    live = ["--config", str(config), "--kubeconfig", str(control_plane.kubeconfig("admin"))]
    assert main(["why", f"{namespace}/first", *live]) == 0
    told = capsys.readouterr().out
    assert "goes to gateway" in told
    assert "data: gateway on gateway, its own host" in told

    assert main(["status", "--data", *live[2:]]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if f"{namespace}/data" in line]
    assert row[1:6] == ["ready", "0", "1", "25%", "1"]  # copies, gateways, their load, pods that use it

    # The gateway is filled: its zone comes next, then its region, and nothing farther while there is room.
    fill(api, namespace, "gateway")
    api.create(pod("second", namespace))
    assert place_of(api, "second", namespace) == "near"
    assert main(["why", f"{namespace}/second", *live]) == 0
    assert "data: gateway on gateway, same zone" in capsys.readouterr().out
    fill(api, namespace, "near")
    api.create(pod("third", namespace))
    assert place_of(api, "third", namespace) == "region"
    assert main(["why", f"{namespace}/third", *live]) == 0
    assert "data: gateway on gateway, same region" in capsys.readouterr().out

    # Placements are told once and then go stale: a gateway that is gone does not count.
    api.delete("Node", "gateway")
    datasets.place("data", gateways=["gateway", "far"])
    api.create(pod("fourth", namespace))
    assert place_of(api, "fourth", namespace) == "far"


def fill(api: Api, namespace: str, name: str) -> None:
    """Leave no room on a node: what it has less what its pods ask for is taken by one more pod."""
    there = [one for one in api.items("Pod", namespace) if one["spec"].get("nodeName") == name]
    filler = pod(f"fills-{name}", namespace, cpu=str(4 - len(there)), dataset="")
    filler["spec"]["nodeName"] = name
    api.create(filler)


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
    of_watches = [line for line in lines(scheduler) if line["logger"].startswith("fairway.live.watches")]
    assert len(of_watches) > 4  # what is served and what is not, once each
    assert [line for line in of_watches if line["level"] != "info"] == []
    assert scheduler.stop() == 0


def test_recordings_hold_datasets_if_they_may_read_them(
    control_plane: ControlPlane, namespace: str, datasets: Datasets, kubeconfig: Path, tmp_path: Path
) -> None:
    control_plane.api().create(node("near"))
    datasets.install(OLD)
    datasets.place("data", gateways=["near"], group=OLD)
    reads_all = control_plane.api().get("ClusterRole", "reads-datasets")
    found = {}
    for name, resources in (("reader", ["datasets", "datasetsinternal"]), ("stranger", ["nothing"])):
        rules = [{"apiGroups": list(GROUPS), "resources": resources, "verbs": ["get", "list", "watch"]}]
        meta = {"name": "reads-datasets"}
        control_plane.api().apply(
            {k: reads_all[k] for k in ("apiVersion", "kind")} | {"metadata": meta, "rules": rules}
        )
        path = tmp_path / name
        assert main(["record", str(path), "--kubeconfig", str(kubeconfig), "--for", "1s"]) == 0
        with Run.open(path) as run:
            kinds = [row["kind"] for row in run.objects.where("kind LIKE 'Dataset%'").rows()]
        found[name] = sorted(kinds)
    assert found == {"reader": [f"Dataset.{OLD}", f"DatasetInternal.{OLD}"], "stranger": []}


def message(api: Api, name: str, namespace: str) -> str:
    conditions = api.get("Pod", name, namespace)["status"].get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def lines(program: Program) -> list[Json]:
    return [json.loads(line) for line in program.output().splitlines() if line.startswith("{")]
