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
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
LATE = 5.0
"""Seconds: a job that starts at once is written down when it runs, two seconds after it came at the latest."""


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="jobs a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--ledger", metavar="URL", help="let the scheduler keep one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairway-jobs-") as folder:
        plane = ControlPlane(Path(folder))
        plane.start()
        try:
            with batch_kinds(plane) as api:
                flags = [f"--ledger={options.ledger}"] if options.ledger else []
                return measure(plane, api, options.rate, int(options.rate * options.seconds), flags)
        finally:
            plane.stop()


def measure(plane: ControlPlane, api: Api, rate: float, number: int, flags: Sequence[str] = ()) -> int:
    """Send so many jobs, and see what becomes of them."""
    for name in NAMESPACES:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        api.create(ours("Account", name, namespaces=[name]))
    api.create_all(node(f"n{each}", "16") for each in range(NODES))
    api.create(queue())
    plane.start_kubelet()
    scheduler = start(plane, *flags)
    scheduler.wait_until(lambda: "queues of jobs are on" in scheduler.output(), "queues are on")
    asked = plane.metrics(scheduler)
    before, begun = scheduler.cpu_seconds(), perf_counter()
    with ThreadPoolExecutor(8) as pool:
        for each in range(number):
            sleep(max(begun + each / rate - perf_counter(), 0.0))
            pool.submit(api.create, job(f"j{each}", NAMESPACES[each % 3], cpu="1", runs="3s"))
    sent = perf_counter() - begun
    behind = number - int(rate * LATE) - len(records(api))
    ended = waited(api, number, "final", begun)
    cpu = scheduler.cpu_seconds() - before
    settled = waited(api, number, "settled", begun)
    requests = asked_since(asked, plane.metrics(scheduler))
    problems = differences(api)
    print(f"{number} jobs sent in {sent:.1f} s ({number / sent:.1f} a second)")
    print(f"then {max(behind, 0)} of those sent before {LATE:g} s had no record")
    print(f"all over after {ended:.1f} s, settled after {settled:.1f} s")
    print(f"{1000 * cpu / number:.1f} ms of processor time a job, {scheduler.resident_bytes() >> 20} MiB")
    print("requests a job: " + ", ".join(f"{method} {count / number:.2f}" for method, count in requests.items()))
    for problem in problems:
        print(problem)
    return 1 if problems or settled == float("inf") else 0


def asked_since(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """How many requests the scheduler has sent meanwhile, by method and answer."""
    found: dict[str, float] = {}
    for name, value in after.items():
        if labels := re.fullmatch(r'rest_client_requests_total{code="(.*?)",.*method="(.*?)".*}', name):
            title = " ".join(reversed(labels.groups()))
            found[title] = found.get(title, 0) + value - before.get(name, 0)
    return {title: count for title, count in sorted(found.items()) if count}


def records(api: Api) -> list[Json]:
    """All that are written."""
    return [each for each in api.items("JobRecord") if each.get("status")]


def waited(api: Api, number: int, word: str, begun: float) -> float:
    """How long it took until all records say this; infinite: they never did."""
    while perf_counter() - begun < PATIENCE:
        if sum(bool(each["status"].get(word)) for each in records(api)) == number:
            return perf_counter() - begun
        sleep(2.0)  # a list of all records costs the server as much as a hundred jobs
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
