"""Which plugins run at each extension point, in which order, with which weights.

In: the `plugins` of a profile as written. They are merged with kube-scheduler's default plugins
(apis/config/v1/default_plugins.go, 1.36) and `multiPoint` is spread over the extension points that each plugin
implements (framework/runtime/framework.go). Out: names per point, weights, the entries in use. Called by `config`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fairway.config.config_file import Plugins, PluginSet
from fairway.config.fields import Problem, alternatives, shown
from fairway.config.gangs import MODE_PLUGINS, Gangs
from fairway.config.plugin_entry import PluginEntry, PluginNotFoundError, Registry, resolve
from fairway.plugin.extension_points import EXTENSION_POINTS

__all__ = ["DEFAULT_PLUGINS", "POINTS", "PluginSelection", "absence", "select_plugins"]

POINTS: Final = {point.name: point.field for point in EXTENSION_POINTS}
"""The extension points as the configuration writes them, and the fields of `config_file.Plugins` they are in."""

DEFAULT_PLUGINS: Final = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "DefaultPreemption": 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
    "NodeDeclaredFeatures": 0,
}
"""Enabled by default, in this order, with these weights (0 counts as 1 where the plugin scores)."""

REMOVED: Final = frozenset(
    {
        "AzureDiskLimits",
        "CinderLimits",
        "EBSLimits",
        "GCEPDLimits",
        "NodeLabel",
        "NodePreferAvoidPods",
        "NodeResourcesLeastAllocated",
        "NodeResourcesMostAllocated",
        "RequestedToCapacityRatio",
        "SelectorSpread",
        "ServiceAffinity",
    }
)
GANG_PLUGINS: Final = {"GangScheduling": 0}
"""Added to the default ones where pods that belong together are scheduled as kube-scheduler does."""

PLACEMENT_PLUGINS: Final = {"TopologyPlacementGenerator": 0, "PodGroupPodsCount": 1}
"""The same, where they may have to be near each other."""

PLACEMENT_POINTS: Final = frozenset({"placementGenerate", "placementScore"})
"""Where sets of nodes are made and scored, for groups; nobody takes part otherwise."""

COSCHEDULING: Final = MODE_PLUGINS["coscheduling"]
MODES: Final = {plugin: mode for mode, plugin in MODE_PLUGINS.items()}
GATED: Final = frozenset({*GANG_PLUGINS, *PLACEMENT_PLUGINS, *MODES})


def absence(name: str) -> str | None:
    """Why a plugin that kube-scheduler once had, or has behind a gate, is not here; None for any other name."""
    if name in REMOVED:
        return f"{name} was removed from kube-scheduler"
    if name in MODES:
        return f"{name} is not listed here; it comes with fairway.gangs.mode: {MODES[name]}"
    if name in GATED:
        return f"{name} is behind a feature gate that is off in kube-scheduler 1.36"
    return None


class Wish(NamedTuple):
    """A plugin that somebody wants enabled, and where that is written."""

    name: str
    weight: int
    path: str


class MergedSet(NamedTuple):
    """A plugin set after merging with the defaults."""

    enabled: tuple[Wish, ...]
    disabled: frozenset[str]


@dataclass(frozen=True, slots=True)
class PluginSelection:
    """What a profile runs."""

    points: dict[str, tuple[str, ...]]
    weights: dict[str, int]
    entries: dict[str, PluginEntry]
    placement_weights: dict[str, int]


def select_plugins(
    plugins: Plugins, path: str, registry: Registry, problems: list[Problem], gangs: Gangs | None = None
) -> PluginSelection:
    """Merge and expand; what cannot be done is added to `problems`."""
    gated = group_plugins(gangs)
    sorted_by = {"PrioritySort"} if COSCHEDULING in gated else set()  # it has an order of its own
    added = {name: weight for name, weight in (DEFAULT_PLUGINS | gated).items() if name not in sorted_by}
    defaults = tuple(Wish(name, weight, path) for name, weight in added.items())
    multi = _merge(plugins.multi_point, f"{path}.multiPoint", defaults)
    sets = {point: _merge(getattr(plugins, field), f"{path}.{point}") for point, field in POINTS.items()}
    entries: dict[str, PluginEntry] = {}
    for wish in (*multi.enabled, *(wish for merged in sets.values() for wish in merged.enabled)):
        if wish.name not in entries:
            try:
                if wish.name in GATED and wish.name not in gated:
                    raise PluginNotFoundError(wish.name)
                entry = resolve(wish.name, registry)
                unused = frozenset() if PLACEMENT_PLUGINS.keys() <= gated.keys() else PLACEMENT_POINTS
                entries[wish.name] = entry._replace(points=entry.points - unused)
            except PluginNotFoundError as error:
                problems.append(Problem(_name_path(wish, path), absence(wish.name) or str(error)))
    for point, field in {"multiPoint": "multi_point", **POINTS}.items():
        for index, choice in enumerate(getattr(plugins, field).disabled):
            name = choice.name
            if name != "*" and name not in entries and name not in registry and not absence(name):
                unknown = alternatives(name, ("*", *registry))
                at = f"{path}.{point}.disabled[{index}].name"
                problems.append(Problem(at, f"no plugin is called {shown(name)}{unknown}"))
    points = {point: _expand(point, merged, multi, entries, problems) for point, merged in sets.items()}
    # Where a plugin is enabled for scoring itself, that weight counts, not multiPoint's; none at all is 1.
    weights = {wish.name: wish.weight or 1 for wish in reversed((*sets["score"].enabled, *multi.enabled))}
    placing = {wish.name: wish.weight or 1 for wish in reversed((*sets["placementScore"].enabled, *multi.enabled))}
    return PluginSelection(
        points,
        {name: weights[name] for name in points["score"]},
        entries,
        {name: placing[name] for name in points["placementScore"]},
    )


def group_plugins(gangs: Gangs | None) -> dict[str, int]:
    """What is added to the default plugins to schedule groups, with weights: `applyFeatureGates` in 1.36."""
    if gangs is not None and gangs.mode in MODE_PLUGINS:
        return {MODE_PLUGINS[gangs.mode]: 0}
    if gangs is None or gangs.mode != "kube":
        return {}
    return GANG_PLUGINS | PLACEMENT_PLUGINS if gangs.topology else dict(GANG_PLUGINS)


def _merge(custom: PluginSet, path: str, defaults: Sequence[Wish] = ()) -> MergedSet:
    """The defaults that are not disabled, each replaced where it stands by the user's own wish; then the rest."""
    wishes = [
        Wish(choice.name, choice.weight or 0, f"{path}.enabled[{index}]") for index, choice in enumerate(custom.enabled)
    ]
    disabled = frozenset(choice.name for choice in custom.disabled)
    kept = [] if "*" in disabled else [wish for wish in defaults if wish.name not in disabled]
    own = {wish.name: wish for wish in wishes}  # of several by one name, the last replaces the default
    enabled = [own.get(wish.name, wish) for wish in kept]
    placed = {wish.path for wish in enabled}
    return MergedSet((*enabled, *(wish for wish in wishes if wish.path not in placed)), disabled)


