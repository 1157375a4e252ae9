"""The stages are what KWOK reads; that they work is seen only in a cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml

from tests.e2e.stages import STORAGE_CLASS, stages

STAGES: list[Any] = list(yaml.safe_load_all(stages()))
STEPS = [(stage["metadata"]["name"], step) for stage in STAGES for step in stage["spec"]["steps"]]


def test_each_stage_has_a_name_of_its_own() -> None:
    assert {stage["kind"] for stage in STAGES} == {"Stage"}
    assert set(Counter(stage["metadata"]["name"] for stage in STAGES).values()) == {1}


def test_nodes_and_pods_have_stages() -> None:
    """KWOK brings its own for a kind that has none: nodes would then be ready whatever a spec says."""
    assert {"Node", "Pod"} <= {stage["spec"]["resourceRef"]["kind"] for stage in STAGES}


@pytest.mark.parametrize(
    ("name", "step"), [each for each in STEPS if "patch" in each[1]], ids=lambda each: str(each)[:24]
)
def test_a_patch_is_of_one_object_and_of_its_status(name: str, step: Any) -> None:
    patch = step["patch"]
    assert patch["subresource"] == "status", name
    assert patch["template"].startswith("metadata: {uid: {{ .metadata.uid | Quote }}}\nstatus:\n"), name


def test_volumes_are_made_for_the_class_that_claims_get() -> None:
    name = str(STORAGE_CLASS["metadata"]["name"])
    (claims,) = [stage for stage in STAGES if stage["spec"]["resourceRef"]["kind"] == "PersistentVolumeClaim"]
    conditions = claims["spec"]["selector"]["matchExpressions"]
    assert {"key": ".spec.storageClassName", "operator": "In", "values": [name]} in conditions
