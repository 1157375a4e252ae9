"""Storms of preemption: the important come in bursts, into a cluster full of those who are not.

In: a `Stage`. Out: the same, after waves of pods of ever higher priority have pushed others out, against disruption
budgets, with and without a grace period (KWOK is the kubelet that ends them). A row of `kinds.table`.
"""

from __future__ import annotations

from typing import Final

from tests.chaos.stage import Stage
from tests.kube.api import Json

__all__ = ["preemption_storm"]

PRIORITIES: Final = {"chaos-low": -10, "chaos-middle": 100, "chaos-high": 1000}
SHARES: Final = {"chaos-low": 0.6, "chaos-middle": 0.25, "chaos-high": 0.15}
"""Of a round's pods; the first wave is made half as many again, so that it fills the cluster."""


def preemption_storm(stage: Stage) -> None:
    """Three waves, each more important than the one before."""
    if not stage.schedulers:
        for name, value in PRIORITIES.items():
            stage.api.apply(_priority_class(name, value))  # an earlier trial may have left it
        stage.api.create(_budget(stage))
        stage.control_plane.start_kubelet()
        stage.launch()
    for name, share in SHARES.items():
        factor = 1.5 if name == "chaos-low" else 1.0
        pods = stage.pods(int(stage.size.num_pods * share * factor))
        for number, pod in enumerate(pods):
            pod["spec"]["priorityClassName"] = name
            pod["spec"]["terminationGracePeriodSeconds"] = 30 if number % 2 else 0
            pod["metadata"]["labels"]["guarded"] = "yes" if number % 5 == 0 else "no"
        before = sum(sighting.verb == "DELETED" for sighting in stage.history.sightings)
        with stage.arrivals(pods):
            pass
        stage.wait_for_bindings(len(pods) // 2, 3)
        gone = sum(sighting.verb == "DELETED" for sighting in stage.history.sightings) - before
        stage.deeds["preempted"] += gone


def _priority_class(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def _budget(stage: Stage) -> Json:
    """Some of the pods may not be disrupted, if it can be helped."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": stage.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"guarded": "yes"}}},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
            "observedGeneration": 1,
        },
    }
