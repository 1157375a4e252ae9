"""Things go wrong between a real API server and `fairway run`; afterwards everything is as it should be.

That is: every pod is bound, exactly once; no node has more than it can hold (the nodes have room for the pods and not
for one more, so that a place lost or given twice would show); and nothing is left that was only assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.fault_proxy import FaultProxy
from tests.kube.processes import Program, wait_until
from tests.kube.test_control_plane import make_node, make_pod

pytestmark = pytest.mark.slow
PODS_PER_NODE: Final = 25
BINDING: Final = r"/pods/[^/]+/binding(\?|$)"
CACHE_SIZE: Final = 'scheduler_cache_size{type="%s"}'


class Cluster:
    """Nodes, pods that just fill them, and what has become of these."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api()
        self.namespace = namespace
        self.num_pods = 0

    def add(self, num_nodes: int, num_pods: int) -> None:
        """More of both."""
        first = len(self.api.items("Node"))
        cpu = f"{PODS_PER_NODE * 100}m"
        self.api.create_all(make_node(f"node-{first + number:03}", cpu=cpu) for number in range(num_nodes))
        container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}
        names = [f"pod-{self.num_pods + number:04}" for number in range(num_pods)]
        self.api.create_all(make_pod(name, self.namespace, containers=[container]) for name in names)
        self.num_pods += num_pods

    def bound(self) -> dict[str, str]:
        """Node by pod."""
        pods = self.api.items("Pod", self.namespace, fieldSelector="spec.nodeName!=")
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods}

    def wait_bound(self, number: int | None = None, seconds: float = 120) -> None:
        """Until so many pods, or all, are bound."""
        number = self.num_pods if number is None else number
        wait_until(lambda: len(self.bound()) >= number, f"{number} pods are bound", seconds, every=0.2)

    def check(self, scheduler: Program) -> None:
        """Everything is as it should be."""
        bound = self.bound()
        assert len(bound) == self.num_pods
        assert max(Counter(bound.values()).values()) <= PODS_PER_NODE
        assert max(self._bindings().values()) == 1
        nodes = {node["metadata"]["name"] for node in self.api.items("Node")}
        expected = sum(node in nodes for node in bound.values()), 0
        with suppress(TimeoutError):  # then the numbers say more
            wait_until(lambda: self._known_to(scheduler) == expected, "all is known, nothing assumed", 30, every=0.5)
        assert self._known_to(scheduler) == expected
        assert scheduler.is_running

    def _known_to(self, scheduler: Program) -> tuple[float, float]:
        """How many pods a scheduler says it has, and how many of them it only assumes."""
        metrics = self.control_plane.metrics(scheduler)
        return metrics[CACHE_SIZE % "pods"], metrics[CACHE_SIZE % "assumed_pods"]

    def _bindings(self) -> Counter[str]:
        """How often the server has let each pod be bound."""
        return Counter(
            record["objectRef"]["name"]
            for record in self.control_plane.audit_records()
            if record.get("objectRef", {}).get("subresource") == "binding"
            and record["objectRef"]["namespace"] == self.namespace
            and record["responseStatus"]["code"] == 201
        )


@pytest.fixture
def cluster(control_plane: ControlPlane, namespace: str) -> Cluster:
    return Cluster(control_plane, namespace)


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(control_plane.url, control_plane.ca_file, control_plane.serving_files("proxy")) as proxy:
        yield proxy


@pytest.fixture
def behind(control_plane: ControlPlane, proxy: FaultProxy) -> Callable[[], Program]:
    """Starts a scheduler that sees the server through the proxy."""
    kubeconfig = control_plane.kubeconfig("system:kube-scheduler", url=proxy.url)
    return lambda: control_plane.start_fairway({"podMaxBackoffSeconds": 1}, kubeconfig=kubeconfig)


def test_killed_in_the_middle_of_a_thousand_bindings(control_plane: ControlPlane, cluster: Cluster) -> None:
    cluster.add(40, 1000)
    scheduler = control_plane.start_fairway()
    cluster.wait_bound(100)
    scheduler.kill()
    assert len(cluster.bound()) < 1000
    scheduler = control_plane.start_fairway()
    cluster.wait_bound()
    cluster.check(scheduler)


