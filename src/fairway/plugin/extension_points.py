"""The extension points: where a plugin can take part in scheduling, in the order in which a pod meets them.

This is the one table. From it follow the points that a configuration may name, those that a plugin takes part in (by
the methods it overrides), the methods that are guarded and timed, and the words for them in metrics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["EXTENSION_POINTS", "POINT_METHODS", "ExtensionPoint"]


class ExtensionPoint(NamedTuple):
    """One point."""

    name: str  # as a KubeSchedulerConfiguration writes it
    methods: tuple[str, ...] = ()  # of `Plugin`: who overrides one takes part; none: it is an act of the world
    timed: Mapping[str, str] = {}
    """By method, these and those that come with them: what the metrics of kube-scheduler 1.36 call the point
    (metrics/metrics.go)."""

    @property
    def field(self) -> str:
        """The name as attributes have it: pre_filter."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.name).lower()


EXTENSION_POINTS: Final = (
    ExtensionPoint("preEnqueue", ("pre_enqueue",), {"pre_enqueue": "PreEnqueue"}),
    ExtensionPoint("queueSort", ("queue_sort",)),
    ExtensionPoint(
        "preFilter",
        ("pre_filter",),
        {
            "pre_filter": "PreFilter",
            "add_pod": "PreFilterExtensionAddPod",
            "remove_pod": "PreFilterExtensionRemovePod",
        },
    ),
    ExtensionPoint(
        "filter",
        ("filter",),
        {"filter": "Filter", "explain": "Filter"},  # kube-scheduler's filters give their reasons at once
    ),
    ExtensionPoint("postFilter", ("post_filter",), {"post_filter": "PostFilter"}),
    ExtensionPoint("preScore", ("pre_score",), {"pre_score": "PreScore"}),
    ExtensionPoint("score", ("score",), {"score": "Score", "normalize_scores": "ScoreExtensionNormalize"}),
    ExtensionPoint("reserve", ("reserve", "unreserve"), {"reserve": "Reserve", "unreserve": "Unreserve"}),
    ExtensionPoint("permit", ("permit",), {"permit": "Permit"}),
    ExtensionPoint("preBind", ("pre_bind",), {"pre_bind": "PreBind"}),
    ExtensionPoint("bind"),
    ExtensionPoint("postBind"),
    ExtensionPoint("placementGenerate"),
    ExtensionPoint("placementScore", ("placement_score",), {"placement_score": "PlacementScore"}),
)

POINT_METHODS: Final = tuple(method for point in EXTENSION_POINTS for method in point.methods)
"""Who overrides none of these takes part in nothing."""
