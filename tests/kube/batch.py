"""Queues of jobs, for tests on a real API server: how objects of ours are written, and what became of jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from deploy.crds import definitions
from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.group_kinds import defined
from tests.kube.jobs import PATIENCE, plain
from tests.kube.processes import Program, wait_until

__all__ = [
    "CONFIGURATION",
    "MERGE",
    "VERSION",
    "batch_kinds",
    "events_of",
    "job",
    "later",
    "let_go",
    "node",
    "order",
    "ours",
    "queue",
    "start",
    "state_of",
    "status_of",
    "until",
]

VERSION: Final = "fairway.dev/v1alpha1"
MERGE: Final = "application/merge-patch+json"
CONFIGURATION: Final[Json] = {"profiles": [{"schedulerName": "default-scheduler"}]}


@contextmanager
def batch_kinds(plane: ControlPlane) -> Iterator[Api]:
    """Let the server have our kinds, as long as a test wants."""
    api = plane.api()
    with defined(api, *definitions()):
        try:
            yield api
        finally:
            plane.stop_others()
            for each in api.items("JobRecord"):
                let_go(api, each)


def let_go(api: Api, record: Json) -> None:
    meta = record["metadata"]
    path = f"/apis/{VERSION}/namespaces/{meta['namespace']}/jobrecords/{meta['name']}"
    api.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type="application/merge-patch+json")


def node(name: str, cpu: str = "2") -> Json:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def ours(kind: str, name: str, **spec: Any) -> Json:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def queue(name: str = "batch", **spec: Any) -> Json:
    return ours("Queue", name, schedulerName="default-scheduler", **spec)


def job(name: str, namespace: str, queue: str = "batch", cpu: str = "1", runs: str = "", **said: str) -> Json:
    annotations = {"fairway.dev/queue": queue} | {f"fairway.dev/{key.replace('_', '-')}": said[key] for key in said}
    if runs:
        annotations["fairway.test/runs-for"] = runs
    made = plain(name, namespace, annotations=annotations)
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    made["spec"]["terminationGracePeriodSeconds"] = 1
    return made


def status_of(api: Api, name: str, namespace: str) -> Json:
    records = {each["metadata"]["name"]: each for each in api.items("JobRecord", namespace)}
    status: Json = records.get(name, {}).get("status", {})
    return status


def state_of(api: Api, name: str, namespace: str) -> tuple[str, str]:
    status = status_of(api, name, namespace)
    return status.get("state", ""), status.get("reason", "")


def until(api: Api, name: str, namespace: str, state: str, reason: str = "") -> None:
    wait_until(lambda: state_of(api, name, namespace) == (state, reason), f"{name} is {state} {reason}", PATIENCE)


def start(plane: ControlPlane, *flags: str) -> Program:
    return plane.start_fairway(CONFIGURATION, kubeconfig=plane.kubeconfig(), flags=flags)


def events_of(api: Api, namespace: str, reason: str) -> list[str]:
    found = api.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events").get("items", [])
    return [each["note"] for each in found if each["reason"] == reason]


def order(api: Api, name: str, namespace: str, **spec: Any) -> None:
    """As an operator says it."""
    path = f"/apis/{VERSION}/namespaces/{namespace}/jobrecords/{name}"
    api.request("PATCH", path, {"spec": spec}, content_type=MERGE)


def later(seconds: float) -> str:
    return (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
