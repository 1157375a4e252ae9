"""Leader election on a real API server: hand-over, a frozen leader, and a lease shared with kube-scheduler itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, wait_until

SOURCES: Final = Path(__file__).parents[2] / "src"
PERIODS: Final = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}


class Replicas:
    """Schedulers that share a lease."""

    def __init__(self, control_plane: ControlPlane, namespace: str, directory: Path) -> None:
        self.control_plane = control_plane
        self.namespace = namespace
        self.election = {"leaderElect": True, "resourceNamespace": namespace, "resourceName": "shared", **PERIODS}
        self._directory = directory
        self._programs: list[Program] = []

    def start(self) -> Program:
        number = len(self._programs)
        header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        profiles = {"profiles": [{"schedulerName": "fairway"}]}
        file = self._directory / f"{number}.yaml"
        file.write_text(yaml.safe_dump({**header, **profiles, "leaderElection": self.election}))
        command = [sys.executable, "-m", "fairway", "run", f"--config={file}", "--secure-port=0"]
        kubeconfig = f"--kubeconfig={self.control_plane.kubeconfig(f'replica-{number}', token=self._token())}"
        environment = {"PYTHONPATH": str(SOURCES), "KUBECONFIG": ""}
        program = Program([*command, kubeconfig], self._directory / f"{number}.log", environment)
        self._programs.append(program)
        return program

    def _token(self) -> str:
        return self.control_plane.token("admin")

    def kill(self) -> None:
        for program in self._programs:
            program.kill()

    @property
    def lease(self) -> Json:
        leases = self.control_plane.api().items("Lease", self.namespace)
        return dict(leases[0]["spec"]) if leases else {}

    @property
    def holder(self) -> str:
        return str(self.lease.get("holderIdentity", ""))

    def create(self, name: str, **spec: Any) -> None:
        container = {"name": "c", "image": "i"}
        self.control_plane.api().create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"schedulerName": "fairway", "containers": [container], **spec},
            }
        )

    def wait_bound(self, name: str) -> None:
        def bound() -> bool:
            return bool(self.control_plane.api().get("Pod", name, self.namespace)["spec"].get("nodeName"))

        wait_until(bound, f"{name} is bound")

    def bindings(self) -> list[tuple[str, int]]:
        """By name, in order: pods that somebody asked to bind, and what came of it."""
        return [
            (record["objectRef"]["name"], record["responseStatus"]["code"])
            for record in self.control_plane.audit_records()
            if (record.get("objectRef") or {}).get("subresource") == "binding"
            and record["objectRef"]["namespace"] == self.namespace
        ]


@pytest.fixture
def replicas(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Replicas]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "100"}
    status = {"allocatable": amounts, "capacity": amounts}
    control_plane.api().create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status})
    made = Replicas(control_plane, namespace, tmp_path)
    yield made
    made.kill()


@pytest.mark.slow
def test_one_of_two_schedules_and_hands_over(replicas: Replicas) -> None:
    first = replicas.start()
    first.wait_until(lambda: replicas.holder != "", "the first leads")
    holder = replicas.holder
    second = replicas.start()
    second.wait_until(lambda: "the leader is" in second.output(), "the second stands by")
    replicas.create("one")
    replicas.wait_bound("one")
    assert replicas.holder == holder
    assert first.stop() == 0
    wait_until(lambda: replicas.holder not in ("", holder), "the second leads")
    assert replicas.lease["leaseTransitions"] == 1
    replicas.create("two")
    replicas.wait_bound("two")
    assert replicas.bindings() == [("one", 201), ("two", 201)]
    assert second.stop() == 0
    assert replicas.holder == ""
    messages = [
        event["note"].split(" ", 1)[1]
        for event in replicas.control_plane.api().items("Event", replicas.namespace)
        if event["reason"] == "LeaderElection"
    ]
    assert messages == ["became leader"] * 2


@pytest.mark.slow
def test_thawed_leader_binds_nothing_and_ends(replicas: Replicas) -> None:
    first = replicas.start()
    first.wait_until(lambda: replicas.holder != "", "the first leads")
    holder = replicas.holder
    second = replicas.start()
    second.wait_until(lambda: "the leader is" in second.output(), "the second stands by")
    first.freeze()
    replicas.create("while-frozen")
    replicas.wait_bound("while-frozen")
    assert replicas.holder != holder
    for number in range(20):
        replicas.create(f"later-{number}")
    first.thaw()  # it finds news of twenty pods, and a lease that has run out
    assert first.exit_code() == 1
    for number in range(20):
        replicas.wait_bound(f"later-{number}")
    found = replicas.bindings()
    assert sorted(name for name, _ in found) == sorted(["while-frozen", *(f"later-{number}" for number in range(20))])
    assert {code for _, code in found} == {201}
    assert "lost the lease" in first.output()


@pytest.mark.slow
def test_lease_is_shared_with_kube_scheduler(replicas: Replicas) -> None:
    config = {"leaderElection": replicas.election, "profiles": [{"schedulerName": "fairway"}]}
    kubeconfig = replicas.control_plane.kubeconfig("admin")
    kube = replicas.control_plane.start_kube_scheduler(config, kubeconfig=kubeconfig)
    kube.wait_until(lambda: replicas.holder != "", "kube-scheduler leads")
    holder = replicas.holder
    ours = replicas.start()
    ours.wait_until(lambda: "the leader is" in ours.output(), "Fairway stands by")
    replicas.create("one")
    replicas.wait_bound("one")
    assert replicas.holder == holder
    kube.kill()
    wait_until(lambda: replicas.holder not in ("", holder), "Fairway leads")
    replicas.create("two")
    replicas.wait_bound("two")
    kube = replicas.control_plane.start_kube_scheduler(config, kubeconfig=kubeconfig)
    assert ours.stop() == 0
    wait_until(lambda: replicas.holder != "" and replicas.lease["leaseTransitions"] == 2, "kube-scheduler leads again")
    replicas.create("three")
    replicas.wait_bound("three")
    assert replicas.bindings() == [("one", 201), ("two", 201), ("three", 201)]
