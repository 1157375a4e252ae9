"""Fairway and kube-scheduler in turn on the same real API server: how many pods a second are bound, at what cost?

For each size the nodes are made, then for each scheduler: the pods, all of them waiting; the scheduler is started, and
the time from the first binding to the last is taken, as a watch sees them, with the processor time that the scheduler
itself took meanwhile. kube-scheduler may send 5,000 requests a second. Then pods come at 20 a second, and the time from
sending a pod's creation to seeing it bound is taken. Everything runs on this machine, so other work on it shows.

    python benchmarks/live.py                  both sizes, then the latency
    python benchmarks/live.py 1000 latency     some of it

Programs are built first if need be (tests/kube). Exit code 1 if a target is missed. Called by `make bench-live`.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from fairway.bench.workloads import make_workload
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, wait_until

SIZES = {1000: 3000, 5000: 10000}
"""Nodes, and pods for them."""
ROUNDS = {1000: 2, 5000: 1}
"""How often each scheduler has its turn; its best one counts, as whatever disturbs a run makes it slower."""
RATIO = 2.0
"""The target: so many times kube-scheduler's rate."""
ARRIVALS_PER_SECOND = 20
ARRIVALS = 600
P99_MS = 50.0
START: dict[str, Callable[[ControlPlane], Program]] = {
    "kube-scheduler": ControlPlane.start_kube_scheduler,
    "fairway": ControlPlane.start_fairway,
}


class Throughput(NamedTuple):
    """What a scheduler did with very many waiting pods."""

    pods_per_second: float
    cpu_ms_per_pod: float

    def __str__(self) -> str:
        return f"{self.pods_per_second:7.1f} pods/s {self.cpu_ms_per_pod:5.2f} ms CPU/pod"


