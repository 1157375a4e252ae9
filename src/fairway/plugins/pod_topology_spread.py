"""PodTopologySpread: keeps pods evenly spread over zones, hosts and whatever else node labels tell apart.

Hard constraints (DoNotSchedule) refuse nodes where one pod more would make the spread too uneven, soft ones
(ScheduleAnyway) prefer nodes in the emptier domains. Pods without constraints get default ones from the configuration,
for the pods that their services and controllers select. Follows plugins/podtopologyspread/plugin.go of kube-scheduler
1.36; counting is in `spread_filter` and `spread_scoring`, where constraints come from in `spread_constraints`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.selector_index import SelectorIndex
from fairway.model import Node, Pod, TopologySpreadConstraint, label_key_problem
from fairway.model.field_problem import alternatives, shown
from fairway.model.selector import Selector
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Locality,
    Nodes,
    Plugin,
    PluginArgs,
    PodClass,
    Problem,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Skip,
    with_spec,
)
from fairway.plugins.compiled_parts import CompiledParts
from fairway.plugins.spread_constraints import SYSTEM_DEFAULTS, Constraint, constraints_of, own_constraints
from fairway.plugins.spread_filter import HardSpread, hard_spread
from fairway.plugins.spread_scoring import Crowd, SoftSpread, normalized, soft_spread
from fairway.plugins.topology_domains import Topologies
from fairway.plugins.unprepared import Unprepared

TOO_UNEVEN: Final = Refusal(("node(s) didn't match pod topology spread constraints",))
WITHOUT_STATE: Final = {
    "filter": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    "score": 'error reading "PreScorePodTopologySpread" from cycleState: not found',
}
LABEL_MISSING: Final = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), Code.UNRESOLVABLE
)


@dataclass(slots=True)
class ClassSpread:
    """What is kept for a pod class."""

    workloads: int  # the version of services and controllers it was made from
    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] | None = None  # None: not read yet
    problem: Refusal | None = None  # the pod's constraints can not be read
    hard_spread: HardSpread | None = None
    soft_spread: SoftSpread | None = None


class PodTopologySpreadArgs(PluginArgs, frozen=True, kw_only=True):
    """How pods without constraints of their own are spread: as Kubernetes sees fit (System), or by this list (List)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        if self.defaulting_type == "System" and self.default_constraints:
            yield Problem("defaultingType", "System, although defaultConstraints are given; write List to use them")
        kinds: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            path = f"defaultConstraints[{index}]"
            key, action = constraint.topology_key, constraint.when_unsatisfiable
            if constraint.max_skew <= 0:
                yield Problem(f"{path}.maxSkew", f"{constraint.max_skew} is out of range; allowed: 1 or more")
            if fault := label_key_problem(key):
                yield Problem(f"{path}.topologyKey", fault)
            if action not in (actions := ("DoNotSchedule", "ScheduleAnyway")):
                yield Problem(f"{path}.whenUnsatisfiable", f"{shown(action)} is unknown{alternatives(action, actions)}")
            if constraint.label_selector is not None:
                yield Problem(f"{path}.labelSelector", "not allowed; which pods count follows from each pod's services")
            if (key, action) in kinds:
                yield Problem(path, f"{key} with {action} is listed twice")
            kinds.add((key, action))


