"""Which taints a pod bears.

Pure questions about a toleration and a taint, asked by the plugins TaintToleration, NodeUnschedulable and
PodTopologySpread, and by `cluster/` once for each set of taints. The meaning is that of
`Toleration.ToleratesTaint` in `k8s.io/api/core/v1` v0.36.4 with the gate TaintTolerationComparisonOperators
off, as it is by default: the operators Lt and Gt tolerate nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.model.node import Taint
from fairway.model.pod import Toleration

__all__ = ["find_untolerated_taint", "tolerates"]


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration bears the taint: an empty effect or key is any, an empty operator is Equal."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def find_untolerated_taint(
    tolerations: Iterable[Toleration], taints: Iterable[Taint], effects: tuple[str, ...]
) -> Taint | None:
    """The first taint with one of the effects that no toleration bears."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in effects and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None
