"""What a pass over a large cluster costs: 5,000 nodes, 15,000 running pods, 2,000 waiting jobs of 1 to 128 members.

In: nothing, or `--nodes`, `--pods`, `--jobs`, `--repeat`. Out: CPU seconds of one pass with 100 promises (`easy`,
depth 100) and of one that promises everybody a date (`conservative`), and of a pass in which nothing changed; exit
code 1 if one is above its bound. The timeline is filled first, and is not part of a pass. Called by `make bench-plan`.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median
from typing import Final

import numpy as np

from fairway.plan import (
    Calendar,
    Discipline,
    MemberClass,
    QueueRule,
    SmallestRest,
    WaitingJob,
    member_need,
    run_pass,
)

BOUNDS: Final = {"depth 100": 0.3, "all": 6.0, "nothing changed": 0.02, "one arrival": 0.03}
"""CPU seconds, on one core of a usual machine."""

HOUR: Final = 3600.0


def cluster(num_nodes: int, num_pods: int, generator: np.random.Generator) -> Calendar:
    """Nodes of three sizes, some with GPUs, and pods that run on them for up to two days more."""
    cpus = generator.choice([32_000, 64_000, 128_000], num_nodes)
    memory = cpus * (4 << 20)
    gpus = np.where(generator.random(num_nodes) < 0.25, 8, 0)
    capacity = np.column_stack((cpus, memory, gpus)).astype(np.int64)
    scale = np.append(1.0 / capacity.max(axis=0), 0.0)
    calendar = Calendar(capacity, 0.0, SmallestRest(scale, np.arange(num_nodes)))
    free = capacity.copy()
    for number in range(num_pods):
        row = number % num_nodes
        part = generator.choice([0.2, 0.25, 0.3, 0.4])
        amounts = np.minimum((capacity[row] * part).astype(np.int64), free[row])
        free[row] -= amounts
        end = float(generator.integers(60, 48 * 3600))
        calendar.occupy(f"pod-{number}", np.array([row]), member_need(amounts), end)
    return calendar


def waiting_jobs(number: int, generator: np.random.Generator) -> list[WaitingJob]:
    """Jobs of 1 to 128 members, most of them small, that ask for a quarter to three quarters of a node."""
    jobs = []
    for index in range(number):
        members = int(2 ** generator.uniform(0, 7.0001))
        cpus = int(generator.choice([8_000, 16_000, 24_000]))
        gpus = int(generator.choice([0, 0, 0, 2]))
        need = member_need([cpus, cpus * (2 << 20), gpus])
        limit = float(generator.choice([1, 2, 4, 8, 12, 24])) * HOUR
        jobs.append(WaitingJob(f"job-{index}", (MemberClass(need, members),), limit))
    return jobs


def measure(calendar: Calendar, jobs: list[WaitingJob], rule: QueueRule, now: float) -> tuple[float, str]:
    """CPU seconds of a pass, and what it did."""
    before = time.process_time()
    outcome = run_pass(calendar, jobs, now, {"": rule})
    seconds = time.process_time() - before
    started, promised, stretches = len(outcome.started), len(calendar.promises), len(calendar.timeline.starts)
    return seconds, f"{started} started, {promised} promised, {stretches} stretches"


def main() -> int:
    """Measure, print, compare with the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=15_000)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in BOUNDS}
    words: dict[str, str] = {}
    for seed in range(arguments.repeat):
        generator = np.random.default_rng(seed)
        empty = cluster(arguments.nodes, arguments.pods, generator)
        jobs = waiting_jobs(arguments.jobs, generator)
        for name, rule in (("depth 100", QueueRule(depth=100)), ("all", QueueRule(Discipline.CONSERVATIVE))):
            calendar = empty.copy()
            calendar.has_changed = False
            seconds, words[name] = measure(calendar, jobs, rule, 0.0)
            times[name].append(seconds)
        left = [job for job in jobs if job.key in calendar.promises]
        for name, more in (("nothing changed", []), ("one arrival", waiting_jobs(1, generator))):
            seconds, words[name] = measure(calendar, left + more, rule, 1.0)
            times[name].append(seconds)
    is_slow = False
    for name, bound in BOUNDS.items():
        seconds = median(times[name])
        is_slow |= seconds > bound
        print(f"{name:16} {seconds:8.3f} s of CPU, at most {bound:g}   {words[name]}")
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
