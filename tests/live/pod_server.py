"""Pods beside objects of ours on an API server of a few lines, with a kubelet that does what a test says.

In: requests, as `tests.live.batch_server` has them; nodes, and how each incarnation of a pod ends. Out: what a
kube-apiserver would answer, and everything that happens to pods and nodes, line by line, as a watch would tell it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from fairway.live.api.connection import Answer
from tests.live.batch_server import BatchServer, Json

PODS = "/api/v1/namespaces/ns/pods"


class PodServer(BatchServer):
    """Pods by name."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[str, Json] = {}
        self.log: list[tuple[str, Json]] = []  # verb, and the pod as it was then
        self.made: list[Json] = []  # what was asked to be made
        self.bound: list[str] = []  # uids
        self.refuses: Callable[[Json], Answer | None] = lambda pod: None

    def answer(self, method: str, path: str, body: bytes | None) -> Answer:
        if not path.startswith(PODS):
            return super().answer(method, path, body)
        name, _, subresource = path.removeprefix(PODS).removeprefix("/").partition("/")
        given: Json = json.loads(body) if body else {}
        if not name:
            return self._make(given)
        there = self.pods.get(name)
        if there is None:
            return self._say(404, {"message": f"pods {name} not found"})
        options = given.get("deleteOptions", given)
        if options.get("preconditions", {}).get("uid", there["metadata"]["uid"]) != there["metadata"]["uid"]:
            return self._say(409, {"message": "the uid is another one"})
        if method == "DELETE" or subresource == "eviction":
            self.remove(there)
            return self._say(200, there)
        return self._say(200, there)  # it is read, or a status is written that nobody looks at

    def _make(self, given: Json) -> Answer:
        if (refusal := self.refuses(given)) is not None:
            return refusal
        if given["metadata"]["name"] in self.pods:
            return self._say(409, {"message": "already exists"})
        self.made.append(copy.deepcopy(given))
        return self._say(201, self.come(given))

    # -- what happens --------------------------------------------------------------------------------------------------

    def come(self, given: Json) -> Json:
        """A pod is made."""
        self.version += 1
        made = copy.deepcopy(given)
        made["metadata"] |= {"uid": f"pod-{self.version}", "namespace": "ns", "managedFields": [{"manager": "x"}]}
        made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        made["status"] = {"phase": "Pending"}
        self.pods[made["metadata"]["name"]] = made
        self._happened("ADDED", made)
        return made

    def _happened(self, verb: str, pod: Json) -> None:
        self.version += 1
        pod["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((verb, copy.deepcopy(pod)))

    def bind(self, name: str, node: str) -> None:
        pod = self.pods[name]
        assert not pod["spec"].get("nodeName"), "it has a node"
        pod["spec"]["nodeName"] = node
        pod["status"]["phase"] = "Running"
        self.bound.append(pod["metadata"]["uid"])
        self._happened("MODIFIED", pod)

    def end(self, name: str, phase: str) -> None:
        pod = self.pods[name]
        pod["status"]["phase"] = phase
        self._happened("MODIFIED", pod)

    def remove(self, pod: Json) -> None:
        """At once if it has ended or has no node; else its kubelet has to say so."""
        if pod["status"]["phase"] in ("Succeeded", "Failed") or not pod["spec"].get("nodeName"):
            self.vanish(pod["metadata"]["name"])
        elif "deletionTimestamp" not in pod["metadata"]:
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            self._happened("MODIFIED", pod)

    def vanish(self, name: str) -> None:
        self._happened("DELETED", self.pods.pop(name))

    def lines_of(self, number: int) -> list[tuple[str, bytes]]:
        """What happened since that entry of the log."""
        return [(verb, json.dumps({"type": verb, "object": pod}).encode()) for verb, pod in self.log[number:]]


def bare_pod(name: str, **said: str) -> dict[str, Any]:
    """As its user submits it."""
    annotations = {"fairway.dev/queue": "q", "fairway.dev/requeue": "recreate"}
    annotations |= {f"fairway.dev/{key.replace('_', '-')}": value for key, value in said.items()}
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}, "stdin": True}
    spec = {"schedulerName": "default-scheduler", "containers": [container], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": spec}
