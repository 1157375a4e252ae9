"""The stage: a cluster with schedulers at work, and the means to disturb them.

In: a control plane, a size and a seed. Out: a `Stage`, which a kind of chaos plays on: it starts, kills and counts
schedulers, lets pods arrive, and comes to rest again. Every deed is counted by name for the table. Made by `trial`.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import numpy as np

from tests.chaos.history import History
from tests.chaos.load import CROWDING, Arrivals, Size, make_node, make_pod, num_nodes_for, persist
from tests.chaos.pod_state import Amounts, PodState, amounts_of_node, milli_cpu
from tests.chaos.scheduler_view import NOT_ANSWERING, num_busy, read_status
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.fault_proxy import FaultProxy
from tests.kube.processes import Program, wait_until

__all__ = ["BINDING", "PERIODS", "Stage"]

BINDING: Final = r"/pods/[^/]+/binding(\?|$)"
PERIODS: Final = {"leaseDuration": "5s", "renewDeadline": "4s", "retryPeriod": "500ms"}
BACKOFF: Final = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2}
REST_SECONDS: Final = 1.0
"""For how long nothing may move until we speak of rest."""
PATIENCE_SECONDS: Final = 180.0


class Stage:
    """One trial's cluster."""

    def __init__(self, control_plane: ControlPlane, name: str, size: Size, seed: int) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api()
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.namespace = f"{name}-{secrets.token_hex(3)}"
        self.directory: Path = control_plane.directory / self.namespace
        self.directory.mkdir(parents=True, exist_ok=True)
        self.deeds: Counter[str] = Counter()
        self.schedulers: list[Program] = []
        self.past: list[Program] = []  # schedulers that were ended on purpose, or replaced
        self.relaunch: Callable[[], object] = lambda: self.launch(is_elected=True)
        self.nodes = [make_node(number) for number in range(num_nodes_for(size.num_pods))]
        self.history = History(control_plane)
        self._proxy: FaultProxy | None = None
        self._num_batches = 0

    def __enter__(self) -> Self:
        self.add_namespace(self.namespace)
        self.api.create_all(self.nodes)
        self.history.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.history.__exit__()
        if self._proxy is not None:
            self._proxy.stop()

    @property
    def offered(self) -> dict[str, Amounts]:
        """What each node offers; no kind of chaos changes that."""
        return {node["metadata"]["name"]: amounts_of_node(node) for node in self.nodes}

    @property
    def proxy(self) -> FaultProxy:
        """Stands between schedulers and the server; there from the first use on."""
        if self._proxy is None:
            serving = self.control_plane.serving_files("proxy")
            self._proxy = FaultProxy(self.control_plane.url, self.control_plane.ca_file, serving).start()
        return self._proxy

    def add_namespace(self, name: str) -> None:
        """Make a namespace."""
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    # -- schedulers --------------------------------------------------------------------------------------------------

    def launch(self, *, is_elected: bool = False, is_proxied: bool = False, flags: Sequence[str] = ()) -> Program:
        """Start a scheduler and wait until it has filled its caches."""
        url = self.proxy.url if is_proxied else None
        scheduler = self.control_plane.start_fairway(
            self.configuration(is_elected=is_elected),
            kubeconfig=self.control_plane.kubeconfig("system:kube-scheduler", url=url),
            flags=["--trust-loopback", *flags],  # it can be asked also while the API server is in trouble
        )
        self.schedulers.append(scheduler)
        return scheduler

    def configuration(self, *, is_elected: bool) -> Json:
        """Short pauses, so that a trial takes seconds."""
        return BACKOFF | ({"leaderElection": {"leaderElect": True, **PERIODS}} if is_elected else {})

    def dismiss(self, scheduler: Program, end: Callable[[Program], int]) -> int:
        """End a scheduler on purpose; returns its exit code."""
        self.schedulers.remove(scheduler)
        self.past.append(scheduler)
        return end(scheduler)

    def has_lost_lease(self, scheduler: Program) -> bool:
        """It has ended because it could not renew its lease: then somebody starts it again."""
        return not scheduler.is_running and scheduler.exit_code() == 1 and "lost the lease" in scheduler.output()

    def replace_ended(self) -> None:
        """Do what a kubelet does about schedulers that have lost their lease; any other end is an error.

        A starved machine is enough to lose it.
        """
        for scheduler in [scheduler for scheduler in self.schedulers if not scheduler.is_running]:
            if self.has_lost_lease(scheduler):
                self.dismiss(scheduler, Program.exit_code)
                self.deeds["leases lost"] += 1
                self.relaunch()
            else:
                raise AssertionError(f"a scheduler ended by itself:\n{scheduler.output()[-2000:]}")

    def leader(self) -> Program | None:
        """Who schedules at the moment, if anybody does."""
        for scheduler in self.schedulers:
            with suppress(*NOT_ANSWERING):
                if scheduler.is_running and read_status(scheduler)["leading"]:
                    return scheduler
        return None

    # -- pods --------------------------------------------------------------------------------------------------------

    def pods(self, number: int | None = None) -> list[Json]:
        """New pods, by default as many as a round has."""
        number = self.size.num_pods if number is None else number
        self._num_batches += 1
        names = [f"pod-{self._num_batches}-{each:04}" for each in range(number)]
        return [make_pod(name, self.namespace, self.rng) for name in names]

    def arrivals(self, pods: Sequence[Json] | None = None) -> Arrivals:
        """Pods that come while the block runs, by default a round's; at its end all are there."""
        pods = self.pods() if pods is None else pods
        self.deeds["pods"] += len(pods)
        return Arrivals(self.api, pods, self.size.seconds * len(pods) / self.size.num_pods)

    def top_up(self) -> None:
        """Where chaos has taken pods away, add some: again a little more is asked for than there is."""
        wanted = CROWDING * sum(amounts.cpu for amounts in self.offered.values())
        wanted -= sum(pod.amounts.cpu for pod in self.history.catch_up() if pod.waits or pod.holds_room)
        pods = []
        for pod in self.pods():
            if wanted <= 0:
                break
            pods.append(pod)
            wanted -= milli_cpu(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        with self.arrivals(pods):
            pass

    def some_pods(self, number: int, choose: Callable[[PodState], bool] = lambda _: True) -> list[PodState]:
        """A few at random of those that there are."""
        chosen = [pod for pod in self.history.current() if choose(pod)]
        picks = self.rng.permutation(len(chosen))[:number]
        return [chosen[pick] for pick in picks]

    def delete_pod(self, pod: PodState) -> None:
        """Delete a pod at once; it may be gone already."""
        namespace, name = pod.key.split("/")
        persist(lambda: self.api.delete("Pod", name, namespace))

    def delete_pods(self) -> None:
        """Make the cluster empty, for the next round."""
        self.api.delete_all("Pod")
        wait_until(lambda: not self.history.current(), "all pods are gone", PATIENCE_SECONDS)

    # -- time --------------------------------------------------------------------------------------------------------

    def pause(self, seconds: float) -> None:
        """Between two deeds: chaos keeps time, nobody waits for anything here."""
        time.sleep(seconds)

    def wait_for_bindings(self, number: int, seconds: float = 30) -> bool:
        """Until so many more pods are bound; False if time runs out, which is no error in the midst of chaos."""
        goal = self.num_bound + number
        try:
            wait_until(lambda: self.num_bound >= goal, f"{goal} pods are bound", seconds, every=0.05)
        except TimeoutError:
            return False
        return True

    @property
    def num_bound(self) -> int:
        """Pods that have a node."""
        return sum(bool(pod.node) for pod in self.history.current())

    def settle(self) -> str:
        """Wait until nothing moves any more; returns what does if it never stops, else ""."""
        state: list[str] = ["nobody leads"]
        still_since = [time.monotonic()]
        last_seen = [-1]

        def is_at_rest() -> bool:
            state[0] = self._unrest()
            num_seen = len(self.history.sightings)
            if state[0] or num_seen != last_seen[0]:
                still_since[0], last_seen[0] = time.monotonic(), num_seen
            return time.monotonic() - still_since[0] > REST_SECONDS

        try:
            wait_until(is_at_rest, "the cluster is at rest", PATIENCE_SECONDS, every=0.1)
        except TimeoutError:
            return f"no rest within {PATIENCE_SECONDS:g} s: {state[0] or 'pods keep changing'}"
        return ""

    def _unrest(self) -> str:
        self.replace_ended()
        leader = self.leader()
        if leader is None:
            return "nobody leads"
        try:
            busy = num_busy(read_status(leader))
        except NOT_ANSWERING as error:
            return f"the leader does not answer: {error}"
        if busy:
            return f"{busy} pods are under way"
        leaving = [pod.key for pod in self.history.current() if pod.is_leaving]
        return f"{leaving[0]} and others are leaving" if leaving else ""
