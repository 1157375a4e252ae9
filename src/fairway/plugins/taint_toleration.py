"""TaintToleration: taints that a pod does not tolerate keep it away, or are held against the node.

NoSchedule and NoExecute refuse; each PreferNoSchedule taint that is not tolerated counts against a node in scoring.
Taints that another plugin of the profile judges (`Plugin.judged_taints`) it does not look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.node_selection import NO_SCHEDULE, count_untolerated, untolerated_mask
from fairway.model import Node, Pod, Taint, Toleration
from fairway.model.toleration import find_untolerated_taint
from fairway.plugin import (
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    with_spec,
)
from fairway.plugins.scheduling_gates import is_about
from fairway.plugins.unprepared import Unprepared

REFUSAL = Refusal(("node(s) had untolerated taint(s)",), Code.UNRESOLVABLE)


class TaintToleration(Plugin):
    """Judges each distinct set of taints once."""

    annotations = ()
    reads = Aspect.NODE
    normalize = "reverse"
    refused_word = "tainted"

    def _tolerations(self, pod: Pod) -> tuple[Toleration, ...]:
        """The pod's own, and those that every pod is taken to have."""
        return (*pod.spec.tolerations, *self.borne) if self.borne else pod.spec.tolerations

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""
        return ~untolerated_mask(nodes.cluster, self._tolerations(pod.pod), nodes.rows)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """kube-scheduler names no taint."""
        return REFUSAL

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[str]:
        """The first taint that is not tolerated."""
        tolerations = self._tolerations(pod.pod)
        taints = (_untolerated(tolerations, node) for node in nodes.objects)
        return ["?" if taint is None else _text(taint) for taint in taints]

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """A toleration for each of these taints, the most frequent first."""
        tolerations = pod.spec.tolerations
        taints: Counter[Taint] = Counter()
        for node in (node for _, nodes in refused for node in nodes.objects):
            taint = _untolerated(self._tolerations(pod), node)
            if taint is not None:
                taints[Taint(key=taint.key, value=taint.value, effect=taint.effect)] += 1
        for taint, _ in taints.most_common():
            operator = "Equal" if taint.value else "Exists"
            bearing = Toleration(key=taint.key, operator=operator, value=taint.value, effect=taint.effect)
            words = f"tolerate {_text(taint)}:{taint.effect}"
            yield Relaxation(words, with_spec(pod, tolerations=(*tolerations, bearing)))

    def pre_score(self, pod: PodClass, nodes: Nodes) -> tuple[Toleration, ...]:
        """The tolerations that can cover a PreferNoSchedule taint."""
        return tuple(each for each in self._tolerations(pod.pod) if each.effect in ("", "PreferNoSchedule"))

    def score(self, pod: PodClass, nodes: Nodes, state: tuple[Toleration, ...]) -> NDArray[np.int64]:
        """How many PreferNoSchedule taints are not tolerated: the fewer the better, after normalisation."""
        return count_untolerated(nodes.cluster, state, nodes.rows, "PreferNoSchedule")

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if point == "score" and missing == "preScore":
            return Unprepared(self, 'failed to read "PreScoreTaintToleration" from cycleState: not found')
        return self

    def events(self) -> Sequence[Hint]:
        """A node whose taints the pod now tolerates, or a toleration that the pod got."""
        return (
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), self._is_tolerated_now),
            Hint(ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION), is_about),
        )

    def _is_tolerated_now(self, pod: Pod, change: Change) -> bool:
        def refused(node: Node) -> bool:
            return _untolerated(self._tolerations(pod), node) is not None

        was_refused = not isinstance(change.old, Node) or refused(change.old)
        return was_refused and isinstance(change.new, Node) and not refused(change.new)


def _untolerated(tolerations: Sequence[Toleration], node: Node) -> Taint | None:
    return find_untolerated_taint(tolerations, node.spec.taints, NO_SCHEDULE)


def _text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}" if taint.value else taint.key
