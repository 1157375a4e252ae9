"""DynamicResources: device claims (resource.k8s.io). Not supported yet, and said so.

A pod without claims passes, with the same words in failure messages as kube-scheduler's. A pod that uses resource
claims is refused on every node with a reason that says that Fairway can not allocate devices yet; nothing is ever
half-allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model.duration import Duration
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Attempt,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PluginArgs,
    PodClass,
    PostFilterResult,
    Problem,
    Refusal,
    Resource,
    Skip,
)
from fairway.plugins.unprepared import Unprepared

UNSUPPORTED = Refusal(
    ("pods with resource claims (resource.k8s.io) are not supported yet by Fairway",), Code.UNRESOLVABLE
)
NOTHING_TO_DEALLOCATE = Refusal(("no new claims to deallocate",))
NOT_FOUND = Refusal(("not found",), Code.ERROR)


class DynamicResourcesArgs(PluginArgs, frozen=True, kw_only=True):
    """How long looking for devices on one node may take (0: as long as it takes), and binding may wait for them."""

    filter_timeout: Duration = Duration(10)
    binding_timeout: Duration = Duration(600)

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        if self.filter_timeout < 0:
            yield Problem("filterTimeout", "it is negative; allowed: 0s (no limit) or more")
        if self.binding_timeout < 1:
            yield Problem("bindingTimeout", "too short; allowed: 1s or more")


class DynamicResources(Plugin):
    """Keeps the place and the words of the real one."""

    annotations = ()
    Args = DynamicResourcesArgs
    reads = Aspect(0)
    acts = frozenset({"preEnqueue", "reserve", "preBind"})
    normalize = "default"

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Refusal | Skip:
        """Nothing to do for pods without claims."""
        return UNSUPPORTED if pod.spec.resource_claims else SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Never asked: pods are either skipped or refused before."""
        return np.zeros(len(nodes), bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """There is one reason."""
        return UNSUPPORTED

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """No claims, nothing to free. If the cycle ended before this plugin's turn, kube-scheduler says "not found"."""
        try:
            attempt.state_of(self)
        except KeyError:
            return PostFilterResult(NOT_FOUND)
        return PostFilterResult(NOTHING_TO_DEALLOCATE)

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """0: without claims no node is better."""
        return np.zeros(len(nodes), np.int64)

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if missing == "preFilter":
            return Unprepared(self, "not found")
        return self

    def events(self) -> Sequence[Hint]:
        """A change of the pod's own claims."""
        return (Hint(ClusterEvent(Resource.RESOURCE_CLAIM, Action.ADD | Action.UPDATE)),)
