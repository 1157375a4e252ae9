"""Objects that change under the scheduler's hands: pods made again, namespaces deleted, nodes that flap, labels.

In: a `Stage`. Out: the same, with all nodes as they were, after a round of pods has come meanwhile. Rows of
`kinds.table`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tests.chaos.load import ZONES, make_pod, persist
from tests.chaos.pod_state import PodState
from tests.chaos.stage import BINDING, Stage
from tests.kube.api import Json

__all__ = ["flapping_nodes", "labels_changed", "namespaces_deleted", "pods_deleted_unseen", "pods_made_again"]

NUM_NAMESPACES: Final = 4
TAINT: Final = {"key": "chaos", "value": "now", "effect": "NoSchedule"}
ZONE: Final = "topology.kubernetes.io/zone"


def pods_made_again(stage: Stage) -> None:
    """Pods are deleted while they are being bound, and made again at once under the same name.

    Bindings are slow, and some take effect without an answer, so that the scheduler has to find out what came of them.
    """
    if not stage.schedulers:
        stage.launch(is_proxied=True)
    with stage.arrivals() as arrivals, ThreadPoolExecutor(4) as hands:
        while arrivals.are_coming:
            lost = stage.proxy.add("POST", BINDING, "applied", times=3)
            slow = stage.proxy.add("POST", BINDING, delay_seconds=0.2, times=20)
            chosen = stage.some_pods(12, lambda pod: not pod.node) + stage.some_pods(4, lambda pod: bool(pod.node))
            again = [(pod, make_pod(pod.key.split("/")[1], stage.namespace, stage.rng)) for pod in chosen]
            for _ in hands.map(lambda pair: _make_again(stage, *pair), again):
                stage.deeds["made again"] += 1
            stage.pause(0.1)
            stage.proxy.clear()
            stage.deeds["answers lost"] += lost.hits
            stage.deeds["slow bindings"] += slow.hits


def pods_deleted_unseen(stage: Stage) -> None:
    """A binding takes effect and its answer is lost; the pod is deleted, and who asks about it knows before the watch.

    Half of these pods are made again, so that a read finds another pod of that name.
    """
    if not stage.schedulers:
        stage.launch(is_proxied=True)
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            num_seen = len(stage.proxy.seen("POST", BINDING))
            kept_back = stage.proxy.add("POST", BINDING, "swallow", times=4)
            stage.wait_for_bindings(4, 2)
            requests = stage.proxy.seen("POST", BINDING)[num_seen : num_seen + kept_back.hits]
            names = {request.path.split("/")[-2] for request in requests}
            stage.pause(0.2)  # now the scheduler's watch has it as well, most of the time
            stage.proxy.hold_watches(r"/pods\?")
            for number, pod in enumerate(stage.some_pods(4, lambda pod: pod.key.split("/")[1] in names)):  # noqa: B023
                stage.delete_pod(pod)
                if number % 2:
                    new = make_pod(pod.key.split("/")[1], stage.namespace, stage.rng)
                    persist(lambda new=new: stage.api.create(new))  # type: ignore[misc]
                stage.deeds["deleted unseen"] += 1
            stage.proxy.clear()  # the connections are cut, and the scheduler reads the pods
            stage.pause(0.3)
            stage.proxy.release_watches()
    stage.proxy.release_watches()


def _make_again(stage: Stage, old: PodState, new: Json) -> None:
    stage.delete_pod(old)
    persist(lambda: stage.api.create(new))


def namespaces_deleted(stage: Stage) -> None:
    """Of four namespaces that pods arrive in, one after the other is deleted, and made again."""
    if not stage.schedulers:
        stage.launch()
        for number in range(NUM_NAMESPACES):
            stage.add_namespace(f"{stage.namespace}-{number}")
    pods = stage.pods()
    for number, pod in enumerate(pods):
        pod["metadata"]["namespace"] = f"{stage.namespace}-{number % NUM_NAMESPACES}"
    with stage.arrivals(pods) as arrivals:
        turn = 0
        while arrivals.are_coming:
            name = f"{stage.namespace}-{turn % NUM_NAMESPACES}"
            turn += 1
            stage.pause(0.5)
            _delete_namespace(stage, name)
            stage.pause(0.2)
            stage.add_namespace(name)
            stage.deeds["namespaces deleted"] += 1


def _delete_namespace(stage: Stage, name: str) -> None:
    """Delete a namespace as its controller does: everything in it first, and when nothing is left, itself."""
    stage.api.request("DELETE", f"/api/v1/namespaces/{name}")
    stage.pause(0.2)  # the controller is not that quick; bindings are refused from now on
    stage.api.delete_all("Pod", name)
    for kind in ("Event", "PersistentVolumeClaim"):
        stage.api.delete_all(kind, name)
    current = stage.api.get("Namespace", name)
    current["spec"]["finalizers"] = []
    stage.api.request("PUT", f"/api/v1/namespaces/{name}/finalize", current)


def flapping_nodes(stage: Stage) -> None:
    """Nodes are cordoned, tainted and deleted, and soon are as before; every now and then many at once."""
    if not stage.schedulers:
        stage.launch()
    with stage.arrivals() as arrivals:
        while arrivals.are_coming:
            number = max(1, len(stage.nodes) // 8)
            chosen = [stage.nodes[row] for row in stage.rng.permutation(len(stage.nodes))[:number]]
            how = str(stage.rng.choice(["cordoned", "tainted", "deleted"]))
            for node in chosen:
                _take_down(stage, node, how)
                stage.deeds["nodes taken down"] += 1
            stage.pause(float(stage.rng.uniform(0.1, 1.0)))
            for node in chosen:
                _bring_back(stage, node, how)


def _take_down(stage: Stage, node: Json, how: str) -> None:
    name = node["metadata"]["name"]
    if how == "deleted":
        stage.api.delete("Node", name)
    else:
        stage.api.patch("Node", name, None, {"spec": _spoiled(how)})


def _bring_back(stage: Stage, node: Json, how: str) -> None:
    if how == "deleted":
        stage.api.create(node)
    else:
        change: Any = {"unschedulable": None} if how == "cordoned" else {"taints": None}
        stage.api.patch("Node", node["metadata"]["name"], None, {"spec": change})


def _spoiled(how: str) -> Json:
    return {"unschedulable": True} if how == "cordoned" else {"taints": [TAINT]}


def labels_changed(stage: Stage) -> None:
    """Nodes move between zones and pods change their labels while other pods ask for a zone, or to be apart."""
    if not stage.schedulers:
        stage.launch()
    with stage.arrivals(_choosy_pods(stage)) as arrivals:
        while arrivals.are_coming:
            node = stage.nodes[int(stage.rng.integers(len(stage.nodes)))]["metadata"]["name"]
            zone = str(stage.rng.choice(ZONES))
            stage.api.patch("Node", node, None, {"metadata": {"labels": {ZONE: zone}}})
            stage.deeds["nodes moved"] += 1
            for pod in stage.some_pods(3):
                namespace, name = pod.key.split("/")
                change = {"metadata": {"labels": {"group": str(stage.rng.integers(4))}}}
                persist(
                    lambda name=name, namespace=namespace, change=change: stage.api.patch(  # type: ignore[misc]
                        "Pod", name, namespace, change
                    )
                )
                stage.deeds["pods relabelled"] += 1
            stage.pause(0.05)


def _choosy_pods(stage: Stage) -> list[Json]:
    """A third each: in a zone, apart from a group, spread over zones."""
    pods = stage.pods()
    for number, pod in enumerate(pods):
        group = str(stage.rng.integers(4))
        pod["metadata"]["labels"]["group"] = group
        selector = {"matchLabels": {"group": group}}
        if number % 3 == 0:
            pod["spec"]["nodeSelector"] = {ZONE: str(stage.rng.choice(ZONES))}
        elif number % 30 == 1:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif number % 3 == 2:
            rule = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            pod["spec"]["topologySpreadConstraints"] = [rule]
    return pods
