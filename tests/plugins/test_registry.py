"""The registry: every plugin that kube-scheduler 1.36 enables by default, where it takes part, and ours."""

from __future__ import annotations

import pytest

from fairway.config import default_configuration
from fairway.config.gangs import MODE_PLUGINS
from fairway.config.plugin_sets import DEFAULT_PLUGINS, GANG_PLUGINS, PLACEMENT_PLUGINS
from fairway.plugins.registry import PLUGINS, REGISTRY
from fairway.testing import cluster

# kube-scheduler 1.36: apis/config/testing/defaults, after MultiPoint is expanded, for the points that decide.
POINTS = {
    "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
    "queueSort": "PrioritySort",
    "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
    "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
    "NodeDeclaredFeatures",
    "postFilter": "DynamicResources DefaultPreemption",
    "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeResourcesBalancedAllocation ImageLocality",
    "reserve": "VolumeBinding DynamicResources",
    "permit": "",
    "bind": "DefaultBinder",
}

GPU_PLUGINS = ["GpuShare", "FGD", "BestFit", "DotProduct", "PWR", "GpuPacking", "GpuClustering", "Random"]


def test_every_default_plugin_is_there_and_ours() -> None:
    own = {"RandomScore", "DataLocality", "ExclusiveNode", "NearJob", *MODE_PLUGINS.values()}
    assert set(REGISTRY) == {*DEFAULT_PLUGINS, *GANG_PLUGINS, *PLACEMENT_PLUGINS, *own, *GPU_PLUGINS}


@pytest.mark.parametrize("point", POINTS)
def test_who_takes_part_by_default_in_which_order(point: str) -> None:
    assert list(default_configuration(REGISTRY).profiles[0].points[point]) == POINTS[point].split()


def test_the_plugins_go_by_their_names() -> None:
    what = cluster(1)
    assert {name: entry.factory(what, None).name for name, entry in REGISTRY.items()} == {
        name: name for name in PLUGINS
    }


def test_weights_by_default() -> None:
    weights = default_configuration(REGISTRY).profiles[0].weights
    assert weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
