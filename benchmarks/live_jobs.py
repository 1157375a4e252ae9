"""Jobs that come and go through a queue of a real API server: how many a second, and do the books balance?

Pods of one queue are created at a steady rate; each runs for a while, ends, and is charged to one of three accounts.
What is measured: how far behind records are when the last job was sent, how long until all are over and settled, the
scheduler's processor time a job, its memory; and at the end whether each account has what its records say, to the
thousandth of a unit. Then pods of no queue are bound by a scheduler that serves queues and by one that does not
(`--batch=false`), in turn, on the same server: decisions a second of their processor time, one beside the other.

    python benchmarks/live_jobs.py                       50 jobs a second for 30 s; then 4 times 600 pods
    python benchmarks/live_jobs.py --rate 20 --seconds 600
    python benchmarks/live_jobs.py --rate 0              only the pods of no queue

Exit code 1 if jobs are lost or books differ, or if queues cost pods of no queue more than 5 % of their decisions.
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
from tests.kube.jobs import bound, plain

NAMESPACES = ("team-a", "team-b", "team-c")
NODES = 50
PODS_OF_A_NODE = 20
PATIENCE = 300.0
TURNS = (True, False, False, True)
"""With queues and without, so that a machine that is busier by and by is no advantage to either."""
LEAST = 0.95
LATE = 5.0
"""Seconds: a job that starts at once is written down when it runs, two seconds after it came at the latest."""


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="jobs a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument(
        "--beside", type=int, default=600, metavar="PODS", help="of no queue, each time; 0: leave it out"
    )
    parser.add_argument("--ledger", metavar="URL", help="let the scheduler keep one")
    options = parser.parse_args()
    if options.beside > NODES * PODS_OF_A_NODE:
        parser.error(f"--beside: at most {NODES * PODS_OF_A_NODE:,}, which is what the nodes hold")
    with tempfile.TemporaryDirectory(prefix="fairway-jobs-") as folder:
        plane = ControlPlane(Path(folder))
        plane.start()
        try:
            with batch_kinds(plane) as api:
                flags = [f"--ledger={options.ledger}"] if options.ledger else []
                prepare(api)
                number = int(options.rate * options.seconds)
                worst = measure(plane, api, options.rate, number, flags) if number else 0
                plane.stop_others()
                return max(worst, beside(plane, api, options.beside)) if options.beside else worst
        finally:
            plane.stop()


def prepare(api: Api) -> None:
    """Nodes, accounts, a queue."""
    for name in NAMESPACES:
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        api.create(ours("Account", name, namespaces=[name]))
    api.create_all(node(f"n{each}", "16") for each in range(NODES))
    api.create(queue())


def measure(plane: ControlPlane, api: Api, rate: float, number: int, flags: Sequence[str] = ()) -> int:
    """Send so many jobs, and see what becomes of them."""
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


def beside(plane: ControlPlane, api: Api, number: int) -> int:
    """Pods of no queue, with queues and without."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for turn, has_queues in enumerate(TURNS):
        namespace = f"beside-{turn}"
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        scheduler = start(plane, *([] if has_queues else ["--batch=false"]))
        word = "queues of jobs are on" if has_queues else "in sync"
        scheduler.wait_until(lambda scheduler=scheduler, word=word: word in scheduler.output(), word)  # type: ignore[misc]
        before = scheduler.cpu_seconds()
        api.create_all(small(f"p{each}", namespace) for each in range(number))
        scheduler.wait_until(lambda namespace=namespace: len(bound(api, namespace)) == number, "all are bound")  # type: ignore[misc]
        seconds[has_queues].append(scheduler.cpu_seconds() - before)
        scheduler.stop()
        api.delete_all("Pod", namespace)
    rates = {has_queues: number * len(each) / sum(each) for has_queues, each in seconds.items()}
    ratio = rates[True] / rates[False]
    print(
        f"pods of no queue a second of processor time: {rates[True]:.0f} with queues, {rates[False]:.0f} without: "
        f"{ratio:.1%} (at least {LEAST:.0%})"
    )
    return 0 if ratio >= LEAST else 1


def small(name: str, namespace: str) -> Json:
    """A pod of no queue."""
    made = plain(name, namespace)
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100m"
    return made


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
