"""Volumes for the chaos of volumes: claims that wait for their first consumer, and who provisions them.

In: an API. Out: objects, `Provisioner`, which plays the external provisioner and the volume controller in a thread
(claims that a scheduler has chosen a node for get a volume there; now and then it refuses, and takes the choice back as
the real one does when a node has no capacity), and `volume_states` for the judge. Used by `kinds.storage` and `trial`.
"""

from __future__ import annotations

import http.client
import threading
from typing import Final, Self

from numpy.random import Generator

from tests.chaos.judge import VolumeState
from tests.kube.api import Api, ApiError, Json

__all__ = ["CLASS_NAME", "Provisioner", "csi_node", "make_claim", "storage_class", "volume_states"]

DRIVER: Final = "csi.chaos.test"
CLASS_NAME: Final = "chaos-local"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
VOLUMES_PER_NODE: Final = 6
ROUND_SECONDS: Final = 0.1


def storage_class() -> Json:
    """Binds when a pod has its node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS_NAME},
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    }


def csi_node(node: str) -> Json:
    """A node can attach a few volumes."""
    driver = {
        "name": DRIVER,
        "nodeID": node,
        "topologyKeys": ["kubernetes.io/hostname"],
        "allocatable": {"count": VOLUMES_PER_NODE},
    }
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": node},
        "spec": {"drivers": [driver]},
    }


def make_claim(name: str, namespace: str) -> Json:
    """A claim for a volume that is not there yet."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS_NAME,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


class Provisioner:
    """Makes volumes for claims that have a node, and deletes those whose claim is gone."""

    def __init__(self, api: Api, rng: Generator, refusals: float = 0.1) -> None:
        self.num_provisioned = 0
        self.num_refused = 0
        self._api = api
        self._rng = rng
        self.refusals = refusals
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="chaos-provisioner", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(timeout=60)

    def _work(self) -> None:
        while not self._is_over.wait(ROUND_SECONDS):
            try:
                claims = self._api.items("PersistentVolumeClaim")
                for claim in claims:
                    self._serve(claim)
                self._reclaim({claim["metadata"]["uid"] for claim in claims})
            except (ApiError, OSError, http.client.HTTPException):
                continue  # somebody was faster, or the server restarts: the next round knows more

    def _serve(self, claim: Json) -> None:
        notes = claim["metadata"].get("annotations", {})
        node = notes.get(SELECTED_NODE)
        if not node or claim["spec"].get("volumeName"):
            return
        try:
            if self._rng.random() < self.refusals:
                self._refuse(claim)
            else:
                self._provision(claim, node)
        except ApiError as error:
            if error.status not in (404, 409):  # it was deleted or changed meanwhile
                raise

    def _refuse(self, claim: Json) -> None:
        metadata = claim["metadata"]
        change = {"metadata": {"annotations": {SELECTED_NODE: None}, "resourceVersion": metadata["resourceVersion"]}}
        self._api.patch("PersistentVolumeClaim", metadata["name"], metadata["namespace"], change)
        self.num_refused += 1

    def _provision(self, claim: Json, node: str) -> None:
        metadata, name = claim["metadata"], f"pv-{claim['metadata']['uid']}"
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
        reference = {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")}
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": CLASS_NAME,
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **reference},
                "csi": {"driver": DRIVER, "volumeHandle": name},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
            "status": {"phase": "Bound"},
        }
        try:
            self._api.create(volume)
        except ApiError as error:
            if error.status != 409:  # made in a round that could not finish
                raise
        change = {
            "metadata": {"annotations": {BIND_COMPLETED: "yes"}, "resourceVersion": metadata["resourceVersion"]},
            "spec": {"volumeName": name},
        }
        bound = self._api.patch("PersistentVolumeClaim", metadata["name"], metadata["namespace"], change)
        status = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
        self._api.update_status({**bound, "status": status})
        self.num_provisioned += 1

    def _reclaim(self, uids: set[str]) -> None:
        """Delete volumes of claims that are no more."""
        for volume in self._api.items("PersistentVolume"):
            if volume["spec"]["claimRef"]["uid"] not in uids:
                current = self._api.items("PersistentVolumeClaim", volume["spec"]["claimRef"]["namespace"])
                if all(claim["metadata"]["uid"] != volume["spec"]["claimRef"]["uid"] for claim in current):
                    self._api.delete("PersistentVolume", volume["metadata"]["name"])


def volume_states(api: Api) -> tuple[list[VolumeState], dict[str, int]]:
    """All volumes, and how many each node can attach."""
    volumes = []
    for item in api.items("PersistentVolume"):
        spec = item["spec"]
        terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
        nodes = frozenset(value for term in terms for part in term["matchExpressions"] for value in part["values"])
        claim = f"{spec['claimRef']['namespace']}/{spec['claimRef']['name']}"
        volumes.append(VolumeState(item["metadata"]["name"], claim, nodes))
    limits = {
        item["metadata"]["name"]: driver["allocatable"]["count"]
        for item in api.items("CSINode")
        for driver in item["spec"]["drivers"]
    }
    return volumes, limits
