"""Requests beyond 64 bits: kube-scheduler reads them as 0 and binds the pod; here they fit nowhere, as documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.cycle import Outcome
from fairway.testing import node, pod
from tests.record.runs import profile

LIVE = Path(__file__).parents[2] / "docs" / "live.md"


@pytest.mark.parametrize("amount", ["100E", "9223372036854775808", "1e30", "8Ei"])
@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "example.com/device"])
def test_a_request_that_no_64_bit_number_holds_fits_nowhere(resource: str, amount: str) -> None:
    roomy: dict[str, Any] = {"cpu": 64, "memory": "512Gi", "resources": {"example.com/device": "8"}}
    decision = profile([node("a", **roomy), node("b")]).decide(pod("p", requests={resource: amount}))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert f"2 Insufficient {resource}" in decision.message


def test_the_difference_is_documented() -> None:
    assert "A request that no 64-bit number holds" in LIVE.read_text()
