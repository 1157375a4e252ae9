"""Volumes that come and go while pods wait for them: WaitForFirstConsumer under churn.

In: a `Stage`. Out: the same, after a round in which every other pod has a claim, `volumes.Provisioner` has made volumes
and refused some, and pods and claims were deleted in the middle of that. A row of `kinds.table`.
"""

from __future__ import annotations

import numpy as np

from tests.chaos.load import persist
from tests.chaos.stage import Stage
from tests.chaos.volumes import Provisioner, csi_node, make_claim, storage_class
from tests.kube.api import Json

__all__ = ["volume_churn"]


def volume_churn(stage: Stage) -> None:
    """Claims are provisioned, refused and deleted under the pods that want them."""
    if not stage.schedulers:
        stage.api.create(storage_class())
        stage.api.create_all(csi_node(node["metadata"]["name"]) for node in stage.nodes)
        stage.launch()
    stage.api.delete_all("PersistentVolumeClaim")
    pods = stage.pods()
    claims = [_give_claim(pod) for pod in pods[::4]]
    stage.api.create_all(claims)
    rng = np.random.default_rng(stage.rng.integers(1 << 30))  # the provisioner is another thread
    with Provisioner(stage.api, rng) as provisioner:
        with stage.arrivals(pods) as arrivals:
            while arrivals.are_coming:
                for pod in stage.some_pods(2, lambda pod: bool(pod.claims)):
                    namespace, name = pod.claims[0].split("/")
                    stage.delete_pod(pod)
                    if stage.rng.random() < 0.5:
                        persist(lambda name=name, at=namespace: stage.api.delete("PersistentVolumeClaim", name, at))  # type: ignore[misc]
                        stage.deeds["claims deleted"] += 1
                    stage.deeds["deleted"] += 1
                stage.pause(0.3)
        provisioner.refusals = 0.0
        stage.settle()  # with somebody there to provision what is still wanted
        stage.deeds["provisioned"] += provisioner.num_provisioned
        stage.deeds["provisioning refused"] += provisioner.num_refused


def _give_claim(pod: Json) -> Json:
    """Let a pod have a claim of its own; returns the claim."""
    metadata = pod["metadata"]
    name = f"claim-{metadata['name']}"
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    return make_claim(name, metadata["namespace"])
