"""The built-in plugins by name: kube-scheduler's defaults, and ours.

Out: `REGISTRY`, which `fairway.config` takes to read a configuration. All that is known of a plugin is in its class;
here it is listed, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairway.config.plugin_entry import Registry, plugin_entry
from fairway.plugin import Plugin
from fairway.plugins.best_fit import BestFit
from fairway.plugins.coscheduling import Coscheduling
from fairway.plugins.data_locality import DataLocality
from fairway.plugins.default_binder import DefaultBinder
from fairway.plugins.default_preemption import DefaultPreemption
from fairway.plugins.dot_product import DotProduct
from fairway.plugins.dynamic_resources import DynamicResources
from fairway.plugins.exclusive_node import ExclusiveNode
from fairway.plugins.fgd import FGD
from fairway.plugins.gang_scheduling import GangScheduling
from fairway.plugins.gpu_clustering import GpuClustering
from fairway.plugins.gpu_packing import GpuPacking
from fairway.plugins.gpu_share import GpuShare
from fairway.plugins.image_locality import ImageLocality
from fairway.plugins.inter_pod_affinity import InterPodAffinity
from fairway.plugins.near_job import NearJob
from fairway.plugins.node_affinity import NodeAffinity
from fairway.plugins.node_declared_features import NodeDeclaredFeatures
from fairway.plugins.node_name import NodeName
from fairway.plugins.node_ports import NodePorts
from fairway.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.plugins.node_unschedulable import NodeUnschedulable
from fairway.plugins.node_volume_limits import NodeVolumeLimits
from fairway.plugins.pfnet_gang import PfnetGang
from fairway.plugins.pod_group_pods_count import PodGroupPodsCount
from fairway.plugins.pod_topology_spread import PodTopologySpread
from fairway.plugins.priority_sort import PrioritySort
from fairway.plugins.pwr import PWR
from fairway.plugins.queue_nodes import QueueNodes
from fairway.plugins.queues import Queues
from fairway.plugins.random_policy import Random
from fairway.plugins.random_score import RandomScore
from fairway.plugins.reserved_time import ReservedTime
from fairway.plugins.scheduling_gates import SchedulingGates
from fairway.plugins.taint_toleration import TaintToleration
from fairway.plugins.topology_placement_generator import TopologyPlacementGenerator
from fairway.plugins.volume_binding import VolumeBinding
from fairway.plugins.volume_restrictions import VolumeRestrictions
from fairway.plugins.volume_zone import VolumeZone

PLUGINS: Final[Mapping[str, type[Plugin]]] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeBinding,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        DynamicResources,
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
        GangScheduling,
        TopologyPlacementGenerator,
        PodGroupPodsCount,
        Coscheduling,
        PfnetGang,
        RandomScore,
        GpuShare,
        FGD,
        BestFit,
        DotProduct,
        PWR,
        GpuPacking,
        GpuClustering,
        Random,
        DataLocality,
        ExclusiveNode,
        NearJob,
    )
}

REGISTRY: Final[Registry] = {name: plugin_entry(plugin) for name, plugin in PLUGINS.items()}

PLANNING: Final[Registry] = {plugin.name: plugin_entry(plugin) for plugin in (Queues, ReservedTime)}
"""What takes part in profiles whose pods wait in queues; nobody lists them by hand."""

TAINTED: Final[Registry] = {QueueNodes.name: plugin_entry(QueueNodes)}
"""And where a queue keeps others off its nodes by a taint."""
