"""Queues of a live scheduler under churn, for minutes: does its memory stay as it was, and do the books balance?

Jobs come to a queue of a real API server, 20 a second, of three accounts. Of ten, six run for some seconds and succeed,
one runs past its time limit, one is cancelled while it runs, one is a gang of two, and one is larger than others, so
that jobs wait and are backfilled. What has ended goes after some seconds, pods and records, as users clean up.
The scheduler's memory is read every second. In the end every job that ever started must be settled, and each account
have exactly the sum of its jobs' charges, to the thousandth of a unit.

    python benchmarks/soak_jobs.py             two minutes of warming up, then ten
    python benchmarks/soak_jobs.py --minutes 1 --warm-up 0.5 --rate 50

Exit code 1 if memory has grown, if a job was not settled, or if an account has anything else than that sum. Called by
`make soak-jobs`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from benchmarks.live import cluster
from tests.kube.api import Api, ApiError
from tests.kube.batch import batch_kinds, job, node, ours, queue, start
from tests.kube.processes import Program, wait_until

NODES = 100
ACCOUNTS = ("biology", "chemistry", "physics")
NAMESPACE = "soak"
LOOK_SECONDS = 2.0
"""Records are listed so often."""
KEPT_SECONDS = 10.0
"""Jobs that have ended are left alone for so long."""
MEMORY_GROWTH = 1.05
SETTLE_SECONDS = 120.0
MIB = 1 << 20


@dataclass
class Churn:
    """Jobs that come and go, and what they cost."""

    api: Api
    pods: dict[str, list[str]] = field(default_factory=dict)  # by job: its pods
    cancelled: deque[tuple[float, str]] = field(default_factory=deque)
    settled_at: dict[str, float] = field(default_factory=dict)
    charges: dict[str, tuple[str, int]] = field(default_factory=dict)  # by job: account, thousandths of a unit
    ends: Counter[str] = field(default_factory=Counter)

    def submit(self, number: int) -> None:
        """The next job."""
        name, turn = f"job-{number:06}", number % 10
        said = {"account": ACCOUNTS[number % len(ACCOUNTS)], "time_limit": "60s"}
        size, seconds, members = "1", f"{2 + number % 7}s", 1
        if turn == 7:
            said["time_limit"], seconds = "5s", ""
        elif turn == 8:
            seconds = ""
            self.cancelled.append((perf_counter() + 4.0, name))
        elif turn == 9:
            members = 2
            said |= {"gang": name, "gang_size": "2"}
        elif turn == 3:
            size = "8"
        names = [name] if members == 1 else [f"{name}-{index}" for index in range(members)]
        self.pods[name] = names
        for each in names:
            self.api.create(job(each, NAMESPACE, cpu=size, runs=seconds, **said))

    def cancel(self) -> None:
        """Those whose time has come."""
        while self.cancelled and self.cancelled[0][0] <= perf_counter():
            _delete(self.api, "Pod", self.cancelled.popleft()[1])

    def look(self) -> None:
        """Note what jobs cost, and let go those that ended a while ago."""
        now = perf_counter()
        for record in self.api.items("JobRecord", NAMESPACE):
            name, status = record["metadata"]["name"], record.get("status", {})
            if not status.get("settled"):
                continue
            if name not in self.settled_at:
                self.settled_at[name] = now
                self.charges[name] = (status["account"], round(status.get("charge", 0.0) * 1000))
                self.ends[status["reason"]] += 1
            elif now - self.settled_at[name] > KEPT_SECONDS and name in self.pods:
                for pod in self.pods.pop(name):
                    _delete(self.api, "Pod", pod)
                _delete(self.api, "JobRecord", name)


def _delete(api: Api, kind: str, name: str) -> None:
    try:
        api.delete(kind, name, NAMESPACE)
    except ApiError as error:
        if error.status != 404:
            raise


def soak(churn: Churn, scheduler: Program, rate: float, seconds: float) -> list[float]:
    """Memory by second."""
    memory: list[float] = []
    begun = looked = perf_counter()
    number = 0
    while perf_counter() - begun < seconds:
        churn.submit(number)
        number += 1
        churn.cancel()
        if perf_counter() - looked > LOOK_SECONDS:
            looked = perf_counter()
            churn.look()
        if number % int(rate) == 0:
            memory.append(scheduler.resident_bytes() / MIB)
        sleep(max(0.0, begun + number / rate - perf_counter()))
    print(f"{number} jobs, {number / (perf_counter() - begun):.1f} a second", flush=True)
    return memory


def settle(churn: Churn, number: int) -> None:
    """Wait until every job is paid for."""

    def are_all_settled() -> bool:
        churn.cancel()
        churn.look()
        return len(churn.charges) >= number

    try:
        wait_until(are_all_settled, "all are settled", SETTLE_SECONDS)
    except AssertionError:
        print(f"{number - len(churn.charges)} jobs are not settled after {SETTLE_SECONDS:g} s")


def do_books_balance(churn: Churn) -> bool:
    """What accounts have, beside what their jobs cost."""
    wanted: dict[str, int] = defaultdict(int)
    for account, charge in churn.charges.values():
        wanted[account] += charge

    def books() -> dict[str, int]:
        found = ((each["metadata"]["name"], each["status"]["book"]) for each in churn.api.items("Account"))
        return {name: book.get("settled", 0) for name, book in found}

    for account, has in books().items():
        print(f"{account}: {has / 1000:.3f} units, its jobs {wanted[account] / 1000:.3f}")
    return books() == dict(wanted)


def main(arguments: Sequence[str]) -> int:
    """Soak, and say whether memory stayed flat and books balance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long, after warming up")
    parser.add_argument("--warm-up", type=float, default=2, metavar="MINUTES")
    parser.add_argument("--rate", type=float, default=20, metavar="JOBS", help="so many come a second")
    options = parser.parse_args(arguments)
    seconds = 60 * (options.warm_up + options.minutes)
    nodes: list[Any] = [node(f"node-{number:03}", "8") for number in range(NODES)]
    with cluster(nodes) as control_plane, batch_kinds(control_plane) as api:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for name in ACCOUNTS:
            api.create(ours("Account", name, namespaces=[NAMESPACE], weights={"cpu": 1}))
        api.create(queue(limits={"killGrace": "1s"}))
        control_plane.start_kubelet()
        churn = Churn(api)
        scheduler = start(control_plane)
        memory = soak(churn, scheduler, options.rate, seconds)
        number = len(churn.pods) + sum(name not in churn.pods for name in churn.charges)
        settle(churn, number)
        is_settled, is_balanced = len(churn.charges) >= number, do_books_balance(churn)
        used = scheduler.cpu_seconds()
    print(f"ends: {dict(churn.ends)}; {1000 * used / number:.1f} ms of processor time a job")
    print(f"memory by minute, MiB: {' '.join(f'{part:.0f}' for part in memory[::60])}")
    later = np.array_split(np.array(memory[int(len(memory) * 60 * options.warm_up / seconds) :]), 3)
    then, now = np.median(later[0]), np.median(later[2])
    print(f"memory: {then:.1f} MiB, then {now:.1f} MiB (ratio {now / then:.2f}, at most {MEMORY_GROWTH})")
    return 0 if is_settled and is_balanced and now <= MEMORY_GROWTH * then else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
