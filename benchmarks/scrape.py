"""Fairway and kube-scheduler in turn on the same real API server: how quick is `/metrics` while pods are being bound?

The nodes are made, then for each scheduler: the pods, all of them waiting; the scheduler is started, and from the first
binding to the last its metrics are asked for over and over, on one connection that stays open, as Prometheus does. How
many answers a second come, how long the slowest take, and how many pods are bound meanwhile. Everything runs on this
machine, so other work on it shows.

    python benchmarks/scrape.py                  1000 nodes, 3000 pods
    python benchmarks/scrape.py 300 900          fewer: nodes, pods; three or four find room on a node

Programs are built first if need be (tests/kube). Exit code 1 if Fairway answers more slowly than kube-scheduler.
"""

from __future__ import annotations

import http.client
import ssl
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the control plane is the tests'

from benchmarks.live import START, BoundPods, clear_pods, cluster, workload
from tests.kube.control_plane import ControlPlane


class Scrapes(NamedTuple):
    """What a scheduler's metrics server did during a burst."""

    per_second: float
    p50_ms: float
    p99_ms: float
    kilobytes: float
    pods_per_second: float

    def __str__(self) -> str:
        return (
            f"{self.per_second:6.1f} answers/s, p50 {self.p50_ms:6.1f} ms, p99 {self.p99_ms:6.1f} ms, "
            f"{self.kilobytes:.0f} kB each; {self.pods_per_second:.0f} pods/s"
        )


class Scraper:
    """Asks for metrics, over and over, until it is stopped; a thread of its own."""

    def __init__(self, url: str, token: str) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # schedulers sign for themselves
        self._connection = http.client.HTTPSConnection(urlsplit(url).netloc, context=context)
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
        self._is_over = threading.Event()
        self.begun: list[float] = []
        self.seconds: list[float] = []
        self.sizes: list[int] = []
        self.ask()  # the handshake, and whatever is made at the first time, are not what is measured
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self.begun.clear()
        self.seconds.clear()
        self._thread.start()

    def stop(self) -> None:
        """End, after the answer under way."""
        self._is_over.set()
        self._thread.join()
        self._connection.close()

    def ask(self) -> None:
        """Once."""
        begun = perf_counter()
        self._connection.request("GET", "/metrics", headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"/metrics answers {answer.status}: {body[:200]!r}")
        self.begun.append(begun)
        self.seconds.append(perf_counter() - begun)
        self.sizes.append(len(body))

    def _run(self) -> None:
        while not self._is_over.is_set():
            self.ask()


def scraped_burst(control_plane: ControlPlane, name: str, pods: Sequence[Any]) -> Scrapes:
    """Let a scheduler bind pods that wait already, and ask for its metrics meanwhile."""
    control_plane.api().create_all(pods)
    bound = BoundPods(control_plane)
    scheduler = START[name](control_plane)
    scraper = Scraper(scheduler.url, control_plane.token())
    scheduler.wait_until(lambda: bool(bound.times), "the first pod is bound", 300)
    scraper.start()
    scheduler.wait_until(lambda: len(bound.times) == len(pods), "all pods are bound", 1800)
    scraper.stop()
    scheduler.stop()
    bound.close()
    clear_pods(control_plane)
    last = max(bound.times.values())
    during = np.array([took for at, took in zip(scraper.begun, scraper.seconds, strict=True) if at <= last])
    p50, p99 = np.percentile(1000 * during, [50, 99])
    rate = len(pods) / (last - min(bound.times.values()))
    return Scrapes(len(during) / during.sum(), p50, p99, float(np.mean(scraper.sizes)) / 1000, rate)


def main(arguments: Sequence[str]) -> int:
    """Measure both; whether Fairway is as quick."""
    num_nodes, num_pods = map(int, arguments) if arguments else (1000, 3000)
    nodes, pods = workload(num_nodes, num_pods)
    found = {}
    with cluster(nodes) as control_plane:
        for name in START:
            found[name] = scraped_burst(control_plane, name, pods)
            print(f"{num_nodes} nodes, {num_pods} pods, {name:14} {found[name]}", flush=True)
    ours, theirs = found["fairway"], found["kube-scheduler"]
    is_quick = ours.per_second >= theirs.per_second and ours.p99_ms <= theirs.p99_ms
    if not is_quick:
        print("target (as many answers a second as kube-scheduler, and as quick a p99) is missed", file=sys.stderr)
    return 0 if is_quick else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
