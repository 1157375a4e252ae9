"""Metrics beside kube-scheduler's own: the same work, the same names, types, labels and bounds, and the same counts."""

from __future__ import annotations

import os
import re
import ssl
import sys
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until

SOURCES: Final = Path(__file__).parents[2] / "src"
SAMPLE: Final = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL: Final = re.compile(r'([a-z_]+)="([^"]*)"')
NOT_OURS: Final = {
    "scheduler_dra_bindingconditions_allocations_total",
    "scheduler_volume_binder_cache_requests_total",
    "rest_client_request_retries_total",
}
"""Of what Fairway does not do."""


class Metrics:
    """A page of metrics, read."""

    def __init__(self, text: str) -> None:
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        self.values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self.labels: dict[str, set[str]] = defaultdict(set)
        self.bounds: dict[str, list[str]] = {}
        for match in filter(None, map(SAMPLE.match, text.splitlines())):
            name, labels, value = match[1], LABEL.findall(match[2] or ""), float(match[3])
            self.values[name, frozenset(labels)] = value
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            family = family if family in self.types else name
            self.labels[family] |= {label for label, _ in labels} - {"le"}
            bound = dict(labels).get("le")
            if bound is not None and bound not in self.bounds.setdefault(family, []):
                self.bounds[family].append(bound)

    def value(self, name: str, **labels: str) -> float:
        return self.values.get((name, frozenset(labels.items())), 0.0)


def fetch(port: int, token: str) -> Metrics:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    url = f"https://127.0.0.1:{port}/metrics"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=20, context=context) as answer:
        return Metrics(answer.read().decode())


def settled(port: int, token: str) -> Metrics:
    """The page once the gauges are up to date: both schedulers see to that now and then."""
    wait_until(lambda: fetch(port, token).value("scheduler_cache_size", type="nodes") == 2, "gauges are up to date")
    return fetch(port, token)


def port_of(program: Program) -> int:
    words = Path(f"/proc/{program.pid}/cmdline").read_text().split("\0")
    (port,) = [word.partition("=")[2] for word in words if word.startswith("--secure-port=")]
    return int(port)


def pod(name: str, namespace: str, scheduler: str, cpu: str, **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def work(control_plane: ControlPlane, namespace: str, scheduler: str) -> None:
    """Pods that fit, one that never will, one that waits behind a gate, and one that needs room."""
    api = control_plane.api()
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts}
    for name in ("a", "b"):
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})

    def state(name: str) -> str:
        found = api.get("Pod", name, namespace)
        reasons = [each.get("reason", "") for each in found["status"].get("conditions", [])]
        return "bound" if found["spec"].get("nodeName") else "".join(reasons)

    for number in range(4):
        api.create(pod(f"fits-{number}", namespace, scheduler, "1500m"))
        wait_until(lambda name=f"fits-{number}": state(name) == "bound", "it is bound")  # type: ignore[misc]
    api.create(pod("gated", namespace, scheduler, "1", schedulingGates=[{"name": "example.com/wait"}]))
    api.create(pod("huge", namespace, scheduler, "100"))
    wait_until(lambda: state("huge") == "Unschedulable", "it is refused")
    api.create(pod("urgent", namespace, scheduler, "1500m", priorityClassName="system-cluster-critical"))

    def evicted() -> bool:
        left = [each for each in api.items("Pod", namespace) if each["metadata"]["name"].startswith("fits-")]
        return len(left) < 4 or any(each["metadata"].get("deletionTimestamp") for each in left)

    wait_until(evicted, "somebody makes room")


@pytest.mark.slow
def test_metrics_are_kube_schedulers(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    token = control_plane.token("admin")
    kube = control_plane.start_kube_scheduler({"profiles": [{"schedulerName": "s"}]})
    work(control_plane, namespace, "s")
    theirs = settled(port_of(kube), token)
    kube.kill()
    control_plane.clear()

    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": "s"}],
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [sys.executable, "-m", "fairway", "run", f"--config={tmp_path / 'config.yaml'}", f"--secure-port={port}"]
    environment = {"PYTHONPATH": str(SOURCES), "KUBECONFIG": "", "HOME": os.devnull}
    flags = [f"--kubeconfig={control_plane.kubeconfig()}"]
    fairway = Program([*command, *flags], tmp_path / "fairway.log", environment)
    try:
        fairway.wait_until(lambda: "in sync" in fairway.output(), "it knows the cluster")
        work(control_plane, namespace, "s")
        ours = settled(port, token)
    finally:
        fairway.kill()

    families = {name for name in theirs.types if name.startswith(("scheduler_", "rest_client_request"))} - NOT_OURS
    assert len(families) > 20
    assert families - set(ours.types) == set()
    assert {name: ours.types[name] for name in families} == {name: theirs.types[name] for name in families}
    told = [name for name in families if name in ours.labels]
    assert {name: ours.labels[name] for name in told} == {name: theirs.labels[name] for name in told}
    assert {name: ours.bounds.get(name) for name in told} == {name: theirs.bounds.get(name) for name in told}
    silent = families - set(told)
    assert silent <= SILENT
    for name, labels in SAME:
        assert (name, labels, ours.value(name, **labels)) == (name, labels, theirs.value(name, **labels))


SILENT: Final = {
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_inflight_events",
    "rest_client_request_size_bytes",
}
"""Families that are there without samples: Fairway has no batching, and does not measure everything."""

SAME: Final[list[tuple[str, dict[str, str]]]] = [
    ("scheduler_schedule_attempts_total", {"profile": "s", "result": "scheduled"}),
    ("scheduler_pod_scheduling_attempts_count", {}),
    ("scheduler_pod_scheduling_attempts_sum", {}),
    ("scheduler_pod_scheduling_sli_duration_seconds_count", {"attempts": "1"}),
    ("scheduler_pending_pods", {"queue": "gated"}),
    ("scheduler_pending_pods", {"queue": "active"}),
    ("scheduler_unschedulable_pods", {"plugin": "SchedulingGates", "profile": "s"}),
    ("scheduler_preemption_victims_count", {}),
    ("scheduler_preemption_victims_sum", {}),
    ("scheduler_cache_size", {"type": "nodes"}),
    ("scheduler_queue_incoming_pods_total", {"event": "UnschedulablePodAdd", "queue": "active"}),
    ("scheduler_queue_incoming_pods_total", {"event": "UnschedulablePodAdd", "queue": "unschedulable"}),
]
"""What both have to count alike."""
