"""Controllers and the pods that a cluster has of them.

In: names, numbers, images. Out: plain objects, as `kubectl get -o json` prints them. Shared by the tests about what is
there already and about roll-outs.
"""

from __future__ import annotations

from typing import Any

OWNERS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1"}


def template(name: str, image: str = "v1", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str = "web", image: str = "v1", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    selector: Any = {"app": name} if kind == "ReplicationController" else {"matchLabels": {"app": name}}
    body = {"template": template(name, image, cpu), **({} if kind == "Job" else {"selector": selector}), **spec}
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": body}


def running(
    name: str,
    node: str,
    owner: str,
    *,
    app: str = "web",
    image: str = "v1",
    cpu: str = "1",
    labels: dict[str, str] | None = None,
    phase: str = "Running",
) -> dict[str, Any]:
    """A pod on a node, as the API server shows it: with what it fills in."""
    kind, _, owner_name = owner.partition("/")
    reference = {
        "apiVersion": OWNERS.get(kind, "v1"),
        "kind": kind,
        "name": owner_name,
        "uid": owner,
        "controller": True,
    }
    volume = {"name": "kube-api-access", "emptyDir": {}}
    body = template(app, image, cpu, nodeName=node, priority=0, schedulerName="default-scheduler", volumes=[volume])
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": app} | (labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta | {"ownerReferences": [reference]},
        "spec": body["spec"],
        "status": {"phase": phase},
    }


def deployment_pods(
    number: int, nodes: list[str], *, name: str = "web", image: str = "v1", mark: str = "abc"
) -> list[Any]:
    """Pods of a ReplicaSet of a Deployment, on the nodes in turn."""
    return [
        running(
            f"{name}-{mark}-{index}",
            nodes[index % len(nodes)],
            f"ReplicaSet/{name}-{mark}",
            app=name,
            image=image,
            labels={"pod-template-hash": mark},
        )
        for index in range(number)
    ]


def replica_set(number: int, *, name: str = "web", image: str = "v1", mark: str = "abc") -> dict[str, Any]:
    """The ReplicaSet of those pods."""
    one = workload("ReplicaSet", name, image, replicas=number)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "d", "controller": True}
    one["metadata"] = {
        "name": f"{name}-{mark}",
        "namespace": "default",
        "uid": f"ReplicaSet/{name}-{mark}",
        "ownerReferences": [owner],
    }
    one["spec"]["selector"]["matchLabels"]["pod-template-hash"] = mark
    one["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = mark
    # What the API server fills in.
    one["spec"]["template"]["spec"] |= {"restartPolicy": "Always", "schedulerName": "default-scheduler"}
    return one
