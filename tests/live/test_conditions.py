"""What is written into pods' statuses, letter for letter as kube-scheduler writes it."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.live.world.conditions import WantedStatus, status_patch
from fairway.model import ObjectMeta, Pod, PodCondition, PodStatus

NOW = 1767225600.7  # 2026-01-01T00:00:00Z and a bit
BEFORE = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message="no", observed_generation=1)
READY = PodCondition(type="Ready", status="False")
BOUND = PodCondition(type="PodScheduled", status="True")
NEW = {
    "lastProbeTime": None,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "message": "no",
    "observedGeneration": 1,
    "reason": "Unschedulable",
    "status": "False",
    "type": "PodScheduled",
}

CASES: dict[str, tuple[tuple[PodCondition, ...], str, WantedStatus, Any]] = {
    "first failure": ((), "", WantedStatus("Unschedulable", "no"), {"conditions": [NEW]}),
    "beside another condition": (
        (READY,),
        "",
        WantedStatus("Unschedulable", "no"),
        {"conditions": [NEW], "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "PodScheduled"}]},
    ),
    "the same again": ((BEFORE,), "", WantedStatus("Unschedulable", "no"), None),
    "other words": (
        (BEFORE,),
        "",
        WantedStatus("Unschedulable", "still no"),
        {
            "conditions": [{"message": "still no", "type": "PodScheduled"}],
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        },
    ),
    "an error instead": (
        (BEFORE,),
        "",
        WantedStatus("SchedulerError", "broken"),
        {
            "conditions": [{"message": "broken", "reason": "SchedulerError", "type": "PodScheduled"}],
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        },
    ),
    "from true to false": (
        (BOUND,),
        "",
        WantedStatus("Unschedulable", "no"),
        {
            "conditions": [{name: NEW[name] for name in sorted(NEW) if name != "lastProbeTime"}],
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        },
    ),
    "a node is promised": ((BEFORE,), "", WantedStatus("Unschedulable", "no", "n1"), {"nominatedNodeName": "n1"}),
    "the promise is taken back": (
        (BEFORE,),
        "n1",
        WantedStatus("Unschedulable", "no", ""),
        {"nominatedNodeName": None},
    ),
    "the promise stands": ((BEFORE,), "n1", WantedStatus("Unschedulable", "no"), None),
    "only a promise": ((), "", WantedStatus(nominated="n1"), {"nominatedNodeName": "n1"}),
}


@pytest.mark.parametrize(("conditions", "nominated", "wanted", "status"), CASES.values(), ids=list(CASES))
def test_the_patch_is_the_difference(
    conditions: tuple[PodCondition, ...], nominated: str, wanted: WantedStatus, status: Any
) -> None:
    meta = ObjectMeta(name="p", namespace="default", uid="u", resource_version="7", generation=1)
    pod = Pod(metadata=meta, status=PodStatus(conditions=conditions, nominated_node_name=nominated))
    patch = status_patch(pod, wanted, NOW)
    assert patch == (None if status is None else {"metadata": {"uid": "u", "resourceVersion": "7"}, "status": status})
