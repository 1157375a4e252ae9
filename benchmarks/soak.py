"""A live scheduler under churn, for minutes: do its memory and its answers stay as they were?

Pods and nodes of a real API server come and go, 50 events a second: pods are created and deleted, nodes are added,
removed and relabelled. No two pods are alike, and no two nodes that come: each has labels, an owner, a selector and
resources of its own (`--alike` leaves these out, `--unlike KIND ...` chooses). Every second the scheduler's memory is
read; for every pod the time from sending its creation to seeing it bound. The scheduler remembers a bounded number of
classes, selectors and amounts, which some 10,000 pods fill: the first minutes are for warming up. Of what follows, the
last third is compared with the first.

    python benchmarks/soak.py              ten minutes of warming up, then fifteen
    python benchmarks/soak.py --minutes 60
    python benchmarks/soak.py --unlike labels owners

Exit code 1 if memory or latency has grown. Called by `make soak`.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from live import BoundPods, cluster, workload

from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program

EVENTS_PER_SECOND = 50
NODES = 200
PODS_ALIVE = 1000
"""Older pods are deleted."""
MEMORY_GROWTH = 1.05
LATENCY_GROWTH = 1.5
"""How much more is still flat, of the median; machines are not quiet."""
MIB = 1 << 20


def _labels(pod: Any, number: int) -> None:
    pod["metadata"]["labels"] = {**pod["metadata"].get("labels", {}), f"key-{number}": "x", "job": f"job-{number}"}


def _owners(pod: Any, number: int) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"job-{number}", "uid": f"uid-{number}"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def _selectors(pod: Any, number: int) -> None:
    """All of them can be met: a pod that can not be placed tells nothing about latency."""
    lines = [
        {"key": f"absent-{number}", "operator": "DoesNotExist"},
        {"key": "generation", "operator": "NotIn", "values": [f"x{number}"]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": lines}]}
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": f"job-{number}"}}}
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
    }


def _resources(pod: Any, number: int) -> None:
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{1 + number % 997}m", "memory": f"{number}Ki"}}


HOST = "kubernetes.io/hostname"
UNLIKE: dict[str, Callable[[Any, int], None]] = {
    "labels": _labels,
    "owners": _owners,
    "selectors": _selectors,
    "resources": _resources,
}
"""What pods may differ in."""


@dataclass
class Churn:
    """What comes and goes."""

    control_plane: ControlPlane
    pod: Any  # the one that all are copies of
    node: Any
    unlike: Sequence[str] = ()
    alive: deque[str] = field(default_factory=deque)
    extra_nodes: deque[str] = field(default_factory=deque)
    created: dict[str, float] = field(default_factory=dict)
    vain: str = ""  # the latest pod that can not be placed

    def step(self, number: int) -> None:
        """One event: of ten, four pods come, four go, and two are about nodes."""
        api = self.control_plane.api()
        turn = number % 10
        if turn in (0, 2, 4, 6):
            name = f"pod-{number:07}"
            self.alive.append(name)
            pod = copy.deepcopy(self.pod)
            pod["metadata"]["name"] = name
            for kind in self.unlike:
                UNLIKE[kind](pod, number)
            if turn == 6 and "resources" in self.unlike:
                self._try_in_vain(number)
            self.created[name] = perf_counter()
            api.create(pod)
        elif turn in (1, 3, 5, 7):
            if len(self.alive) > PODS_ALIVE:
                api.delete("Pod", self.alive.popleft(), "default")
        elif turn == 8:
            label = {"metadata": {"labels": {"generation": str(number)}}}
            api.patch("Node", f"node-{number // 10 % NODES:05}", None, label)
        elif len(self.extra_nodes) > 10:
            api.delete("Node", self.extra_nodes.popleft())
        else:
            name = f"extra-{number:07}"
            self.extra_nodes.append(name)
            taints = [{"key": "fleeting", "effect": "NoSchedule"}]  # pods would be lost with it
            labels = {HOST: name, **({f"label-{number}": "x"} if "labels" in self.unlike else {})}
            api.create({**self.node, "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}})

    def _try_in_vain(self, number: int) -> None:
        """A pod that asks for what no node has, and the one before it goes."""
        api = self.control_plane.api()
        pod = copy.deepcopy(self.pod)
        pod["metadata"]["name"] = f"vain-{number:07}"
        amounts = {f"example.com/r{number}": "1"}
        pod["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
        pod["spec"]["nodeSelector"] = {f"nobody-{number}": "x"}
        api.create(pod)
        if self.vain:
            api.delete("Pod", self.vain, "default")
        self.vain = pod["metadata"]["name"]


def soak(control_plane: ControlPlane, scheduler: Program, churn: Churn, seconds: float) -> tuple[Any, Any]:
    """Memory by second, and latency by pod in the order in which they came."""
    bound = BoundPods(control_plane)
    memory: list[float] = []
    begun = perf_counter()
    number = 0
    while perf_counter() - begun < seconds:
        churn.step(number)
        number += 1
        if number % EVENTS_PER_SECOND == 0:
            memory.append(scheduler.resident_bytes() / MIB)
        sleep(max(0.0, begun + number / EVENTS_PER_SECOND - perf_counter()))
    achieved = number / (perf_counter() - begun)
    print(f"{number} events, {achieved:.1f} a second, {len(churn.created)} pods created", flush=True)
    sleep(2)
    latency = [1000 * (bound.times[name] - when) for name, when in churn.created.items() if name in bound.times]
    unbound = len(churn.created) - len(latency)
    if unbound > EVENTS_PER_SECOND:
        sys.exit(f"{unbound} pods were never bound")
    return np.array(memory), np.array(latency)


def thirds(values: Any, warm_up: float) -> tuple[Any, Any]:
    """The first and the last of what came after warming up, which takes this share of all."""
    parts = np.array_split(values[int(warm_up * len(values)) :], 3)
    return parts[0], parts[2]


def main(arguments: Sequence[str]) -> int:
    """Soak, and say whether everything stayed flat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=15, help="how long, after warming up")
    parser.add_argument("--warm-up", type=float, default=10, metavar="MINUTES")
    parser.add_argument("--unlike", nargs="*", choices=UNLIKE, default=list(UNLIKE), help="what pods differ in; all")
    parser.add_argument("--alike", action="store_true", help="all pods are copies of one")
    options = parser.parse_args(arguments)
    seconds = 60 * (options.warm_up + options.minutes)
    warm_up = 60 * options.warm_up / seconds
    unlike = () if options.alike else options.unlike
    nodes, pods = workload(NODES, 1)
    with cluster(nodes) as control_plane:
        scheduler = control_plane.start_fairway()
        memory, latency = soak(control_plane, scheduler, Churn(control_plane, pods[0], nodes[0], unlike), seconds)
    each_minute = " ".join(f"{part:.0f}" for part in memory[::60])
    print(f"memory by minute, MiB: {each_minute}")
    then, now = (np.median(part) for part in thirds(memory, warm_up))
    print(f"memory: {then:.1f} MiB, then {now:.1f} MiB (ratio {now / then:.2f}, at most {MEMORY_GROWTH})")
    before, after = (np.percentile(part, [50, 99]) for part in thirds(latency, warm_up))
    ratio = after[0] / before[0]
    words = f"p50 {before[0]:.1f} p99 {before[1]:.1f} ms, then p50 {after[0]:.1f} p99 {after[1]:.1f} ms"
    print(f"creation to binding: {words} (ratio of p50 {ratio:.2f}, at most {LATENCY_GROWTH})")
    return 1 if now > MEMORY_GROWTH * then or ratio > LATENCY_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
