"""Extenders both ways, with a real kube-scheduler: Fairway advises it, and Fairway asks as it asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until
from tests.live.extender_service import Service, extender_service

SOURCES: Final = Path(__file__).parents[2] / "src"
HEADER: Final = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

POLICY: Final = '''
import numpy as np
from fairway.plugin import Aspect, Plugin, Refusal


class PreferGreen(Plugin):
    """Green nodes first, and never a black one."""

    reads = Aspect.NODE

    def filter(self, pod, nodes, state):
        return nodes.label("power") != "black"

    def explain(self, pod, nodes, state):
        return Refusal(("node(s) run on coal",))

    def score(self, pod, nodes, state):
        return np.where(nodes.label("power") == "green", 100, 0)
'''


def node(name: str, power: str, cpu: str = "4") -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, "power": power}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, namespace: str, scheduler: str = "default-scheduler", **spec: Any) -> Json:
    environment = [{"name": "A", "value": "b"}]
    container = {"name": "c", "image": "i", "env": environment, "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def start_fairway(
    control_plane: ControlPlane, directory: Path, config: Mapping[str, Any], *flags: str, user: str = "admin"
) -> Program:
    file = directory / f"fairway-{free_port()}.yaml"
    file.write_text(yaml.safe_dump({**HEADER, **config}))
    command = [sys.executable, "-m", "fairway", "run", f"--config={file}"]
    environment = {"PYTHONPATH": os.pathsep.join((str(SOURCES), str(directory))), "KUBECONFIG": ""}
    kubeconfig = f"--kubeconfig={control_plane.kubeconfig(user)}"
    return Program([*command, kubeconfig, *flags], directory / "fairway.log", environment)


def placed(control_plane: ControlPlane, name: str, namespace: str) -> str:
    return str(control_plane.api().get("Pod", name, namespace)["spec"].get("nodeName", ""))


def condition(control_plane: ControlPlane, name: str, namespace: str) -> tuple[str, str]:
    conditions = control_plane.api().get("Pod", name, namespace)["status"].get("conditions", [])
    found = [(each.get("reason", ""), each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"]
    return found[0] if found else ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("knows_nodes", [True, False], ids=["names", "whole nodes"])
def test_stock_kube_scheduler_follows_a_policy_in_python(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, knows_nodes: bool
) -> None:
    api = control_plane.api()
    (tmp_path / "green_policy.py").write_text(POLICY)
    plugin = "green_policy:PreferGreen"
    points = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin}, {"name": "PrioritySort"}]}}
    profile = {"schedulerName": "green", "plugins": {**points, "bind": {"enabled": [{"name": "DefaultBinder"}]}}}
    port = free_port()
    for each in (node("black", "black"), node("brown", "brown"), node("green", "green")):
        api.create(each)
    fairway = start_fairway(control_plane, tmp_path, {"profiles": [profile]}, f"--extender=127.0.0.1:{port}")
    fairway.wait_until(lambda: "serving as an extender" in fairway.output(), "Fairway serves")
    extender = {
        "urlPrefix": f"http://127.0.0.1:{port}",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "weight": 100,
        "nodeCacheCapable": knows_nodes,
        "httpTimeout": "10s",
    }
    control_plane.start_kube_scheduler({"extenders": [extender]})
    for number in range(4):
        api.create(pod(f"web-{number}", namespace))
        wait_until(lambda name=f"web-{number}": placed(control_plane, name, namespace) != "", "it is bound")  # type: ignore[misc]
        assert placed(control_plane, f"web-{number}", namespace) == "green"
    api.create(pod("dirty", namespace, nodeSelector={"power": "black"}))
    wait_until(lambda: condition(control_plane, "dirty", namespace)[0] == "Unschedulable", "it is refused")
    assert "1 node(s) run on coal" in condition(control_plane, "dirty", namespace)[1]
    assert fairway.stop() == 0


def comparable(found: Json) -> Json:
    """A pod without what makes it another one than its twin, and with an environment that no scheduler reads."""
    own = {"name", "uid", "resourceVersion", "creationTimestamp"}
    assert found["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}]
    return {
        **found,
        "metadata": {name: value for name, value in found["metadata"].items() if name not in own},
        "spec": {**found["spec"], "schedulerName": ""},
    }


@pytest.fixture
def service() -> Iterator[Service]:
    with extender_service() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("knows_nodes", [True, False], ids=["names", "whole nodes"])
def test_fairway_asks_an_extender_as_kube_scheduler_does(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, service: Service, knows_nodes: bool
) -> None:
    """The same pod, once for each scheduler: the extender is asked the same, and the pod is told the same."""
    api = control_plane.api()
    for each in (node("a", "green"), node("b", "green")):
        api.create(each)
    refused = {"a": "extender says no", "b": "extender says no"}
    service.answers["/ext/filter"] = 200, {"NodeNames": [], "Nodes": {"items": []}, "FailedNodes": refused}
    extender = {
        "urlPrefix": service.url("/ext"),
        "filterVerb": "filter",
        "nodeCacheCapable": knows_nodes,
        "httpTimeout": "10s",
    }
    seen: dict[str, Any] = {}
    words: dict[str, tuple[str, str]] = {}
    for scheduler in ("kube", "fairway"):
        profiles = {"profiles": [{"schedulerName": scheduler}], "extenders": [extender]}
        if scheduler == "kube":
            running = control_plane.start_kube_scheduler(profiles)
        else:
            off = {"leaderElection": {"leaderElect": False}}
            running = start_fairway(control_plane, tmp_path, {**profiles, **off}, "--secure-port=0")
        service.requests.clear()
        api.create(pod(f"p-{scheduler}", namespace, scheduler))
        name = f"p-{scheduler}"
        wait_until(lambda name=name: condition(control_plane, name, namespace)[0] != "", "it is refused")  # type: ignore[misc]
        words[scheduler] = condition(control_plane, name, namespace)
        seen[scheduler] = service.requests[0][2]
        running.kill()
    assert words["fairway"] == words["kube"]
    assert list(seen["fairway"]) == list(seen["kube"])
    for body in seen.values():
        body["Pod"] = comparable(body["Pod"])
        if body["Nodes"]:
            body["Nodes"]["items"].sort(key=lambda item: item["metadata"]["name"])
        if body["NodeNames"]:
            body["NodeNames"].sort()
    assert seen["fairway"] == seen["kube"]


@pytest.mark.slow
def test_extender_that_binds_and_one_that_fails(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, service: Service
) -> None:
    api = control_plane.api()
    api.create(node("a", "green"))
    config = {
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "fairway"}],
        "extenders": [
            {
                "urlPrefix": service.url("/ext"),
                "filterVerb": "filter",
                "bindVerb": "bind",
                "nodeCacheCapable": True,
            }
        ],
    }
    service.answers["/ext/filter"] = 500, {}
    start = start_fairway(control_plane, tmp_path, config, "--secure-port=0")
    try:
        api.create(pod("p", namespace, "fairway"))
        wait_until(lambda: condition(control_plane, "p", namespace)[0] == "SchedulerError", "the failure is told")
        words = f"failed filter with extender at URL {service.url('/ext/filter')}, code 500"
        assert condition(control_plane, "p", namespace)[1] == words
        service.answers["/ext/filter"] = 200, {"NodeNames": ["a"]}
        service.answers["/ext/bind"] = 200, {"Error": ""}

        def asked_to_bind() -> bool:
            return any(path == "/ext/bind" for path, _, _ in service.requests)

        wait_until(asked_to_bind, "the extender is asked to bind")
        (body,) = [body for path, _, body in service.requests if path == "/ext/bind"][:1]
        assert (body["PodName"], body["PodNamespace"], body["Node"]) == ("p", namespace, "a")
        bindings = [
            record
            for record in control_plane.audit_records()
            if (record.get("objectRef") or {}).get("subresource") == "binding"
            and record["objectRef"]["namespace"] == namespace
        ]
        assert bindings == []
    finally:
        start.kill()
