"""Jobs that come and go through a queue of a real API server: how many a second, and do the books balance?

Pods of one queue are created at a steady rate; each runs for a while, ends, and is charged to one of three accounts.
What is measured: how far behind records are when the last job was sent, how long until all are over and settled, the
scheduler's processor time a job, its memory; and at the end whether each account has what its records say, to the
thousandth of a unit.

    python benchmarks/live_jobs.py                       50 jobs a second for 30 s
    python benchmarks/live_jobs.py --rate 20 --seconds 600

Exit code 1 if jobs are lost or books differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from tests.kube.api import Api, Json
from tests.kube.batch import batch_kinds, job, node, ours, queue, start
from tests.kube.control_plane import ControlPlane

NAMESPACES = ("team-a", "team-b", "team-c")
NODES = 50
PATIENCE = 300.0


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="jobs a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairway-jobs-") as folder:
        plane = ControlPlane(Path(folder))
        plane.start()
        try:
            with batch_kinds(plane) as api:
                return measure(plane, api, options.rate, int(options.rate * options.seconds))
        finally:
            plane.stop()


def measure(plane: ControlPlane, api: Api, rate: float, number: int) -> int:
    """Send so many jobs, and see what becomes of them."""
    for name in NAMESPACES:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        api.create(ours("Account", name, namespaces=[name]))
    api.create_all(node(f"n{each}", "16") for each in range(NODES))
    api.create(queue())
    plane.start_kubelet()
    scheduler = start(plane)
    scheduler.wait_until(lambda: "queues of jobs are on" in scheduler.output(), "queues are on")
    before, begun = scheduler.cpu_seconds(), perf_counter()
    with ThreadPoolExecutor(8) as pool:
        for each in range(number):
            sleep(max(begun + each / rate - perf_counter(), 0.0))
            pool.submit(api.create, job(f"j{each}", NAMESPACES[each % 3], cpu="1", runs="3s"))
    sent = perf_counter() - begun
    behind = number - len(records(api))
    ended = waited(api, number, "final", begun)
    cpu = scheduler.cpu_seconds() - before
    settled = waited(api, number, "settled", begun)
    problems = differences(api)
    print(f"{number} jobs sent in {sent:.1f} s ({number / sent:.1f} a second); {behind} without a record then")
    print(f"all over after {ended:.1f} s, settled after {settled:.1f} s")
    print(f"{1000 * cpu / number:.1f} ms of processor time a job, {scheduler.resident_bytes() >> 20} MiB")
    for problem in problems:
        print(problem)
    return 1 if problems or settled == float("inf") else 0


def records(api: Api) -> list[Json]:
    """All that are written."""
    return [each for each in api.items("JobRecord") if each.get("status")]


def waited(api: Api, number: int, word: str, begun: float) -> float:
    """How long it took until all records say this; infinite: they never did."""
    while perf_counter() - begun < PATIENCE:
        if sum(bool(each["status"].get(word)) for each in records(api)) == number:
            return perf_counter() - begun
        sleep(0.5)
    return float("inf")


def differences(api: Api) -> list[str]:
    """Accounts that do not have what the records of their jobs say."""
    due = dict.fromkeys(NAMESPACES, 0)
    for each in records(api):
        due[each["status"]["account"]] += round(each["status"].get("charge", 0) * 1000)
    books = {name: api.get("Account", name).get("status", {}).get("book", {}).get("settled", 0) for name in NAMESPACES}
    return [
        f"account {name}: {books[name]} settled, {due[name]} due" for name in NAMESPACES if books[name] != due[name]
    ]


if __name__ == "__main__":
    sys.exit(main())
