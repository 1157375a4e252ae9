"""Every kind of chaos in small, on a real control plane; `make chaos` is the same at full size.

The seed is new each time and printed with a failure; `python -m tests.chaos --kind NAME --seed N --pods 100` goes on
from there.
"""

from __future__ import annotations

import secrets

import pytest

from tests.chaos.kinds.table import KINDS
from tests.chaos.load import Size
from tests.chaos.report import table, words
from tests.chaos.trial import try_kind
from tests.kube.conftest import control_plane, shared_control_plane
from tests.kube.control_plane import ControlPlane

__all__ = ["control_plane", "shared_control_plane"]

SMALL = Size(num_pods=60, seconds=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_everything_holds_after(control_plane: ControlPlane, name: str) -> None:
    assert control_plane.audit_file is not None
    verdict = try_kind(control_plane, KINDS[name], SMALL, secrets.randbelow(1_000_000), control_plane.audit_file)
    assert verdict.is_clean, f"\n{table([verdict])}\n{words([verdict])}"
