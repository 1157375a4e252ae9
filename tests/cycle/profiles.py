"""Profiles for tests, made as users make them, from a KubeSchedulerConfiguration; and plugins that say one thing.

In: a cluster, built-in plugins by name and plugins of the test's own. Out: a `Profile` with these and no others (or
with the default ones too), by default deciding among equals by name and looking at every node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Aspect, Cluster, Nodes, PodClass
from fairway.config import PluginEntry, decode_configuration, implemented_points
from fairway.cycle import Profile, Sampling, TieBreak
from fairway.plugin import Plugin, Refusal
from fairway.plugins.registry import REGISTRY

NEEDED = ("PrioritySort", "DefaultBinder")


def profile(
    cluster: Cluster,
    *plugins: str | type[Plugin],
    defaults: bool = False,
    weights: Mapping[str, int] | None = None,
    args: Mapping[str, Mapping[str, Any]] | None = None,
    percentage: int = 0,
    tie_break: TieBreak = "first",
    seed: int | None = None,
    sampling: Sampling | None = "all",
    now: Callable[[], float] = float,
    caching: bool = True,
) -> Profile:
    """A profile with these plugins in this order; `weights` and `args` are by plugin name."""
    kinds = {kind.name: kind for kind in plugins if not isinstance(kind, str)}
    names = [kind if isinstance(kind, str) else kind.name for kind in plugins]
    enabled = [{"name": name, "weight": (weights or {}).get(name, 1)} for name in names]
    if not defaults:
        enabled += [{"name": name} for name in NEEDED if name not in names]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": enabled, "disabled": [] if defaults else [{"name": "*"}]}},
                "pluginConfig": [{"name": name, "args": dict(values)} for name, values in (args or {}).items()],
            }
        ],
    }
    registry = {**REGISTRY, **{name: PluginEntry(kind, implemented_points(kind)) for name, kind in kinds.items()}}
    return Profile(
        decode_configuration(config, "test", registry).profiles[0],
        cluster,
        tie_break=tie_break,
        seed=seed,
        sampling=sampling,
        now=now,
        caching=caching,
    )


def refusing(name: str, refusals: Mapping[str, Refusal]) -> type[Plugin]:
    """A plugin that refuses the nodes of these names."""

    def filter_nodes(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.array([each not in refusals for each in nodes.names], bool)

    def explain(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> list[Refusal]:
        return [refusals[each] for each in nodes.names]

    return type(name, (Plugin,), {"filter": filter_nodes, "explain": explain, "reads": Aspect.NODE})


def scoring(name: str, scores: Mapping[str, int], **attributes: Any) -> type[Plugin]:
    """A plugin that gives the nodes of these names these scores, the others 0."""

    def score(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        return np.array([scores.get(each, 0) for each in nodes.names], np.int64)

    return type(name, (Plugin,), {"score": score, "reads": Aspect.NODE, **attributes})


def pre_filtering(name: str, answer: Any, **attributes: Any) -> type[Plugin]:
    """A plugin whose pre-filter says this, and whose filter lets every node pass."""

    def pre_filter(_: Plugin, pod: PodClass, nodes: Nodes) -> Any:
        return answer

    def filter_nodes(_: Plugin, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.ones(len(nodes), bool)

    return type(name, (Plugin,), {"pre_filter": pre_filter, "filter": filter_nodes, "reads": Aspect.NODE, **attributes})