def _expand(
    point: str, own: MergedSet, multi: MergedSet, entries: dict[str, PluginEntry], problems: list[Problem]
) -> tuple[str, ...]:
    """One extension point's plugins: multiPoint's that are listed again, its others, then the rest listed."""
    listed: dict[str, Wish] = {}
    for wish in own.enabled:
        entry = entries.get(wish.name)
        if entry is not None and entry.is_imported and point not in entry.points:
            problems.append(
                Problem(
                    f"{wish.path}.name",
                    f"{wish.name} takes no part in {point}; it has {', '.join(sorted(entry.points))}",
                )
            )
        elif wish.name in listed:
            _report_twice(wish, listed[wish.name], problems)
        listed.setdefault(wish.name, wish)
    if "*" in own.disabled:
        return tuple(listed)
    again = set()
    spread: dict[str, Wish] = {}
    for wish in multi.enabled:
        entry = entries.get(wish.name)
        if entry is None or point not in entry.points or wish.name in own.disabled:
            continue
        if wish.name in listed:
            again.add(wish.name)
        elif wish.name in spread:
            _report_twice(wish, spread[wish.name], problems)
        else:
            spread[wish.name] = wish
    return (
        *(name for name in listed if name in again),
        *spread,
        *(name for name in listed if name not in again),
    )


def _report_twice(wish: Wish, first: Wish, problems: list[Problem]) -> None:
    # In the file's order, whichever of the two the merge put first.
    other, later = sorted((first, wish), key=lambda one: (len(one.path), one.path))
    problem = Problem(f"{later.path}.name", f"{wish.name} is enabled twice, first by {other.path}")
    if problem not in problems:
        problems.append(problem)


def _name_path(wish: Wish, path: str) -> str:
    return path if wish.path == path else f"{wish.path}.name"