class PodTopologySpread(Plugin):
    """Spreads pods over the values of node labels."""

    annotations = ()
    Args = PodTopologySpreadArgs
    args: PodTopologySpreadArgs
    locality: ClassVar[Locality] = Locality.CLUSTER
    reads: ClassVar[Aspect] = Aspect.NODE | Aspect.PODS | Aspect.WORKLOADS
    normalize: ClassVar[Literal["none", "default", "reverse", "own"]] = "own"

    def __init__(self, cluster: Cluster, args: PodTopologySpreadArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._is_system_default = self.args.defaulting_type == "System"
        self._defaults = SYSTEM_DEFAULTS if self._is_system_default else self.args.default_constraints
        self._topologies = Topologies(cluster)
        self._own_conditions = CompiledParts(_own_conditions)  # what classes have, and who waits

    # -- which nodes ---------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> HardSpread | Refusal | Skip:
        kept = self._kept(pod)
        if kept.hard:
            kept.hard_spread = hard_spread(self.cluster, self._topologies, pod, kept.hard, kept.hard_spread, self.borne)
            if kept.hard_spread.is_nowhere:  # so nobody asks for its wishes, of which there may be thousands
                return kept.hard_spread
        self._read_soft(kept, pod)
        if kept.problem is not None:
            return kept.problem
        return SKIP if kept.hard_spread is None else kept.hard_spread

    def filter(self, pod: PodClass, nodes: Nodes, state: HardSpread) -> NDArray[np.bool_]:
        return state.of_rows(nodes.rows)

    def explain(self, pod: PodClass, nodes: Nodes, state: HardSpread) -> Refusal | Sequence[Refusal]:
        return [LABEL_MISSING if lacks else TOO_UNEVEN for lacks in state.lacks_label(nodes.rows).tolist()]

    def add_pod(self, pod: PodClass, state: HardSpread, other: Pod, other_class: PodClass, row: int) -> None:
        state.suppose(other_class, row, 1)

    def remove_pod(self, pod: PodClass, state: HardSpread, other: Pod, other_class: PodClass, row: int) -> None:
        state.suppose(other_class, row, -1)

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each hard constraint of the pod's own, a little wider or as a wish."""
        constraints = pod.spec.topology_spread_constraints
        for place, hard in enumerate(constraints):
            if hard.when_unsatisfiable != "DoNotSchedule":
                continue
            key, wider = hard.topology_key, hard.max_skew + 1
            for words, changed in (
                (f"maxSkew {hard.max_skew} → {wider} over {key}", msgspec.structs.replace(hard, max_skew=wider)),
                (
                    f"spread over {key} as a wish (ScheduleAnyway)",
                    msgspec.structs.replace(hard, when_unsatisfiable="ScheduleAnyway", min_domains=None),
                ),
            ):
                others = (*constraints[:place], changed, *constraints[place + 1 :])
                yield Relaxation(words, with_spec(pod, topology_spread_constraints=others))

    # -- which node ----------------------------------------------------------------------------------------------

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Crowd | Skip:
        kept = self._kept(pod)
        self._read_soft(kept, pod)
        if not kept.soft:
            return SKIP
        # A node without a zone can still be compared by its host name, but only under the system's defaults.
        needs_all_keys = bool(pod.spec.topology_spread_constraints) or not self._is_system_default
        kept.soft_spread = soft_spread(
            self.cluster, self._topologies, pod, kept.soft, needs_all_keys, kept.soft_spread, self.borne
        )
        return kept.soft_spread.weigh(nodes.rows)

    def score(self, pod: PodClass, nodes: Nodes, state: Crowd) -> NDArray[np.int64]:
        return state.spread.scores(nodes.rows, state)

    def normalize_scores(
        self, pod: PodClass, nodes: Nodes, state: Crowd, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return normalized(scores, state.ignored)

    def _kept(self, pod: PodClass) -> ClassSpread:
        kept: ClassSpread | None = pod.kept.get(self)
        if kept is not None and (
            kept.workloads == self.cluster.versions.of(Aspect.WORKLOADS) or pod.spec.topology_spread_constraints
        ):
            return kept
        made = self._compile(pod)
        if kept is not None and kept.hard == made.hard and kept.soft == made.soft:
            kept.workloads = made.workloads
            return kept
        pod.kept[self] = made
        return made

    def _compile(self, pod: PodClass) -> ClassSpread:
        kept = ClassSpread(self.cluster.versions.of(Aspect.WORKLOADS))
        own = pod.spec.topology_spread_constraints
        shared = self._own_conditions(own, pod.labels) if own else None
        if shared is not None:
            kept.hard = shared.constraints
            return kept
        try:
            kept.hard = constraints_of(pod.pod, "DoNotSchedule", self._defaults, self.cluster.workloads)
        except ValueError as error:
            _note_problem(kept, error)
        self._read_soft(kept, pod)
        return kept

    def _read_soft(self, kept: ClassSpread, pod: PodClass) -> None:
        """The wishes, if they were not read yet."""
        if kept.soft is None:
            try:
                kept.soft = constraints_of(pod.pod, "ScheduleAnyway", self._defaults, self.cluster.workloads)
            except ValueError as error:
                _note_problem(kept, error)

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if (point, missing) in (("filter", "preFilter"), ("score", "preScore")):
            return Unprepared(self, WITHOUT_STATE[point])
        return self

    # -- waiting -------------------------------------------------------------------------------------------------

    def events(self) -> Sequence[Hint]:
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            Hint(ClusterEvent(Resource.POD, pods), self._pod_helps),
            Hint(ClusterEvent(Resource.NODE, nodes), self._node_helps),
        )

    def _conditions_of(self, pod: Pod) -> Conditions | None:
        own = pod.spec.topology_spread_constraints
        if own:
            return self._own_conditions(own, pod.metadata.labels)
        return Conditions(constraints_of(pod, "DoNotSchedule", self._defaults, self.cluster.workloads))

    def _pod_helps(self, pod: Pod, change: Change) -> bool:
        old, new = change.old, change.new
        if any(each is not None and not _is_involved(each, pod) for each in (old, new)):
            return False
        conditions = self._conditions_of(pod)
        if conditions is None:
            return True
        if old is None or new is None:
            return conditions.count((old or new).metadata.labels)
        if (
            pod.metadata.uid == new.metadata.uid
            and old.spec.tolerations != new.spec.tolerations
            and conditions.honor_taints
        ):
            return True
        return conditions.tell_apart(old.metadata.labels, new.metadata.labels)

    def _node_helps(self, pod: Pod, change: Change) -> bool:
        old, new = change.old, change.new
        conditions = self._conditions_of(pod)
        if conditions is None:
            return True
        keys = conditions.keys
        if old is None or new is None:
            return _has_all(old or new, keys)
        if _has_all(old, keys) != _has_all(new, keys):
            return True
        before, after = old.metadata.labels, new.metadata.labels
        return _has_all(new, keys) and (
            any(before.get(key) != after.get(key) for key in keys) or old.spec.taints != new.spec.taints
        )


def _note_problem(kept: ClassSpread, error: ValueError) -> None:
    kept.hard = kept.soft = ()
    kept.problem = Refusal((f"get constraints from pod: {error}",), Code.ERROR)


class Conditions:
    """The hard constraints of a pod; while it waits, they are found by the labels of pods that they count."""

    __slots__ = ("_index", "constraints", "honor_taints", "keys")

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        self.constraints = constraints
        self.keys = list(dict.fromkeys(constraint.key for constraint in constraints))
        self.honor_taints = any(constraint.honors_taints for constraint in constraints)
        self._index: SelectorIndex[Selector] | None = None  # few pods ever wait

    def _found_by(self, labels: Mapping[str, str]) -> Iterator[Selector]:
        if self._index is None:
            self._index = SelectorIndex()
            for constraint in self.constraints:
                if not constraint.selector.is_nothing:
                    self._index.add(constraint.selector.requirements, constraint.selector)
        return chain.from_iterable(self._index.lists(labels))

    def count(self, labels: Mapping[str, str]) -> bool:
        """Does a constraint count pods with such labels?"""
        return any(selector.matches(labels) for selector in self._found_by(labels))

    def tell_apart(self, one: Mapping[str, str], two: Mapping[str, str]) -> bool:
        """Does a constraint count pods with these labels and not those with the others?"""
        return any(
            selector.matches(one) != selector.matches(two)
            for labels in (one, two)
            for selector in self._found_by(labels)
        )


def _own_conditions(own: Sequence[TopologySpreadConstraint], labels: Mapping[str, str]) -> Conditions | None:
    """Those of a pod that has constraints of its own; None if they can not be read."""
    try:
        return Conditions(own_constraints(own, labels, "DoNotSchedule"))
    except ValueError:
        return None


def _is_involved(other: Pod, pod: Pod) -> bool:
    """Could the other pod matter to this one's spread? Only itself, or one of its namespace that has a place."""
    if other.metadata.uid == pod.metadata.uid:
        return True
    if not other.spec.node_name and not other.status.nominated_node_name:
        return False
    return other.metadata.namespace == pod.metadata.namespace


def _has_all(node: Node, keys: Sequence[str]) -> bool:
    labels: Mapping[str, str] = node.metadata.labels
    return all(key in labels for key in keys)
