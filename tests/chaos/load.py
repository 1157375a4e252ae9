"""The load: nodes, and pods that want slightly more than the nodes have, coming over some seconds.

In: a size and a generator of chance. Out: nodes and pods as JSON, and `Arrivals`, which creates pods in the background
while something else goes wrong. A little more is asked for than there is, so that a place that is lost, or given twice,
shows at once. Used by `stage` and the kinds.
"""

from __future__ import annotations

import http.client
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple, Self

from numpy.random import Generator

from tests.kube.api import Api, ApiError, Json

__all__ = ["CROWDING", "ZONES", "Arrivals", "Size", "make_node", "make_pod", "num_nodes_for", "persist"]

NODE_CPU, NODE_MEMORY, NODE_PODS = 2000, 3072, 40
CPU: Final = (50, 100, 100, 150, 200)
MEMORY: Final = (32, 64, 128, 192)
PORTS: Final = (8080, 8081)
ZONES: Final = ("a", "b", "c")
CROWDING: Final = 1.03
"""How much more is asked for than there is."""
NUM_SENDERS: Final = 6


class Size(NamedTuple):
    """How much of everything."""

    num_pods: int  # in a round
    seconds: float  # over which they come
    num_rounds: int = 1


def num_nodes_for(num_pods: int) -> int:
    """Nodes that are not quite enough for so many pods."""
    return max(2, math.floor(num_pods * sum(CPU) / len(CPU) / NODE_CPU / CROWDING))


def make_node(number: int) -> Json:
    """A node; all are equally large, in zones by turns."""
    amounts = {"cpu": f"{NODE_CPU}m", "memory": f"{NODE_MEMORY}Mi", "pods": str(NODE_PODS)}
    name = f"node-{number:03}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": ZONES[number % len(ZONES)]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Chaos"}],
        },
    }


def make_pod(name: str, namespace: str, rng: Generator, labels: Json | None = None, **spec: Any) -> Json:
    """A pod of some size; a few want a host port."""
    requests = {"cpu": f"{rng.choice(CPU)}m", "memory": f"{rng.choice(MEMORY)}Mi"}
    container: Json = {"name": "main", "image": "example/image", "resources": {"requests": requests}}
    if rng.random() < 0.03:
        port = int(rng.choice(PORTS))
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "chaos", **(labels or {})}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


def persist(attempt: Callable[[], Any], seconds: float = 60) -> int:
    """Do it in spite of restarts and busy servers; 0, or the status with which the server refused it for good."""
    end = time.monotonic() + seconds
    while True:
        try:
            attempt()
        except ApiError as error:
            if error.status != 429 and error.status < 500:
                return error.status
            if time.monotonic() > end:
                raise
        except (OSError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
        else:
            return 0
        time.sleep(0.2)


class Arrivals:
    """Pods on their way into the cluster, from a thread of their own."""

    def __init__(self, api: Api, pods: Sequence[Json], seconds: float) -> None:
        self.num_created = 0
        self._api = api
        self._pods = pods
        self._seconds = seconds
        self._creations: list[Future[None]] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send, name="chaos-arrivals", daemon=True)

    @property
    def are_coming(self) -> bool:
        """There are more to come."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(timeout=600)
        if self._thread.is_alive():
            self._is_over.set()
            raise TimeoutError(f"only {self.num_created} of {len(self._pods)} pods could be created in ten minutes")

        for creation in self._creations:
            creation.result()  # what went wrong in the thread goes wrong here

    def _send(self) -> None:
        begun = time.monotonic()
        with ThreadPoolExecutor(NUM_SENDERS) as senders:
            for number, pod in enumerate(self._pods):
                wait = begun + self._seconds * number / len(self._pods) - time.monotonic()
                if self._is_over.wait(max(0.0, wait)):
                    return
                self._creations.append(senders.submit(self._create, pod))

    def _create(self, pod: Json) -> None:
        if persist(lambda: self._api.create(pod)) == 0:  # else its namespace is going, or it is there already
            self.num_created += 1
