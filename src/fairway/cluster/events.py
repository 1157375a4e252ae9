"""What comes into the cluster and what that means to waiting pods.

In: an `Event` (a verb and an API object) from a trace, a watch or the simulator, handed to `Cluster.apply`.
Out: the `Change`s it amounts to in kube-scheduler's own vocabulary of cluster events (resource and action), which the
queue offers to the queueing hints of the plugins that refused a pod. A new kind of event is one more member of
`Resource`, or of `Action` (an UPDATE_ is part of UPDATE by its name), made by whoever takes the object in
(`Cluster.apply`, or the table of its kinds); hints, the queue and metrics go by the members.
"""

from __future__ import annotations

import enum
from functools import reduce
from operator import or_
from typing import Any, NamedTuple


class Verb(enum.Enum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(NamedTuple):
    """One thing that happened in the world."""

    verb: Verb
    object: Any  # one of fairway.model's kinds


class Action(enum.IntFlag):
    """What changed; the parts of an update are told apart so that hints can be narrow."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()  # taints, or spec.unschedulable taken back
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE = reduce(or_, [value for name, value in vars().items() if name.startswith("UPDATE_")])
    ALL = ADD | DELETE | UPDATE


class Resource(enum.Enum):
    """Which kind of object changed."""

    POD = "Pod"  # any pod
    ASSIGNED_POD = "AssignedPod"  # a pod that has a node
    UNSCHEDULED_POD = "UnscheduledPod"  # the waiting pod itself (or, at creation, another one)
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    DATASET = "datashim.io/Dataset"  # of either group
    DATASET_INTERNAL = "datashim.io/DatasetInternal"
    NAMESPACE = "Namespace"
    POD_GROUP = "scheduling.k8s.io/PodGroup"  # of any of the kinds that say how a group of pods starts
    TIME = "Time"  # no object: a step is over that plugins see the clock move in
    OTHER = "Other"  # kinds no default plugin waits for: services, budgets, priority classes
    ANY = "*"


class ClusterEvent(NamedTuple):
    """A kind of change that a plugin can wait for."""

    resource: Resource
    action: Action

    def covers(self, happened: ClusterEvent) -> bool:
        """Does a plugin that registered for this event want to hear of another, the same or more specific?

        An update that is none of the specific ones happens as UPDATE: not for those who asked for a specific one.
        """
        resource = self.resource
        if happened.resource is Resource.TIME:
            return resource is Resource.TIME  # it passes for everybody; only who goes by the clock is to be woken
        if self == EVERYTHING:
            return True
        if resource is not happened.resource and resource is not Resource.ANY:
            pods = (Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD)
            if resource is not Resource.POD or happened.resource not in pods:
                return False
        return bool(self.action & happened.action) and happened.action <= self.action


EVERYTHING = ClusterEvent(Resource.ANY, Action.ALL)
"""The event that moves every pod, or, with a pod as the change's new object, that pod."""


class Change(NamedTuple):
    """A cluster event with the objects before and after it (None where there is none)."""

    event: ClusterEvent
    old: Any
    new: Any

    @classmethod
    def of(cls, resource: Resource, before: Any, item: Any, gone: bool) -> Change:
        """An object that came, went (`gone`) or took the place of what was there before."""
        if gone:
            return cls(ClusterEvent(resource, Action.DELETE), item, None)
        return cls(ClusterEvent(resource, Action.ADD if before is None else Action.UPDATE), before, item)

    @classmethod
    def pod_left(cls, pod: Any) -> Change:
        """A pod gave up its place on a node, or what was as good as that."""
        return cls(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), pod, None)
