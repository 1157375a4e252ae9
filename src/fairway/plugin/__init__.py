"""The plugin API: everything a scheduling policy may do.

A plugin judges *all nodes at once*: `filter` returns a mask, `score` integers, over the rows of the `Nodes` it gets
(columns of the cluster, such as `nodes.free("cpu")` and `nodes.label("zone")`). Override what you need:

    class PreferGreen(Plugin):
        def score(self, pod, nodes, state):
            return np.where(nodes.label("power") == "green", 100, 0)

The cycle asks in the order in which the methods of `Plugin` (in `contract`) stand, remembers the answers per `PodClass`
(pods with equal specs, labels, namespace and owner, equal in the annotations that plugins read and in what their
`class_key` adds) and asks again about changed rows alone. Declarations keep that exact: `reads` (what the answer
depends on; of time, `time_step`), `locality` (does it depend on that row alone?) and `annotations`;
`fairway.testing.check_plugin` tests them. Arguments (`Args`), what is short (`Refusal.shortages`) and fixes (`relax`)
are a plugin's own, too; see docs/plugins.md.
"""

from fairway.cluster import TIME_PASSED, Action, Aspect, Change, Cluster, ClusterEvent, Nodes, PodClass, Resource
from fairway.cluster.datasets.data_step import DataStep
from fairway.model.field_problem import Problem
from fairway.model.writes import Create, Patch, Write, patch_of
from fairway.plugin.arguments import PluginArgs
from fairway.plugin.contract import Plugin, overrides
from fairway.plugin.per_node import per_node
from fairway.plugin.verdicts import (
    MAX_SCORE,
    PASSES,
    SKIP,
    Attempt,
    Candidate,
    Code,
    Hint,
    Locality,
    Notice,
    PostFilterResult,
    Preparation,
    Refusal,
    Refused,
    Relaxation,
    Restriction,
    Shortage,
    Skip,
    Supply,
    Wait,
    Waiting,
    with_spec,
)

__all__ = [
    "MAX_SCORE",
    "PASSES",
    "SKIP",
    "TIME_PASSED",
    "Action",
    "Aspect",
    "Attempt",
    "Candidate",
    "Change",
    "Cluster",
    "ClusterEvent",
    "Code",
    "Create",
    "DataStep",
    "Hint",
    "Locality",
    "Nodes",
    "Notice",
    "Patch",
    "Plugin",
    "PluginArgs",
    "PodClass",
    "PostFilterResult",
    "Preparation",
    "Problem",
    "Refusal",
    "Refused",
    "Relaxation",
    "Resource",
    "Restriction",
    "Shortage",
    "Skip",
    "Supply",
    "Wait",
    "Waiting",
    "Write",
    "overrides",
    "patch_of",
    "per_node",
    "with_spec",
]
