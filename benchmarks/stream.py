"""Does it slow a scheduler down to be listened to? Pods bound a second with and without followers, on one API server.

The same waiting pods are bound again and again, by a scheduler that nobody follows, one whose stream is read whole, one
whose reader has stopped reading, and one that tells a sniffer which is not there. The kinds take turns, and each turn
is compared with that of nobody's in the same round: of these ratios the median counts. There are two of them: pods
bound a second by the clock, in which everything shows that the machine does besides, the reader, the process that
serves the stream and the API server among it; and pods a second of the scheduler's own processor time, in which only
its own work does. What the stream's process takes is told as well: where every processor is busy, as on a small machine
that has an API server and a reader on it, it shows in the first. A budget is missed if both say so.
Then a million events go through one ring.

    python benchmarks/stream.py                        five rounds, 1,000 nodes, 3,000 pods
    python benchmarks/stream.py --nodes 300 --pods 900 --rounds 3

Exit code 1 below 95 % with a reader, 95 % with one that has stopped, 98 % with a sniffer that is not there, or if the
ring holds more than 64 MiB. Called by `make bench-stream`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests', the clock is live.py's

from benchmarks.live import BoundPods, Throughput, clear_pods, cluster, workload
from fairway.cluster import Cluster
from fairway.cycle import Decision, Outcome
from fairway.record import Scored
from fairway.stream.stream_recorder import StreamRecorder
from fairway.testing import pod
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port

LEAST = {"read": 0.95, "stopped": 0.95, "no sniffer": 0.98}
MOST_MIB = 64
EVENTS = 1_000_000
PLUGINS = ("NodeResourcesFit", "NodeAffinity", "TaintToleration", "PodTopologySpread", "InterPodAffinity")


class Kind(NamedTuple):
    """How a scheduler is followed."""

    is_streamed: bool = False
    is_stopped: bool = False
    flags: tuple[str, ...] = ()


KINDS = {
    "nobody": Kind(),
    "read": Kind(is_streamed=True),
    "stopped": Kind(is_streamed=True, is_stopped=True),
    "no sniffer": Kind(flags=("--sniffer=127.0.0.1:1",)),
}


@contextmanager
def followed(control_plane: ControlPlane, kind: Kind, log: Path) -> Iterator[Program]:
    """A scheduler with nothing to do yet, and whoever follows it."""
    address = f"127.0.0.1:{free_port()}"
    flags = [f"--stream={address}"] if kind.is_streamed else []
    scheduler = control_plane.start_fairway(flags=[*flags, *kind.flags])
    watch: Program | None = None
    try:
        if kind.is_streamed:
            watch = Program([sys.executable, "-m", "fairway", "watch", address, "-o", "json"], log)
            readers = "fairway_stream_readers"
            watch.wait_until(lambda: control_plane.metrics(scheduler)[readers] == 1, "somebody reads", 60)
            if kind.is_stopped:
                watch.freeze()
        yield scheduler
    finally:
        if watch is not None:
            watch.kill()
        scheduler.stop()


class Turn(NamedTuple):
    """What a scheduler did, and what the process that serves its stream took meanwhile."""

    pods_per_second: float
    cpu_ms_per_pod: float
    served_ms_per_pod: float

    def __str__(self) -> str:
        served = f", {self.served_ms_per_pod:.2f} ms to serve the stream" if self.served_ms_per_pod else ""
        return f"{Throughput(self.pods_per_second, self.cpu_ms_per_pod)}{served}"


def serving_seconds(scheduler: Program) -> float:
    """Processor time of the processes that a scheduler has started."""
    seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            if int(stat.read_text().rpartition(")")[2].split()[1]) == scheduler.pid:
                threads = [path.read_text().split() for path in stat.parent.glob("task/*/schedstat")]
                seconds += sum(int(fields[0]) for fields in threads) / 1e9
    return seconds


def turn(control_plane: ControlPlane, kind: Kind, pods: Sequence[Any], log: Path) -> Turn:
    """The scheduler is frozen until all pods wait, and then binds them."""
    with followed(control_plane, kind, log) as scheduler:
        bound = BoundPods(control_plane)
        scheduler.freeze()
        control_plane.api().create_all(pods)
        before, served = scheduler.cpu_seconds(), serving_seconds(scheduler)
        scheduler.thaw()
        try:
            scheduler.wait_until(lambda: len(bound.times) == len(pods), f"all {len(pods)} pods are bound", 300)
        finally:
            bound.close()
        cpu, served = scheduler.cpu_seconds() - before, serving_seconds(scheduler) - served
    seconds = max(bound.times.values()) - min(bound.times.values())
    clear_pods(control_plane)
    return Turn(len(pods) / seconds, 1000 * cpu / len(pods), 1000 * served / len(pods))


def measure(num_nodes: int, num_pods: int, num_rounds: int) -> bool:
    """Print a line for each turn and for each kind; whether all keep to the budget."""
    nodes, pods = workload(num_nodes, num_pods)
    rounds: list[dict[str, Turn]] = []
    with tempfile.TemporaryDirectory() as folder, cluster(nodes) as control_plane:
        turn(control_plane, KINDS["nobody"], pods, Path(folder) / "first.log")  # the server's caches are cold
        for number in range(num_rounds):
            rounds.append({})
            # Forwards and backwards in turn: whatever drifts does so for all of them.
            for name in list(KINDS)[:: 1 if number % 2 == 0 else -1]:
                found = turn(control_plane, KINDS[name], pods, Path(folder) / f"{name}-{number}.log")
                rounds[-1][name] = found
                print(f"round {number + 1}, {name:>10}: {found}", flush=True)
    is_met = True
    for name, least in LEAST.items():
        wall = statistics.median(each[name].pods_per_second / each["nobody"].pods_per_second for each in rounds)
        cpu = statistics.median(each["nobody"].cpu_ms_per_pod / each[name].cpu_ms_per_pod for each in rounds)
        is_met &= max(wall, cpu) >= least
        print(f"{name:>10}: {wall:.1%} by the clock, {cpu:.1%} by processor time; at least {least:.0%}", flush=True)
    return is_met


def fill_ring() -> bool:
    """A million decisions with the scores of three nodes: how much memory is held in the end?"""
    recorder, classes = StreamRecorder("benchmark"), Cluster()
    before = resident_bytes()
    for number in range(EVENTS):
        if number % 100 == 0:
            what = pod(f"pod-{number}", uid=f"uid-{number}")
        shares = [dict.fromkeys(PLUGINS, 1000 + number) for _ in range(3)]
        best = [Scored(f"node-{number}-{rank}", 9000 + number, share) for rank, share in enumerate(shares)]
        decision = Decision(what, classes.classify(what), Outcome.SCHEDULED, node=f"node-{number}", score=9000 + number)
        recorder.decided(float(number), "default-scheduler", 1, decision, number / 7, best)
    held = resident_bytes() - before
    print(
        f"ring after {EVENTS:,} events: {len(recorder.ring):,} kept, {held / 2**20:.1f} MiB more in memory", flush=True
    )
    return held <= MOST_MIB * 2**20


def resident_bytes() -> int:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"the machine is busy (load {load:.1f} on {cores} cores): the clock will tell little", file=sys.stderr)
    is_small = fill_ring()
    return 0 if measure(chosen.nodes, chosen.pods, chosen.rounds) and is_small else 1


if __name__ == "__main__":
    sys.exit(main())
