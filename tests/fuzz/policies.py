"""Objects beside pods and nodes: priority classes, disruption budgets, services and controllers.

In: a `Draw`. Out: objects; and for controllers the references by which pods name them as their owner.
"""

from __future__ import annotations

from tests.fuzz.draw import Draw, Json
from tests.fuzz.words import NAMESPACES, label_selector, pod_labels

__all__ = ["make_budgets", "make_controllers", "make_priority_classes"]

CONTROLLERS = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"))


def make_priority_classes(draw: Draw) -> list[Json]:
    """A few classes; at times one is the default, at times one never preempts."""
    found = []
    for index, value in enumerate(draw.some((-1000, -5, 0, 1, 100, 1000, 1_000_000_000), 4, 1)):
        one: Json = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"priority-{index}"},
            "value": value,
        }
        if draw.chance(0.15):
            one["preemptionPolicy"] = "Never"
        if draw.chance(0.08):
            one["globalDefault"] = True
        found.append(one)
    return found


def make_budgets(draw: Draw) -> list[Json]:
    """Disruption budgets, some of them used up, some with pods whose disruption is under way."""
    found = []
    for index in range(draw.number(1, 4)):
        spec: Json = {draw.pick(("minAvailable", "maxUnavailable")): draw.pick((0, 1, 2, "50%"))}
        if draw.chance(0.93):
            spec["selector"] = label_selector(draw)
        status: Json = {
            "disruptionsAllowed": draw.pick((0, 0, 1, 2)),
            "currentHealthy": 3,
            "desiredHealthy": 2,
            "expectedPods": 3,
        }
        if draw.chance(0.25):
            status["disruptedPods"] = {f"p{draw.number(0, 20)}": "2029-12-31T00:00:00Z"}
        metadata = {"name": f"budget-{index}", "namespace": draw.pick(NAMESPACES) if draw.chance(0.3) else "default"}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        found.append({**kind, "metadata": metadata, "spec": spec, "status": status})
    return found


def make_controllers(draw: Draw) -> tuple[list[Json], dict[str, list[Json]]]:
    """Services and controllers, and by namespace the references to the controllers."""
    found: list[Json] = []
    owners: dict[str, list[Json]] = {}
    for index in range(draw.number(1, 4)):
        namespace = draw.pick(NAMESPACES) if draw.chance(0.3) else "default"
        labels = pod_labels(draw) or {"app": "web"}
        if draw.chance(0.4):
            metadata: Json = {"name": f"service-{index}", "namespace": namespace}
            spec: Json = {"ports": [{"port": 80}]} | ({"selector": labels} if draw.chance(0.9) else {})
            spec |= {"clusterIP": "None", "clusterIPs": ["None"]}
            found.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
            continue
        version, kind = draw.pick(CONTROLLERS)
        name = f"{kind.lower()}-{index}"
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        selector = labels if kind == "ReplicationController" else {"matchLabels": labels}
        spec = {"replicas": 3, "selector": selector, "template": template}
        if kind == "StatefulSet":
            spec["serviceName"] = "s"
        metadata = {"name": name, "namespace": namespace, "uid": f"owner-{name}"}
        found.append({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": f"owner-{name}", "controller": True}
        owners.setdefault(namespace, []).append(owner)
    return found, owners
