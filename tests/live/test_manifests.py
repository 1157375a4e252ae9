"""What is kept of how a pod was made: all that its user said, nothing that a server or we put there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairway.live.batch.manifests import PodManifests, manifest_of, read_manifest
from fairway.model import Pod, decode_object

TOKENS = {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
USERS: dict[str, Any] = {
    "metadata": {
        "name": "it",
        "namespace": "ns",
        "labels": {"app": "it"},
        "annotations": {"fairway.dev/requeue": "recreate"},
        "finalizers": ["their.own/finalizer"],
    },
    "spec": {
        "containers": [
            {"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/data"}], "newField": {"a": 1}}
        ],
        "initContainers": [{"name": "first", "volumeMounts": []}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "priorityClassName": "high",
        "serviceAccountName": "robot",
    },
}
OTHERS: dict[str, Any] = {
    "metadata": {
        "uid": "u1",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "managedFields": [{"manager": "kubectl"}],
        "generateName": "i",
        "selfLink": "x",
    },
    "spec": {
        "nodeName": "n1",
        "priority": 1000,
        "preemptionPolicy": "Never",
        "overhead": {"cpu": "1"},
        "ephemeralContainers": [{"name": "debug"}],
        "serviceAccount": "robot",
    },
}


class LabelledGroups:
    """Groups by a label."""

    reading = object()

    def membership(self, pod: Pod) -> str | None:
        return pod.metadata.labels.get("group")


def as_it_is() -> dict[str, Any]:
    """The pod as a server has it."""
    tree: dict[str, Any] = json.loads(json.dumps(USERS))
    tree["metadata"] |= OTHERS["metadata"]
    tree["spec"] |= OTHERS["spec"]
    tree["metadata"]["annotations"] |= {
        "fairway.dev/deadline": "2026-01-01T00:00:00Z",
        "fairway.dev/made-anew-from": "u0",
        "alibabacloud.com/gpu-index": "3",
    }
    for kind in ("containers", "initContainers"):
        tree["spec"][kind][0]["volumeMounts"].append(TOKENS)
    tree["spec"]["volumes"].append({"name": TOKENS["name"], "projected": {}})
    return tree | {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "podIP": "10.0.0.1"}}


def pod_of(tree: dict[str, Any]) -> Pod:
    pod = decode_object(json.dumps(tree).encode(), "test")
    assert isinstance(pod, Pod)
    return pod


def test_what_its_user_said_is_kept_and_nothing_else() -> None:
    text = manifest_of(json.dumps(as_it_is()).encode(), "u1")
    made = json.loads(text)
    assert made["metadata"]["annotations"].pop("fairway.dev/made-anew-from") == "u1"
    assert made == USERS | {"apiVersion": "v1", "kind": "Pod"}
    assert read_manifest(text).metadata.name == "it"


@pytest.mark.parametrize("text", ["{", "{}", '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"it"}}'])
def test_what_nobody_of_ours_wrote_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a pod to be made anew: "):
        read_manifest(text)


def test_only_bare_pods_that_ask_for_it_are_kept_and_only_while_they_are_there() -> None:
    store = PodManifests()
    store.groups = LabelledGroups()
    plain = as_it_is()
    silent, member, owned = (json.loads(json.dumps(plain)) for _ in range(3))
    for number, each in enumerate((silent, member, owned)):
        each["metadata"] |= {"uid": f"v{number}"}
    del (
        silent["metadata"]["annotations"]["fairway.dev/requeue"],
        member["metadata"]["annotations"]["fairway.dev/requeue"],
    )
    member["metadata"]["labels"] = {"group": "g"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    owned["metadata"]["ownerReferences"] = [owner]
    for each in (plain, silent, member, owned):
        store.keep("ADDED", pod_of(each), json.dumps({"type": "ADDED", "object": each}).encode())
    assert [store.text(uid) is not None for uid in ("u1", "v0", "v1", "v2")] == [True, False, True, False]
    again = read_manifest(str(store.text("u1")))
    assert store.why_not([again]) == ""
    held = store.take([again])
    store.keep("DELETED", pod_of(plain), b"")
    assert store.text("u1") == held["u1"], "a record has it"
    store.drop(["u1"])
    assert store.text("u1") is None
    assert store.why_not([again]).endswith("ns/it had gone before it was written down how it was made")
    store.may_create = False
    assert "may not create pods" in store.why_not([again])
