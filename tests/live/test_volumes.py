"""Volumes before the pod: what is written to claims and volumes, and what is waited for."""

from __future__ import annotations

import copy

import pytest

from fairway.live.service import LiveScheduler
from tests.live.fake_api_server import FakeApiServer, Tree
from tests.live.live_cluster import bindings, condition, node, play, pod

SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
WAITING = {"metadata": {"name": "late"}, "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}
STATIC = WAITING | {"provisioner": "kubernetes.io/no-provisioner"}
QUICK: Tree = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}


def claim(volume: str = "") -> Tree:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}
    if volume:
        spec["volumeName"] = volume
    return {"metadata": {"name": "data"}, "spec": spec, "status": {"phase": "Bound" if volume else "Pending"}}


def volume(name: str = "pv-1") -> Tree:
    source = {"csi": {"driver": "example.com/disk", "volumeHandle": name}}
    spec = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late", **source}
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}


def user() -> Tree:
    return pod("app", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])


def provision(api: FakeApiServer, name: str = "pv-1") -> None:
    """What the provisioner and the volume controller do."""
    known = copy.deepcopy(api.objects["persistentvolumeclaims"]["default/data"])
    if name not in api.objects.get("persistentvolumes", {}):
        api.put("persistentvolumes", volume(name))
    known["metadata"].setdefault("annotations", {}).update(COMPLETED)
    known["spec"]["volumeName"] = name
    known["status"] = {"phase": "Bound"}
    api.put("persistentvolumeclaims", known)


def test_a_claim_is_told_its_node_and_waited_for() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/persistentvolumeclaims/data"))
        await api.until(lambda: api.pod("app")["status"].get("nominatedNodeName") == "n1")
        assert not api.sent("POST", "/binding")
        provision(api)
        await api.until(lambda: bindings(api) == {"app": "n1"})

    api = play(
        story,
        ("nodes", node("n1")),
        ("storageclasses", copy.deepcopy(WAITING)),
        ("persistentvolumeclaims", claim()),
        ("pods", user()),
    )
    patch = api.sent("PATCH", "/persistentvolumeclaims/data")
    assert [one["metadata"]["annotations"] for one in patch] == [{SELECTED: "n1"}]
    assert "resourceVersion" in patch[0]["metadata"]


def test_a_volume_is_given_to_the_claim() -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: api.sent("PATCH", "/persistentvolumes/pv-1"))
        provision(api)
        await api.until(lambda: bindings(api) == {"app": "n1"})

    api = play(
        story,
        ("nodes", node("n1")),
        ("storageclasses", copy.deepcopy(STATIC)),
        ("persistentvolumes", volume()),
        ("persistentvolumeclaims", claim()),
        ("pods", user()),
    )
    spec = api.objects["persistentvolumes"]["pv-1"]["spec"]
    assert spec["claimRef"]["name"] == "data"
    notes = api.objects["persistentvolumes"]["pv-1"]["metadata"]["annotations"]
    assert notes["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert not api.sent("PATCH", "/persistentvolumeclaims/")


FAILURES = {
    "a conflict": ("conflict", "the object has been modified; resourceVersion differs"),
    "the provisioner gives up": ("reset", 'binding volumes: selectedNode annotation reset for PVC "data"'),
    "it is made elsewhere": (
        "elsewhere",
        'binding volumes: pv "far" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
    ),
    "nobody makes it": ("timeout", "binding volumes: context deadline exceeded"),
}


@pytest.mark.parametrize(("what", "words"), FAILURES.values(), ids=list(FAILURES))
def test_a_volume_that_does_not_come_fails_the_attempt(what: str, words: str) -> None:
    async def story(api: FakeApiServer, live: LiveScheduler) -> None:
        await api.until(lambda: live.is_synced)
        if what == "conflict":
            api.answer("PATCH", "/persistentvolumeclaims/data", 409, words)
        api.put("pods", user())
        if what == "reset":
            await api.until(lambda: api.sent("PATCH", "/persistentvolumeclaims/data"))
            known = copy.deepcopy(api.objects["persistentvolumeclaims"]["default/data"])
            del known["metadata"]["annotations"][SELECTED]
            api.put("persistentvolumeclaims", known)
        if what == "elsewhere":
            await api.until(lambda: api.sent("PATCH", "/persistentvolumeclaims/data"))
            far = volume("far")
            wrong = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}
            far["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [wrong]}]}}
            api.put("persistentvolumes", far)
            provision(api, "far")
        await api.until(lambda: condition(api, "app"))
        assert condition(api, "app")["reason"] == "SchedulerError"
        assert condition(api, "app")["message"] == f'running PreBind plugin "VolumeBinding": {words}'
        if what == "elsewhere":
            return  # the claim is bound to it for good
        await api.until(lambda: len(api.sent("PATCH", "/persistentvolumeclaims/data")) == 2)
        provision(api)
        await api.until(lambda: bindings(api) == {"app": "n1"})

    profile = {
        "schedulerName": "default-scheduler",
        "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}],
    }
    play(
        story,
        ("nodes", node("n1")),
        ("storageclasses", copy.deepcopy(WAITING)),
        ("persistentvolumeclaims", claim()),
        configuration=QUICK | {"profiles": [profile]} if what == "timeout" else QUICK,
    )
