"""What a pass of the desk costs: 5,000 nodes, 15,000 running pods, 2,000 waiting jobs of 1 to 128 members.

In: nothing, or `--nodes`, `--pods`, `--jobs`, `--members` (the most a job has), `--repeat`. Out: CPU seconds of whole
passes of a desk in a simulated cluster (order, plan, reasons, records; `benchmarks/plan.py` has the plan alone): the
first over all jobs, with 100 promises and with one for everybody, then one in which nothing changed and one with an
arrival; and of the first one the longest slice, as a live scheduler cuts it, as many steps as fit into 4 ms; exit code
1 if one is above its bound. The first pass also reads every job as the plan sees it (its classes, its rows), which is
done once in a job's life. Called by `make bench-desk`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from statistics import median
from typing import Final

import numpy as np

from fairway.batch.desk import Desk
from fairway.batch.settings import BatchSettings
from fairway.config import default_configuration
from fairway.model import Pod
from fairway.model.batch import QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod

BOUNDS: Final = {"depth 100": 0.3, "all": 6.0, "nothing changed": 0.02, "one arrival": 0.03}
"""CPU seconds, on one core of a usual machine."""
LONGEST_SLICE: Final = 0.010
SLICE: Final = 0.004

HOUR: Final = 3600.0
PLAIN: Final = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)


class Listener(NullRecorder):
    """Wants to hear where jobs are, as whoever reads records does."""

    is_recording = True


def running_pods(cpus: list[int], number: int, generator: np.random.Generator) -> list[Pod]:
    """Pods of no queue that leave within two days; three on each node leave some of it free."""
    pods = []
    for index in range(number):
        row = index % len(cpus)
        milli = int(cpus[row] * 1000 * generator.choice([0.2, 0.25, 0.3]))
        deadline = int(generator.integers(60, 48 * 3600))
        pods.append(
            pod(f"pod-{index}", cpu=f"{milli}m", memory=f"{milli}Mi", node=f"n-{row}", active_deadline_seconds=deadline)
        )
    return pods


def job_pods(name: str, most: int, generator: np.random.Generator) -> list[Pod]:
    """The members of a job, which start together."""
    count = int(2 ** generator.uniform(0, np.log2(most) + 0.0001))
    cpu = int(generator.choice([8, 16, 24]))
    said = {"fairway.dev/time-limit": f"{generator.choice([1, 2, 4, 8, 12, 24])}h"}
    if count > 1:
        said |= {"fairway.dev/gang": name, "fairway.dev/gang-size": str(count)}
    labels = {"fairway.dev/queue": "all"}
    return [
        pod(f"{name}-{member}", cpu=cpu, memory=f"{cpu * 2}Gi", labels=labels, annotations=said)
        for member in range(count)
    ]


def cluster(arguments: argparse.Namespace, queue: QueueSpec, seed: int) -> tuple[Simulation, Desk]:
    """Everything is there, and the desk has looked at nothing yet."""
    generator = np.random.default_rng(seed)
    cpus = generator.choice([32, 64, 128], arguments.nodes).tolist()
    nodes = [node(f"n-{row}", cpu=cpu, memory=f"{cpu * 4}Gi", pods=110) for row, cpu in enumerate(cpus)]
    there = running_pods(cpus, arguments.pods, generator)
    jobs = [
        each for number in range(arguments.jobs) for each in job_pods(f"job-{number}", arguments.members, generator)
    ]
    settings = BatchSettings({"all": queue.completed()}, max_jobs=1_000_000)
    scheduler = SchedulerPlan("default-scheduler", default_configuration(REGISTRY), batch=settings)
    simulation = Simulation(Plan(nodes, [*there, *jobs], (), [scheduler]), Listener())
    queues = simulation.schedulers[0].queues
    assert queues is not None
    return simulation, queues.desk


def measure(desk: Desk) -> tuple[float, str]:
    """CPU seconds of a pass, and what it did."""
    before = time.process_time()
    outcome = desk.run_pass()
    seconds = time.process_time() - before
    waiting = sum(job.started is None and not job.is_released for job in desk.book)
    return seconds, f"{len(outcome.started)} started, {len(desk.machine.calendar.promises)} promised, {waiting} wait"


def slices(desk: Desk) -> list[float]:
    """CPU seconds of each slice of a pass, the longest last."""
    steps, found = desk.pass_steps(), []
    is_over = False
    while not is_over:
        before = now = time.process_time()
        while now < before + SLICE and not is_over:
            is_over = next(steps, steps) is steps
            now = time.process_time()
        found.append(now - before)
    return sorted(found)


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=15_000)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--members", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    limits = QueueLimits(max=Duration(1000 * 86400), kill_grace=Duration(0))
    times: dict[str, list[float]] = {name: [] for name in BOUNDS}
    words: dict[str, str] = {}
    cut: dict[str, list[float]] = {"depth 100": [], "all": []}
    for seed in range(arguments.repeat):
        for name, said in (("depth 100", {"depth": 100}), ("all", {"discipline": "conservative"})):
            simulation, desk = cluster(arguments, QueueSpec(weights=PLAIN, limits=limits, **said), seed)
            gc.collect()
            seconds, words[name] = measure(desk)
            times[name].append(seconds)
            _, other = cluster(arguments, QueueSpec(weights=PLAIN, limits=limits, **said), seed)
            gc.collect()
            gc.freeze()  # as a live scheduler does
            cut[name] += slices(other)
            gc.unfreeze()
        for name in ("nothing changed", "one arrival"):
            if name == "one arrival":
                for each in job_pods("late", 1, np.random.default_rng(seed)):
                    simulation.api.create(each)
            seconds, words[name] = measure(desk)
            times[name].append(seconds)
    is_slow = False
    for name, bound in BOUNDS.items():
        seconds = median(times[name])
        is_slow |= seconds > bound
        print(f"{name:16} {seconds:8.3f} s of CPU, at most {bound:g}   {words[name]}")
    for name, found in cut.items():
        longest = [f"{each * 1000:.1f}" for each in sorted(found)[:-5:-1]]
        is_slow |= max(found) > LONGEST_SLICE
        bound = f"at most {LONGEST_SLICE * 1000:g}"
        print(
            f"{name:16} {longest[0]:>8} ms the longest slice, {bound}   {len(found)} slices: {', '.join(longest)} ..."
        )
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
