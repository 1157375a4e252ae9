"""The state of the cluster as arrays: nodes, pods, counters, and what changed.

`Cluster` is the door: `apply(event)` for what the world says, `assume`/`forget` for what we decided, `what_if` for what
we only try. Everything else here is a table that it keeps. See each module for one table.
"""

from fairway.cluster.aspects import ROWLESS, WITH_ROWS, Aspect, Versions
from fairway.cluster.clock import TIME_PASSED, ClusterClock
from fairway.cluster.cluster import Cluster
from fairway.cluster.counters import Counter, Counters, Requirement
from fairway.cluster.events import Action, Change, ClusterEvent, Event, Resource, Verb
from fairway.cluster.gpus.devices import DeviceTable, default_choice
from fairway.cluster.gpus.fragmentation import Cause, Fragmentation
from fairway.cluster.gpus.typical_pods import Shape, TypicalPods
from fairway.cluster.journal import Journal
from fairway.cluster.nodes import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, NodeTable
from fairway.cluster.pod_class import HostPort, LabelSet, PodClass
from fairway.cluster.pods import Placed, PodTable
from fairway.cluster.terms import Kind, Term
from fairway.cluster.view import Nodes, Rows

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "MEMORY",
    "PODS",
    "ROWLESS",
    "TIME_PASSED",
    "WITH_ROWS",
    "Action",
    "Aspect",
    "Cause",
    "Change",
    "Cluster",
    "ClusterClock",
    "ClusterEvent",
    "Counter",
    "Counters",
    "DeviceTable",
    "Event",
    "Fragmentation",
    "HostPort",
    "Journal",
    "Kind",
    "LabelSet",
    "NodeTable",
    "Nodes",
    "Placed",
    "PodClass",
    "PodTable",
    "Requirement",
    "Resource",
    "Rows",
    "Shape",
    "Term",
    "TypicalPods",
    "Verb",
    "Versions",
    "default_choice",
]
