"""The worst pods that an API server accepts, to Fairway and kube-scheduler in turn: what do they cost whom?

Nodes are made on a real API server; each scheduler binds a first pod and is then sent, kind after kind
(tests/worst_pods.py), a few unlike pods that say as much of one thing as fits into an object, and right behind them an
ordinary pod. Taken are the time from sending the ordinary pod's creation to seeing it bound, the most memory the
scheduler ever had, and how long its /healthz took to answer meanwhile. Pods of a kind are deleted before the next. A
wait that is short is taken three times, with other pods of the kind, and the shortest counts: API server, etcd and
both schedulers share the machine's cores with whatever else runs there.

    python benchmarks/worst_pods.py                         everything, on 5,000 nodes
    python benchmarks/worst_pods.py --nodes 1000 labels     less of it

Exit code 1 if Fairway takes more than twice kube-scheduler's memory, lets the next pod after any kind wait longer than
kube-scheduler does (but for `ALLOWANCE_SECONDS`), or lets a probe wait for more than a second or fail.
"""

from __future__ import annotations

import argparse
import ssl
import sys
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from live import START, BoundPods, clear_pods, cluster, workload

from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, wait_until
from tests.worst_pods import WORST

PODS_OF_A_KIND = 3
ROUNDS = 3
SHORT_SECONDS = 2.0
"""Waits below are taken again."""
TAGS = "abcdefghi"  # for each pod of a kind one of its own
ALLOWANCE_SECONDS = 0.1
"""By so much the shortest of three waits of one scheduler differs from run to run on two shared cores."""
MEMORY_RATIO = 2.0
LONGEST_PROBE_SECONDS = 1.0
PROBES_PER_SECOND = 20
PATIENCE_SECONDS = 600
MIB = 1 << 20


class Cost(NamedTuple):
    """What the worst pods did to a scheduler."""

    start_mib: float
    peak_mib: float
    delays: dict[str, float]  # by kind: seconds that the next pod waited, the shortest of all rounds
    probe_seconds: float  # the longest
    busy_seconds: float  # the most processor time that the scheduler took during one probe
    failed_probes: int


class Probe:
    """Asks a scheduler whether it is well, again and again; remembers the longest answer.

    Where other work shares the cores, scheduler, probe and everybody between wait for their turns, and the answer is as
    late with a scheduler that does nothing. How long the scheduler itself was busy meanwhile tells the two apart.
    """

    def __init__(self, scheduler: Program) -> None:
        self._scheduler = scheduler
        self._url = f"{scheduler.url}/healthz"
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        self._is_over = threading.Event()
        self.longest = 0.0
        self.busiest = 0.0
        self.num_failed = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(1 / PROBES_PER_SECOND):
            begun = perf_counter()
            try:
                busy = self._scheduler.cpu_seconds()
                with urllib.request.urlopen(self._url, timeout=PATIENCE_SECONDS, context=self._context) as answer:
                    answer.read()
                self.busiest = max(self.busiest, self._scheduler.cpu_seconds() - busy)
            except OSError as error:
                self.num_failed += 1
                print(f"a probe failed after {perf_counter() - begun:.2f} s: {error}", flush=True)
            self.longest = max(self.longest, perf_counter() - begun)

    def close(self) -> None:
        """Ask no more."""
        self._is_over.set()
        self._thread.join()


def named(pod: Any, name: str) -> Any:
    """A pod of that name."""
    return {**pod, "metadata": {**pod["metadata"], "name": name, "namespace": "default"}}


def measure(control_plane: ControlPlane, name: str, kinds: Sequence[str], ordinary: Any) -> Cost:
    """Send a scheduler everything, kind after kind."""
    api = control_plane.api()
    bound = BoundPods(control_plane)
    scheduler = START[name](control_plane)
    api.create(named(ordinary, f"first-{name}"))
    wait_until(lambda: f"first-{name}" in bound.times, "the first pod is bound", PATIENCE_SECONDS)
    start = scheduler.resident_bytes() / MIB
    probe = Probe(scheduler)
    delays: dict[str, float] = {}
    for number, kind in enumerate(kinds):
        waits: list[float] = []
        while len(waits) < ROUNDS and (not waits or waits[0] < SHORT_SECONDS):
            tags = TAGS[len(waits) * PODS_OF_A_KIND :][:PODS_OF_A_KIND]
            waits.append(_wait(control_plane, bound, kind, tags, ordinary, f"{number}-{len(waits)}"))
            clear_pods(control_plane)
            sleep(0.5)
        delays[kind] = min(waits)
        used = scheduler.peak_bytes() / MIB
        listed = ", ".join(f"{wait:.2f}" for wait in waits)
        print(f"{name}: the next pod after {kind} waited {listed} s; memory at most {used:.0f} MiB", flush=True)
    probe.close()
    peak = scheduler.peak_bytes() / MIB
    bound.close()
    scheduler.stop()
    clear_pods(control_plane)
    return Cost(start, peak, delays, probe.longest, probe.busiest, probe.num_failed)


def _wait(control_plane: ControlPlane, bound: BoundPods, kind: str, tags: str, ordinary: Any, name: str) -> float:
    """Seconds that an ordinary pod waits behind those of a kind."""
    api = control_plane.api()
    for tag in tags:
        api.create(named(WORST[kind](tag), f"worst-{name}-{tag}"))
    begun = perf_counter()
    api.create(named(ordinary, f"next-{name}"))
    wait_until(lambda: f"next-{name}" in bound.times, "the next pod is bound", PATIENCE_SECONDS)
    return bound.times[f"next-{name}"] - begun


def main(arguments: Sequence[str]) -> int:
    """Measure both, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(WORST)}; all by default")
    options = parser.parse_args(arguments)
    kinds = options.kinds or list(WORST)
    unknown = [kind for kind in kinds if kind not in WORST]
    if unknown:
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(WORST)}")
    nodes, pods = workload(options.nodes, 1)
    with cluster(nodes) as control_plane:
        costs = {name: measure(control_plane, name, kinds, pods[0]) for name in START}
    print(f"{'the next pod after':24} {'fairway':>12} {'kube-scheduler':>15}")
    ours, theirs = costs["fairway"], costs["kube-scheduler"]
    for kind in kinds:
        print(f"{kind:24} {1000 * ours.delays[kind]:9.0f} ms {1000 * theirs.delays[kind]:12.0f} ms")
    for name, cost in costs.items():
        words = f"memory {cost.start_mib:.0f} MiB, at most {cost.peak_mib:.0f} MiB"
        print(f"{name}: {words}; longest probe {1000 * cost.probe_seconds:.0f} ms", end=", ")
        print(f"busy for {1000 * cost.busy_seconds:.0f} ms at most during one; {cost.failed_probes} failed")
    ratio = ours.peak_mib / theirs.peak_mib
    print(f"memory: {ratio:.2f} times kube-scheduler's, at most {MEMORY_RATIO:g}")
    slow = [kind for kind in kinds if ours.delays[kind] > theirs.delays[kind] + ALLOWANCE_SECONDS]
    print(f"longer waits than with kube-scheduler: after {', '.join(slow) or 'none'}")
    late = ours.failed_probes or ours.probe_seconds > LONGEST_PROBE_SECONDS
    return 1 if ratio > MEMORY_RATIO or slow or late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
