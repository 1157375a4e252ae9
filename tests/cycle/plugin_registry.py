"""A registry with the names and extension points of kube-scheduler 1.36's default plugins, and a few of a user's.

The built-in registry is not used here: what is tested is how a configuration is read, whatever the plugins do; only
what they can be told is theirs.
"""

from fairway.config.configuration import PluginEntry
from fairway.plugin import Plugin
from fairway.plugins.registry import PLUGINS

DEFAULT_POINTS = {
    "preEnqueue": ("SchedulingGates", "DynamicResources", "DefaultPreemption"),
    "queueSort": ("PrioritySort",),
    "preFilter": (
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ),
    "filter": (
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ),
    "postFilter": ("DynamicResources", "DefaultPreemption"),
    "preScore": (
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
    ),
    "score": (
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ),
    "reserve": ("VolumeBinding", "DynamicResources"),
    "permit": (),
    "preBind": ("VolumeBinding", "DynamicResources"),
    "bind": ("DefaultBinder",),
    "postBind": (),
    "placementGenerate": (),
    "placementScore": (),
}
"""What kube-scheduler 1.36.4 lists at each extension point when it is given no configuration."""

OWN_POINTS = {
    "Green": {"preScore", "score"},
    "Blue": {"score"},
    "Gold": {"filter", "score"},
    "Lifo": {"queueSort"},
}

REGISTRY = {
    name: PluginEntry(PLUGINS[name], frozenset(point for point, names in DEFAULT_POINTS.items() if name in names))
    for name in sorted({name for names in DEFAULT_POINTS.values() for name in names})
} | {name: PluginEntry(Plugin, frozenset(points)) for name, points in OWN_POINTS.items()}
