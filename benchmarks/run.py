"""Measures the decision loop and the simulator at the sizes that matter, and fails below a floor.

In: nothing, or names of benchmarks; `--quick` for all but the largest. Out: a table of targets, floors and what was
measured; exit code 1 if a floor was missed. Each benchmark runs in a process of its own, so that memory is its own too.
Floors of the decision loop are half the target, or twice if less is better, because machines differ; those of the
simulator the target and what measuring is uncertain by; memory and start-up have the target itself. What misses its
floor is measured once more first. Called by `make bench`; README.md says what each does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple


class Benchmark(NamedTuple):
    """Something measured, and what is wanted of it."""

    name: str
    measured: Callable[[], float]
    target: float | None  # None: for information
    floor: float | None
    unit: str
    more_is_better: bool = True

    def is_ok(self, value: float) -> bool:
        """Is it on the right side of the floor?"""
        if self.floor is None:
            return True
        return value >= self.floor if self.more_is_better else value <= self.floor


def fairway(*arguments: str) -> dict[str, Any]:
    """What a command of fairway prints as JSON, from a process of its own."""
    command = [sys.executable, "-m", "fairway", *arguments, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def bench(mix: str, nodes: int, pods: int, key: str, repeat: int = 3) -> Callable[[], float]:
    """One figure of `fairway bench`."""
    size = ("--nodes", str(nodes), "--pods", str(pods))

    def measured() -> float:
        return float(fairway("bench", "--mix", mix, *size, "--repeat", str(repeat))[key])

    return measured


def start_ms() -> float:
    """How long `fairway --help` takes, in milliseconds: the median of nine."""

    def once() -> float:
        begun = perf_counter()
        subprocess.run([sys.executable, "-m", "fairway", "--help"], capture_output=True, check=True)
        return perf_counter() - begun

    return 1000 * median(once() for _ in range(9))


def full_cluster_mib() -> float:
    """The memory of a process that holds 20,000 nodes with 300,000 bound pods."""
    command = [sys.executable, str(Path(__file__).with_name("full_cluster.py")), "20000", "300000"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def simulated_day(*arguments: str) -> dict[str, float]:
    """The figures of one simulated day."""
    command = [sys.executable, str(Path(__file__).with_name("simulated_day.py")), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def day() -> dict[str, float]:
    """Days with a recording and days without, in turns; the faster of each, as only what disturbs is different."""
    recorded, bare = simulated_day(), simulated_day("--no-record")
    bare_seconds = min(bare["cpu_seconds"], simulated_day("--no-record")["cpu_seconds"])
    seconds = min(recorded["cpu_seconds"], simulated_day()["cpu_seconds"])
    return {"cpu_seconds": seconds, "mib": recorded["mib"], "recording_percent": 100 * (seconds / bare_seconds - 1)}


def million() -> dict[str, float]:
    """A million pods on 10,000 nodes: minutes."""
    figures = simulated_day("--million")
    return {**figures, "growth_percent": 100 * (figures["mib"] / figures["mib_by_16h"] - 1)}


def figure(measured: Callable[[], dict[str, float]], key: str) -> Callable[[], float]:
    """One of several figures of a measurement, which is made again when a figure is wanted for the second time."""
    known = FIGURES.setdefault(measured.__name__, {})

    def one() -> float:
        if key not in known:
            known.update(measured())
        return known.pop(key)

    return one


FIGURES: dict[str, dict[str, float]] = {}


def speed(name: str, mix: str, nodes: int, target: float | None = None, pods: int = 10000) -> Benchmark:
    """Pods a second."""
    floor = target / 2 if target is not None else None
    return Benchmark(name, bench(mix, nodes, pods, "pods_per_second"), target, floor, "pods/s")


BENCHMARKS: Sequence[Benchmark] = (
    speed("plain-5000", "plain", 5000, 6000),
    speed("classes-5000", "classes", 5000, 6000),
    speed("spread-5000", "spread", 5000, 5000),
    speed("antiaffinity-5000", "antiaffinity", 5000, 4500),
    speed("affinity-5000", "affinity", 5000),
    speed("mixed-5000", "mixed", 5000, 2500),
    speed("plain-1000", "plain", 1000, 10000),
    speed("mixed-1000", "mixed", 1000, 5000),
    Benchmark("new-class-5000", bench("mixed", 5000, 2000, "new_class_ms"), 5, 10, "ms", more_is_better=False),
    Benchmark("memory-20000", full_cluster_mib, 3072, 3072, "MiB", more_is_better=False),
    Benchmark("help", start_ms, 150, 150, "ms", more_is_better=False),
    Benchmark("day-5000", figure(day, "cpu_seconds"), 60, 66, "s", more_is_better=False),
    Benchmark("day-5000-memory", figure(day, "mib"), 2048, 2048, "MiB", more_is_better=False),
    Benchmark("day-5000-recording", figure(day, "recording_percent"), 20, 25, "%", more_is_better=False),
    *(speed(f"scaling-plain-{nodes}", "plain", nodes, pods=min(20 * nodes, 10000)) for nodes in (100, 20000)),
    *(speed(f"scaling-mixed-{nodes}", "mixed", nodes, pods=min(20 * nodes, 10000)) for nodes in (100, 20000)),
)

LARGEST: Sequence[Benchmark] = (
    Benchmark("million", figure(million, "cpu_seconds"), None, None, "s", more_is_better=False),
    Benchmark("million-memory", figure(million, "mib"), 2048, 2048, "MiB", more_is_better=False),
    Benchmark("million-growth", figure(million, "growth_percent"), 5, 10, "%", more_is_better=False),
)


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks named, or all; `--quick`: but the largest."""
    is_quick = "--quick" in arguments
    arguments = [argument for argument in arguments if argument != "--quick"]
    wanted = BENCHMARKS if is_quick else [*BENCHMARKS, *LARGEST]
    names = [benchmark.name for benchmark in (*BENCHMARKS, *LARGEST)]
    unknown = [name for name in arguments if name not in names]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"the machine is busy (load {load:.1f} on {cores} cores): expect less than it can do", file=sys.stderr)
    print(f"{'BENCHMARK':<22}{'TARGET':>9}{'FLOOR':>9}{'MEASURED':>11}  UNIT     OK")
    missed = 0
    for benchmark in wanted:
        if arguments and benchmark.name not in arguments:
            continue
        value = benchmark.measured()
        if not benchmark.is_ok(value):  # whoever was using the machine may have gone
            value = (max if benchmark.more_is_better else min)(value, benchmark.measured())
        is_ok = benchmark.is_ok(value)
        missed += not is_ok
        target, floor = (f"{each:.0f}" if each is not None else "" for each in (benchmark.target, benchmark.floor))
        verdict = "" if benchmark.floor is None else "yes" if is_ok else "NO"
        print(f"{benchmark.name:<22}{target:>9}{floor:>9}{value:>11.1f}  {benchmark.unit:<8} {verdict}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