@pytest.mark.parametrize("part", ["api_server", "etcd"])
def test_the_cluster_is_restarted_meanwhile(control_plane: ControlPlane, cluster: Cluster, part: str) -> None:
    scheduler = control_plane.start_fairway({"podMaxBackoffSeconds": 1})
    cluster.add(20, 500)
    cluster.wait_bound(20)
    restart = {"api_server": control_plane.restart_api_server, "etcd": control_plane.restart_etcd}
    restart[part]()
    cluster.add(2, 2 * PODS_PER_NODE)
    cluster.wait_bound()
    cluster.check(scheduler)


@pytest.mark.parametrize("action", ["reset", "applied"])
def test_connections_are_reset(cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program], action: str) -> None:
    fault = proxy.add("POST", BINDING, action, times=20)
    cluster.add(8, 200)
    scheduler = behind()
    cluster.wait_bound()
    assert fault.hits == 20
    cluster.check(scheduler)


def test_everything_is_slow(cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program]) -> None:
    proxy.add("POST", BINDING, delay_seconds=0.5, times=100)
    cluster.add(8, 200)
    scheduler = behind()
    cluster.wait_bound()
    cluster.check(scheduler)


@pytest.mark.parametrize(
    ("status", "headers"),
    [(409, {}), (500, {}), (503, {}), (429, {"Retry-After": "1"})],
    ids=["409", "500", "503", "429"],
)
def test_bindings_are_refused(
    cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program], status: int, headers: dict[str, str]
) -> None:
    fault = proxy.add("POST", BINDING, "answer", status=status, headers=headers, times=20)
    cluster.add(8, 200)
    scheduler = behind()
    cluster.wait_bound()
    assert fault.hits == 20
    cluster.check(scheduler)


def test_bindings_take_effect_but_nobody_says_so(
    cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program]
) -> None:
    fault = proxy.add("POST", BINDING, "swallow", times=5)
    cluster.add(8, 200)
    scheduler = behind()
    cluster.wait_bound()
    assert fault.hits == 5
    cluster.check(scheduler)


def test_watches_are_cut_again_and_again(cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program]) -> None:
    scheduler = behind()
    for batch in range(1, 6):
        assert proxy.cut_watches() > 0
        cluster.add(2, 2 * PODS_PER_NODE)
        cluster.wait_bound(batch * 2 * PODS_PER_NODE)
    cluster.check(scheduler)


def test_the_history_that_a_watch_needs_is_gone(
    cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program]
) -> None:
    cluster.add(4, 2 * PODS_PER_NODE)
    scheduler = behind()
    cluster.wait_bound()
    gone = proxy.add("GET", r"^/api/v1/(pods|nodes)\?.*resourceVersion=", "answer", status=410, times=2)
    proxy.cut_watches()
    for name in list(cluster.bound())[:PODS_PER_NODE]:  # nobody tells the scheduler
        cluster.api.delete("Pod", name, cluster.namespace)
    wait_until(lambda: gone.hits == 2, "both watches were told that the history is gone")
    survivors = len(cluster.bound())
    cluster.add(0, 3 * PODS_PER_NODE)
    cluster.num_pods = survivors + 3 * PODS_PER_NODE
    cluster.wait_bound()
    cluster.check(scheduler)


def test_a_node_goes_while_pods_are_bound_to_it(
    cluster: Cluster, proxy: FaultProxy, behind: Callable[[], Program]
) -> None:
    slow = proxy.add("POST", BINDING, delay_seconds=1.0)
    cluster.add(2, PODS_PER_NODE)
    scheduler = behind()
    wait_until(lambda: slow.hits > 0, "bindings are under way")
    cluster.api.delete("Node", "node-001")
    proxy.clear()
    cluster.wait_bound()  # a binding to a node that is gone is the server's to refuse, and it does not
    before = cluster.bound()
    cluster.add(0, 1)
    cluster.wait_bound()
    (latest,) = cluster.bound().items() - before.items()
    assert latest[1] == "node-000"
    cluster.check(scheduler)
