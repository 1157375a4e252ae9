"""Does it slow a scheduler down to be listened to? Pods bound a second with and without followers, on one API server.

The same waiting pods are bound again and again, by a scheduler that nobody follows, one whose stream is read whole, one
whose reader has stopped reading, one that tells a sniffer which is not there, and one with pages (`--web`) that
somebody looks at. The kinds take turns, forwards and
backwards; in each turn a fresh scheduler binds a few bursts of pods. Whatever else a machine does makes a burst slower
and none makes one quicker, so of each kind the mean of its quickest bursts counts, as a share of nobody's. Two numbers:

- pods bound a second by the clock, which is what the budgets are about. On a machine whose processors are all busy, as
  a small one's are that has the API server on it as well, everything shows in it that anybody does besides. The reader
  is of low priority (`nice`), as it stands for one on another machine; `beside` is one that is not.
- pods a second of the scheduler's own processor time, in which its own work shows, and nothing else.

`again` is nobody once more: what is not told apart from it is what two equal schedulers differ by on this machine.

The same with the medians of each turn, compared with nobody's turn of the same round, tells how even the machine was.
What the process that serves the stream and the reader take is told as well. Then a million events go through one ring.

    python benchmarks/stream.py                        eight rounds, 500 nodes, three bursts of 1,000 pods
    python benchmarks/stream.py --rounds 3 --kinds read,no-sniffer

Exit code 1 below 95 % with a reader, with one that has stopped or with pages, 98 % with a sniffer that is not there, if
a reader did not get everything, or if the ring holds more than 64 MiB. Called by `make bench-stream`.
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

from benchmarks.live import BoundPods, clear_pods, cluster, workload
from fairway.cluster import Cluster
from fairway.cycle import Decision, Outcome
from fairway.record import Scored
from fairway.stream.stream_recorder import StreamRecorder
from fairway.testing import pod
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, free_port

LEAST = {"read": 0.95, "stopped": 0.95, "no-sniffer": 0.98, "pages": 0.95}
MOST_MIB = 64
QUICKEST = 3
"""So many bursts of a kind count."""
EVENTS = 1_000_000
PLUGINS = ("NodeResourcesFit", "NodeAffinity", "TaintToleration", "PodTopologySpread", "InterPodAffinity")


class Kind(NamedTuple):
    """How a scheduler is followed."""

    is_streamed: bool = False
    is_stopped: bool = False
    is_shown: bool = False  # by pages, which somebody looks at
    flags: tuple[str, ...] = ()
    reader: tuple[str, ...] = ("nice", "-n", "19")  # what its reader is started with


KINDS = {
    "nobody": Kind(),
    "again": Kind(),
    "read": Kind(is_streamed=True),
    "stopped": Kind(is_streamed=True, is_stopped=True),
    "no-sniffer": Kind(flags=("--sniffer=127.0.0.1:1",)),
    "beside": Kind(is_streamed=True, reader=()),
    "pages": Kind(is_shown=True),
}


class Followed(NamedTuple):
    """A scheduler, and who reads its stream."""

    scheduler: Program
    reader: Program | None


@contextmanager
def followed(control_plane: ControlPlane, kind: Kind, log: Path) -> Iterator[Followed]:
    """A scheduler with nothing to do yet, and whoever follows it."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    flags = [f"--stream={address}"] if kind.is_streamed else [f"--web={address}"] if kind.is_shown else []
    scheduler = control_plane.start_fairway(flags=[*flags, *kind.flags])
    watch: Program | None = None
    try:
        if kind.is_streamed:
            command = [*kind.reader, sys.executable, "-m", "fairway", "watch", address, "-o", "json"]
            watch = Program(command, log)
            readers = "fairway_stream_readers"
            watch.wait_until(lambda: control_plane.metrics(scheduler)[readers] == 1, "somebody reads", 60)
            if kind.is_stopped:
                watch.freeze()
        if kind.is_shown:
            viewer = Path(__file__).with_name("page_viewer.py")
            watch = Program([*kind.reader, sys.executable, viewer, str(port), control_plane.token()], log)
            watch.wait_until(lambda: "looking" in log.read_text(), "somebody looks", 60)
        yield Followed(scheduler, watch)
    finally:
        if watch is not None:
            watch.kill()
        scheduler.stop()


class Burst(NamedTuple):
    """What a scheduler did, and what others took for it meanwhile."""

    pods_per_second: float
    cpu_ms_per_pod: float
    served_ms_per_pod: float
    read_ms_per_pod: float

    def __str__(self) -> str:
        others = f", {self.served_ms_per_pod:.3f} ms to serve the stream, {self.read_ms_per_pod:.3f} ms to read it"
        own = f"{self.pods_per_second:7.1f} pods/s {self.cpu_ms_per_pod:6.3f} ms CPU/pod"
        return own + (others if self.served_ms_per_pod else "")


def seconds_of(pid: int) -> float:
    """Processor time of a process, to the nanosecond."""
    threads = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(fields[0]) for fields in threads) / 1e9


def serving_seconds(scheduler: Program) -> float:
    """Processor time of the processes that a scheduler has started."""
    seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            if int(stat.read_text().rpartition(")")[2].split()[1]) == scheduler.pid:
                seconds += seconds_of(int(stat.parent.name))
    return seconds


