"""A control plane as upstream's specs need it: controllers at work, and nodes that look real.

In: a directory for its files. Out: a `Cluster`: an API server with all its admission, kube-controller-manager, four
nodes in two zones whose kubelets are KWOK (`stages`), and one scheduler, which serves `default-scheduler`. Called by
`run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from tests.e2e.stages import STORAGE_CLASS, stages
from tests.kube.build import kubernetes, program
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port, wait_until

__all__ = ["SCHEDULERS", "Cluster"]

NUM_NODES: Final = 4
CAPACITY: Final = {
    "cpu": "8",
    "memory": "32Gi",
    "ephemeral-storage": "100Gi",
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    "pods": "110",
}


class Cluster(ControlPlane):
    """A control plane with controllers, nodes and, later, a scheduler."""

    no_admission: ClassVar[Sequence[str]] = ()  # the controllers do what admission counts on

    def start(self) -> None:
        """Start all but the scheduler, and wait until the nodes are ready for pods."""
        super().start()
        self._start_controllers()
        self.api().create_all([STORAGE_CLASS, *map(_node, range(NUM_NODES))])
        kubelets = self._start_kubelets()
        kubelets.wait_until(
            lambda: len(self.api().items("Lease", "kube-node-lease")) == NUM_NODES, "nodes are kept", 120
        )
        self.api().create_all(
            map(_system_pod, range(NUM_NODES))
        )  # KWOK may overlook a pod of a node it does not keep yet
        kubelets.wait_until(self._is_settled, "nodes are without taints and their pods run", 120)

    def start_scheduler(self, name: str) -> Program:
        """One of `SCHEDULERS`, in its default configuration."""
        return SCHEDULERS[name](self)

    def _is_settled(self) -> bool:
        has_taints = any(node["spec"].get("taints") for node in self.api().items("Node"))
        return not has_taints and all(pod["status"]["phase"] == "Running" for pod in self.api().items("Pod"))

    def _wait_for_service_account(self, namespace: str) -> None:
        """Pods are refused before their namespace has its default account."""

        def exists() -> bool:
            accounts = self.api().items("ServiceAccount", namespace)
            return any(account["metadata"]["name"] == "default" for account in accounts)

        wait_until(exists, f"{namespace} has its service account", 120)

    def _start_controllers(self) -> None:
        port, kubeconfig = free_port(), self.kubeconfig()
        controllers = Program(
            [
                program("kube-controller-manager"),
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                "--leader-elect=false",
                f"--service-account-private-key-file={self._signing_key}",
                f"--root-ca-file={self.ca_file}",
                "--node-monitor-grace-period=2m",  # a busy machine is slow to renew leases
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
                "--concurrent-namespace-syncs=20",
            ],
            self.directory / "controllers.log",
        )
        self._others.append(controllers)
        for namespace in ("default", "kube-system"):
            self._wait_for_service_account(namespace)

    def _start_kubelets(self) -> Program:
        configuration = self.directory / "kubelets.yaml"
        configuration.write_text(stages())
        kubelets = Program(
            [
                program("kwok"),
                f"--kubeconfig={self.kubeconfig()}",
                f"--config={configuration}",
                "--manage-all-nodes=true",
                "--node-lease-duration-seconds=40",
                "--cidr=10.1.0.0/16",
            ],
            self.directory / "kubelets.log",
        )
        self._others.append(kubelets)
        return kubelets


SCHEDULERS: Final[dict[str, Callable[[Cluster], Program]]] = {
    "kube-scheduler": Cluster.start_kube_scheduler,
    "fairway": Cluster.start_fairway,
}
"""The one that is the measure, and the one that is measured."""


def _node(number: int) -> dict[str, Any]:
    name, now = f"node-{number}", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % 2}",
        "topology.kubernetes.io/region": "region",
    }
    conditions = [
        {"type": "Ready", "status": "True", "reason": "KubeletReady"},
        *({"type": f"{what}Pressure", "status": "False", "reason": "Fine"} for what in ("Memory", "Disk", "PID")),
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"podCIDR": f"10.1.{number}.0/24", "podCIDRs": [f"10.1.{number}.0/24"]},
        "status": {
            "capacity": CAPACITY,
            "allocatable": CAPACITY,
            "conditions": [{**each, "lastHeartbeatTime": now, "lastTransitionTime": now} for each in conditions],
            "addresses": [
                {"type": "InternalIP", "address": f"10.2.0.{number + 1}"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": kubernetes(),
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "kwok://0",
                "kernelVersion": "",
                "osImage": "",
                "bootID": "",
                "machineID": "",
                "systemUUID": "",
            },
        },
    }


def _system_pod(number: int) -> dict[str, Any]:
    """Many specs wait for a minute if a node has no pods of these names (test/e2e/framework/node/wait.go)."""
    name = f"kube-proxy-fluentd-elasticsearch-node-problem-detector-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "nodeName": f"node-{number}",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "pause", "image": "pause"}],
        },
    }