class BoundPods:
    """A watch of bound pods, metadata only: when was each first seen?

    A server ends the watch of a client that is slow to read, as this one is on a busy machine; then it watches anew,
    beginning with all that are bound by then. One that can not be reached is asked again until the end.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        self.times: dict[str, float] = {}
        self._control_plane = control_plane
        self._over = threading.Event()
        self._watch()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the watch."""
        self._over.set()
        if self._connection.sock:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _watch(self) -> None:
        context = ssl.create_default_context(cafile=str(self._control_plane.ca_file))
        self._connection = http.client.HTTPSConnection("127.0.0.1", self._control_plane.port, context=context)
        query = "watch=true&allowWatchBookmarks=false&fieldSelector=spec.nodeName!%3D"
        headers = {
            "Authorization": f"Bearer {self._control_plane.token()}",
            "Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        }
        self._connection.request("GET", f"/api/v1/pods?{query}", headers=headers)
        self._response = self._connection.getresponse()

    def _read(self) -> None:
        while not self._over.is_set():
            line = self._line()
            if line:
                now = perf_counter()
                event = json.loads(line)
                if event["type"] == "ADDED":
                    self.times.setdefault(event["object"]["metadata"]["name"], now)
            elif not self._over.is_set():
                self._connection.close()
                try:
                    self._watch()
                except (OSError, http.client.HTTPException):
                    self._over.wait(0.1)

    def _line(self) -> bytes:
        try:
            return self._response.readline()
        except (OSError, ValueError, http.client.HTTPException):
            return b""


def throughput(control_plane: ControlPlane, name: str, pods: Sequence[Any]) -> Throughput:
    """Let a scheduler bind pods that wait already."""
    control_plane.api().create_all(pods)
    bound = BoundPods(control_plane)
    scheduler = START[name](control_plane)
    scheduler.wait_until(lambda: bool(bound.times), "the first pod is bound", 300)
    before = scheduler.cpu_seconds()
    scheduler.wait_until(lambda: len(bound.times) == len(pods), "all pods are bound", 1800)
    cpu = scheduler.cpu_seconds() - before
    scheduler.stop()
    bound.close()
    seconds = max(bound.times.values()) - min(bound.times.values())
    clear_pods(control_plane)
    return Throughput(len(pods) / seconds, 1000 * cpu / len(pods))


def latencies(control_plane: ControlPlane, name: str, pods: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Milliseconds from sending each pod's creation to seeing it bound, with pods coming at a steady pace."""
    bound = BoundPods(control_plane)
    scheduler = START[name](control_plane)
    created: dict[str, float] = {}
    begun = perf_counter()
    for number, pod in enumerate(pods):
        sleep(max(0.0, begun + number / ARRIVALS_PER_SECOND - perf_counter()))
        created[pod["metadata"]["name"]] = perf_counter()
        control_plane.api().create(pod)
    wait_until(lambda: len(bound.times) == len(pods), "all pods are bound", 300)
    scheduler.stop()
    bound.close()
    clear_pods(control_plane)
    return 1000 * np.array([bound.times[each] - created[each] for each in created])


def workload(nodes: int, pods: int) -> tuple[list[Any], list[Any]]:
    """Nodes, and plain pods without a controller; as an API server takes them."""
    made = make_workload(nodes, pods, "plain", num_newcomers=0)
    machines = [each for each in map(json.loads, made.objects) if each["kind"] == "Node"]
    plain = list(map(json.loads, made.pods))
    for each in (*machines, *plain):
        metadata = each["metadata"]
        each["metadata"] = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    for each in plain:
        for field in ("priority", "preemptionPolicy", "tolerations"):
            del each["spec"][field]
        del each["status"]
    return machines, plain


def clear_pods(control_plane: ControlPlane) -> None:
    """Make the nodes empty again."""
    for kind in ("Pod", "Event"):
        control_plane.api().delete_all(kind)
    wait_until(lambda: not control_plane.api().items("Pod", limit="1"), "no pod is left")


@contextmanager
def cluster(nodes: Sequence[Any]) -> Iterator[ControlPlane]:
    """A control plane with nodes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fairway-live-", dir=memory if memory.is_dir() else None) as directory:
        control_plane = ControlPlane(Path(directory))
        try:
            control_plane.start()
            control_plane.api().create_all(nodes)
            yield control_plane
        finally:
            control_plane.stop()


def measure_throughput(num_nodes: int) -> bool:
    """Print a size's line; whether the target is met."""
    nodes, pods = workload(num_nodes, SIZES[num_nodes])
    with cluster(nodes) as control_plane:
        rounds = [{name: throughput(control_plane, name, pods) for name in START} for _ in range(ROUNDS[num_nodes])]
    found = {name: max(each[name] for each in rounds) for name in START}
    ratio = found["fairway"].pods_per_second / found["kube-scheduler"].pods_per_second
    rates = ", ".join(f"{name} {found[name]}" for name in ("fairway", "kube-scheduler"))
    print(f"{num_nodes} nodes, {len(pods)} pods: {rates}, ratio {ratio:.2f}", flush=True)
    return ratio >= RATIO


def measure_latency() -> bool:
    """Print the latencies' line; whether the target is met."""
    nodes, pods = workload(1000, ARRIVALS)
    with cluster(nodes) as control_plane:
        found = {name: latencies(control_plane, name, pods) for name in START}
    words = []
    for name in ("fairway", "kube-scheduler"):
        p50, p99 = np.percentile(found[name], [50, 99])
        words.append(f"{name} p50 {p50:.1f} ms p99 {p99:.1f} ms")
    print(f"1000 nodes, {ARRIVALS_PER_SECOND} pods/s, creation to binding: {', '.join(words)}", flush=True)
    return bool(np.percentile(found["fairway"], 99) <= P99_MS)


def main(arguments: Sequence[str]) -> int:
    """Measure what is named, or everything."""
    tasks: dict[str, Callable[[], bool]] = {}
    for num_nodes in SIZES:
        tasks[str(num_nodes)] = lambda size=num_nodes: measure_throughput(size)  # type: ignore[misc]
    tasks["latency"] = measure_latency
    unknown = [name for name in arguments if name not in tasks]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(tasks)}", file=sys.stderr)
        return 2
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"the machine is busy (load {load:.1f} on {cores} cores): expect less than it can do", file=sys.stderr)
    missed = [name for name in arguments or tasks if not tasks[name]()]
    if missed:
        print(f"targets (ratio {RATIO:g}, p99 {P99_MS:g} ms) are missed by: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