def burst(control_plane: ControlPlane, parts: Followed, pods: Sequence[Any]) -> Burst:
    """The scheduler is frozen until all pods wait, and then binds them."""
    scheduler, reader = parts

    def taken() -> tuple[float, float, float]:
        return seconds_of(scheduler.pid), serving_seconds(scheduler), 0.0 if reader is None else seconds_of(reader.pid)

    bound = BoundPods(control_plane)
    scheduler.freeze()
    control_plane.api().create_all(pods)
    before = taken()
    scheduler.thaw()
    try:
        scheduler.wait_until(lambda: len(bound.times) == len(pods), f"all {len(pods)} pods are bound", 300)
    finally:
        bound.close()
    cpu, served, read = (1000 * (now - then) / len(pods) for now, then in zip(taken(), before, strict=True))
    seconds = max(bound.times.values()) - min(bound.times.values())
    clear_pods(control_plane)
    return Burst(len(pods) / seconds, cpu, served, read)


def turn(control_plane: ControlPlane, kind: Kind, pods: Sequence[Any], num_bursts: int, log: Path) -> list[Burst]:
    """Some bursts; who reads gets every pod's binding."""
    with followed(control_plane, kind, log) as parts:
        bursts = [burst(control_plane, parts, pods) for _ in range(num_bursts)]
        if parts.reader is not None and kind.is_streamed and not kind.is_stopped:
            told = '"kind":"bound"'
            wanted = num_bursts * len(pods)
            parts.reader.wait_until(lambda: log.read_text().count(told) == wanted, f"{wanted} bindings were read", 60)
    return bursts


def middle(bursts: Sequence[Burst]) -> Burst:
    """Their medians, number by number."""
    return Burst(*(statistics.median(values) for values in zip(*bursts, strict=True)))


def quickest(bursts: Sequence[Burst]) -> tuple[float, float]:
    """Pods a second by the clock and by the scheduler's processor time, of the quickest by each."""
    by_clock = sorted((each.pods_per_second for each in bursts), reverse=True)[:QUICKEST]
    by_cpu = sorted(each.cpu_ms_per_pod for each in bursts)[:QUICKEST]
    return statistics.mean(by_clock), 1000 / statistics.mean(by_cpu)


def measure(kinds: Sequence[str], num_nodes: int, num_pods: int, num_bursts: int, num_rounds: int) -> bool:
    """Print a line for each turn and for each kind; whether all keep to the budget."""
    nodes, pods = workload(num_nodes, num_pods)
    rounds: list[dict[str, list[Burst]]] = []
    with tempfile.TemporaryDirectory() as folder, cluster(nodes) as control_plane:
        turn(control_plane, KINDS["nobody"], pods, 1, Path(folder) / "first.log")  # the server's caches are cold
        for number in range(num_rounds):
            rounds.append({})
            # Forwards and backwards in turn: whatever drifts does so for all of them.
            for name in ["nobody", *kinds][:: 1 if number % 2 == 0 else -1]:
                found = turn(control_plane, KINDS[name], pods, num_bursts, Path(folder) / f"{name}-{number}.log")
                rounds[-1][name] = found
                print(f"round {number + 1}, {name:>10}: {middle(found)}", flush=True)
    is_met = True
    nobody = quickest([burst for each in rounds for burst in each["nobody"]])
    for name in kinds:
        clock, cpu = (
            mine / theirs
            for mine, theirs in zip(quickest([burst for each in rounds for burst in each[name]]), nobody, strict=True)
        )
        pairs = [(middle(each[name]), middle(each["nobody"])) for each in rounds]
        turns = [mine.pods_per_second / theirs.pods_per_second for mine, theirs in pairs]
        cpu_turns = [theirs.cpu_ms_per_pod / mine.cpu_ms_per_pod for mine, theirs in pairs]
        least = LEAST.get(name, 0.0)
        is_met &= clock >= least
        wanted = f"; at least {least:.0%} by the clock" if least else ""
        print(
            f"{name:>10}: {clock:.1%} by the clock, {cpu:.1%} by processor time{wanted}"
            f" (turn by turn {spread(turns)}, {spread(cpu_turns)})",
            flush=True,
        )
    return is_met


def spread(ratios: Sequence[float]) -> str:
    """The median, with the least and the greatest."""
    return f"{statistics.median(ratios):.1%} ({min(ratios):.0%} to {max(ratios):.0%})"


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
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--bursts", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--kinds", default=",".join(name for name in KINDS if name != "nobody"))
    chosen = parser.parse_args()
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"the machine is busy (load {load:.1f} on {cores} cores): the clock will tell little", file=sys.stderr)
    is_small = fill_ring()
    kinds = chosen.kinds.split(",")
    if unknown := [name for name in kinds if name not in KINDS or name == "nobody"]:
        parser.error(f"--kinds: there is no {unknown[0]!r}; there are {', '.join(KINDS)}")
    is_met = measure(kinds, chosen.nodes, chosen.pods, chosen.bursts, chosen.rounds)
    return 0 if is_met and is_small else 1


if __name__ == "__main__":
    sys.exit(main())
