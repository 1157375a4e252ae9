"""ExclusiveNode: pods that want their nodes to themselves get them, and keep them.

In: the annotation `fairway.dev/exclusive` (`node`: only with the pod's own job; `user`: also with jobs of its user that
say so too), of the pod or of its job's object (`cluster.wishes` tells pods), and who is on each row
(`tallies.tenants`). Out: a pod that is exclusive is refused where others are, and any pod where somebody else is
exclusive; pods of DaemonSets and copies of static pods neither mind nor matter. Who owns a node is read from the pods
on it: a restart forgets nothing, and preemption works by itself. A member that says `fairway.dev/gang-one-per-node` is
also refused where another member is. With `guard: taint`, other schedulers are kept off by a taint that is there before
the first pod is bound (`exclusive_guard`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.tallies.tenants import ANNOTATIONS, Tenants
from fairway.model import Pod
from fairway.model.tenant import (
    EXCLUSIVE,
    ONE_PER_NODE,
    Tenant,
    are_foreign,
    exclusive_scope,
    is_aside,
    is_lone,
    job_name,
    job_of,
    one_per_node,
    tenant_of,
    user_of,
)
from fairway.plugin import (
    PASSES,
    SKIP,
    Action,
    Aspect,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PluginArgs,
    PodClass,
    Preparation,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Skip,
)
from fairway.plugins.exclusive_guard import TAINT, guarding
from fairway.plugins.scheduling_gates import is_about

HAS_OTHERS = Refusal(("node(s) had pods of others",))
IS_TAKEN = Refusal(("node(s) were taken exclusively",))
HAS_MEMBER = Refusal(("node(s) had another member of the job",))

NUM_NAMED = 4
"""So many jobs are named to people who ask; the rest are others."""

MANY_ROWS = 256
YES_TO_ALL = np.ones(MANY_ROWS, bool)  # (256,): answers about a few rows where nobody is exclusive, of which most are
YES_TO_ALL.setflags(write=False)


class ExclusiveNodeArgs(PluginArgs, frozen=True, kw_only=True):
    """How schedulers that do not know of exclusive nodes are kept off them."""

    guard: Literal["none", "taint"] = "none"


class NodeWish(NamedTuple):
    """What a pod wants of its node."""

    tenant: Tenant
    is_alone: bool  # no other member of its job there either
    is_demanding: bool  # does it want anything at all?


class ExclusiveNode(Plugin):
    """Compares counts: pods on a row, and those of them that the pod may be with."""

    annotations = ANNOTATIONS
    reads = Aspect.PODS
    refused_word = "taken"
    judged_taints = (TAINT,)
    Args = ExclusiveNodeArgs
    args: ExclusiveNodeArgs

    def __init__(self, cluster: Cluster, args: ExclusiveNodeArgs | None = None) -> None:
        super().__init__(cluster, args)
        cluster.read_annotations(ANNOTATIONS)
        cluster.wishes.follow()
        self._tenants = cluster.tally(Tenants)

    def class_key(self, pod: Pod) -> Hashable:
        """The pod itself, if it is a job of its own and that makes a difference; other jobs are told apart already."""
        annotations = pod.metadata.annotations
        if not annotations:
            return None
        if (EXCLUSIVE in annotations or ONE_PER_NODE in annotations) and is_lone(pod):
            return job_of(pod)
        return None

    # -- filter ------------------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> NodeWish | Refusal | Skip:
        """Who the pod is; a DaemonSet's may be anywhere, and annotations that make no sense are refused."""
        if is_aside(pod.pod):
            return SKIP
        annotations = pod.annotations
        scope, problem = exclusive_scope(annotations)
        is_alone, other_problem = one_per_node(annotations)
        if problem or other_problem:
            return Refusal((problem or other_problem,), Code.UNRESOLVABLE)
        own = pod.extra[self.name]
        job = str(own) if own is not None else "" if is_lone(pod.pod) else job_of(pod.pod)
        tenant = Tenant(scope, user_of(annotations, pod.namespace), job)
        return NodeWish(tenant, is_alone, is_alone or bool(scope))

    def filter(self, pod: PodClass, nodes: Nodes, state: NodeWish) -> NDArray[np.bool_]:
        """Nodes without anybody that the pod must not be with."""
        tenants = self._tenants
        if not (tenants.num_exclusive or state.is_demanding):
            rows = nodes.rows
            if isinstance(rows, slice) or len(rows) > MANY_ROWS:
                return np.ones(len(nodes), bool)
            return PASSES if len(rows) == 1 else YES_TO_ALL[: len(rows)]
        counts = tenants.count_foreign(state.tenant, nodes.rows)
        if state.is_alone:
            counts = counts + tenants.count_members(state.tenant.job, nodes.rows)
        mask: NDArray[np.bool_] = counts == 0
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: NodeWish) -> Sequence[Refusal]:
        """Pods of others, or of the one who has the node; or the pod's own job."""
        foreign = self._tenants.count_foreign(state.tenant, nodes.rows)
        others = HAS_OTHERS if state.tenant.scope else IS_TAKEN
        return [others if count else HAS_MEMBER for count in foreign.tolist()]

    # -- for people who ask why --------------------------------------------------------------------------------------

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: NodeWish) -> Sequence[str]:
        """Who is there: the job with the most pods, if it has one of the most nodes; of a single node, all jobs."""
        holders = [self._holders(row, state) for row in nodes.numbers.tolist()]
        if len(holders) == 1:
            names, num_more = holders[0][:NUM_NAMED], len(holders[0]) - NUM_NAMED
            return [f"by {', '.join(names) or 'nobody'}{f' and {num_more} more' if num_more > 0 else ''}"]
        counts = Counter(jobs[0] for jobs in holders if jobs)
        named = sorted(counts, key=lambda job: (-counts[job], job))
        named = named if len(named) <= NUM_NAMED else named[: NUM_NAMED - 1]
        return [f"by {jobs[0]}" if jobs and jobs[0] in named else "by others" for jobs in holders]

    def _holders(self, row: int, wish: NodeWish) -> list[str]:
        """The jobs on a row that the pod must not be with, the one with the most pods first."""
        counts: Counter[str] = Counter()
        for placed in self.cluster.pods.on_row(row):
            tenant = tenant_of(placed.pod)
            is_foreign = (wish.tenant.scope or tenant.scope) and are_foreign(wish.tenant, tenant)
            is_member = wish.is_alone and wish.tenant.job == tenant.job
            if (is_foreign or is_member) and not is_aside(placed.pod):
                counts[job_name(placed.pod)] += 1
        return sorted(counts, key=lambda job: (-counts[job], job))

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Share its nodes with others, or with members of its own job."""
        refusals = {refusal for refusal, _ in refused}
        if HAS_OTHERS in refusals:
            yield Relaxation(f"without {EXCLUSIVE}", _without(pod, EXCLUSIVE), binds_siblings=True)
        if HAS_MEMBER in refusals:
            yield Relaxation(f"without {ONE_PER_NODE}", _without(pod, ONE_PER_NODE), binds_siblings=True)

    # -- before it is bound ------------------------------------------------------------------------------------------

    def pre_bind(self, pod: Pod, pod_class: PodClass, row: int) -> Preparation | Refusal | None:
        """Its node is guarded, where that is wanted."""
        if self.args.guard != "taint" or is_aside(pod) or not exclusive_scope(pod.metadata.annotations)[0]:
            return None
        return guarding(self.cluster, pod, row)

    # -- events ------------------------------------------------------------------------------------------------------

    def events(self) -> Sequence[Hint]:
        """A pod left, or is of others now; a node came or changed; the pod itself wants something else."""
        return (
            Hint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), _was_in_the_way),
            Hint(ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE), _is_otherwise),
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE)),
            Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE), is_about),
        )


def _was_in_the_way(pod: Pod, change: Change) -> bool:
    return isinstance(change.old, Pod) and _hinders(pod, change.old)


def _is_otherwise(pod: Pod, change: Change) -> bool:
    old, new = change.old, change.new
    return isinstance(old, Pod) and isinstance(new, Pod) and _hinders(pod, old) and not _hinders(pod, new)


def _hinders(pod: Pod, resident: Pod) -> bool:
    """Is the pod refused where the other is?"""
    if is_aside(resident):
        return False
    here, there = tenant_of(pod), tenant_of(resident)
    if here.job == there.job:
        return one_per_node(pod.metadata.annotations)[0]
    return bool(here.scope or there.scope) and are_foreign(here, there)


def _without(pod: Pod, annotation: str) -> Pod:
    others = {key: text for key, text in pod.metadata.annotations.items() if key != annotation}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=others))
