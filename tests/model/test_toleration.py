"""Tolerations bear the taints that k8s.io/api v0.36.4 lets them bear."""

from __future__ import annotations

import pytest

from fairway.model import Taint, Toleration, find_untolerated_taint, tolerates

GPU = Taint(key="gpu", value="a100", effect="NoSchedule")

CASES = {
    "equal": (Toleration(key="gpu", operator="Equal", value="a100", effect="NoSchedule"), GPU, True),
    "no operator is Equal": (Toleration(key="gpu", value="a100", effect="NoSchedule"), GPU, True),
    "other value": (Toleration(key="gpu", value="h100", effect="NoSchedule"), GPU, False),
    "no value": (Toleration(key="gpu", effect="NoSchedule"), GPU, False),
    "Exists": (Toleration(key="gpu", operator="Exists", effect="NoSchedule"), GPU, True),
    "Exists looks at no value": (Toleration(key="gpu", operator="Exists", value="h100"), GPU, True),
    "any effect": (Toleration(key="gpu", operator="Exists"), GPU, True),
    "other effect": (Toleration(key="gpu", operator="Exists", effect="NoExecute"), GPU, False),
    "other key": (Toleration(key="cpu", operator="Exists"), GPU, False),
    "any key": (Toleration(operator="Exists"), GPU, True),
    "any key with Equal looks at the value": (Toleration(value="a100"), GPU, True),
    "nothing at all": (Toleration(), GPU, False),
    "nothing at all, empty taint": (Toleration(), Taint(key="x", effect="NoSchedule"), True),
    "Gt is off": (Toleration(key="n", operator="Gt", value="1"), Taint(key="n", value="2"), False),
    "Lt is off": (Toleration(key="n", operator="Lt", value="3"), Taint(key="n", value="2"), False),
    "unknown operator": (Toleration(key="gpu", operator="exists"), GPU, False),
}


@pytest.mark.parametrize(("toleration", "taint", "expected"), CASES.values(), ids=CASES)
def test_tolerates(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert tolerates(toleration, taint) is expected


def test_the_first_taint_nobody_bears() -> None:
    soft = Taint(key="busy", effect="PreferNoSchedule")
    lost = Taint(key="lost", effect="NoExecute")
    hard = ("NoSchedule", "NoExecute")
    assert find_untolerated_taint([], [soft, lost, GPU], hard) is lost
    assert find_untolerated_taint([Toleration(key="lost", operator="Exists")], [soft, lost, GPU], hard) is GPU
    assert find_untolerated_taint([Toleration(operator="Exists")], [soft, lost, GPU], hard) is None
    assert find_untolerated_taint([], [soft], hard) is None
