"""Extenders: services outside that are asked as well, as kube-scheduler asks them.

In: the nodes that the plugins let through, the scores they gave, the preemption candidates they found. Out: the same,
less what extenders refuse, plus what they score. `Extender` is what the cycle wants of one; that of
`fairway.live.extenders.http_extender` asks over HTTP. The rules (order, who is skipped, whose errors count) are those
of kube-scheduler 1.36: schedule_one.go (findNodesThatPassExtenders, prioritizeNodes) and framework/preemption
(callExtenders). Without extenders nothing here is called.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.model import Node, Pod
from fairway.plugin import Candidate, Code, Refusal

if TYPE_CHECKING:
    from fairway.cycle.diagnosis import Diagnosis

__all__ = [
    "EXTENDER",
    "Extender",
    "ExtenderError",
    "ExtenderVerdict",
    "Filtered",
    "Victims",
    "add_priorities",
    "ask_filters",
    "ask_preemption",
]

logger = logging.getLogger(__name__)

EXTENDER = "Extender"
"""Who is to blame, where an extender refused a node: any event may help such a pod."""


class ExtenderError(Exception):
    """An extender did not answer, or not in a way that makes sense; the text goes into the pod's condition."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """An extender's answer: the nodes that remain, and why others do not (not every one need have a reason)."""

    names: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Victims:
    """Pods that would have to go from a node, most important first."""

    pods: tuple[Pod, ...]
    pdb_violations: int


class Extender(Protocol):
    """A service that takes part in decisions; each `ask_` raises `ExtenderError` when it can not be relied on."""

    @property
    def name(self) -> str:
        """Where it is, for messages."""

    @property
    def ignorable(self) -> bool:
        """Go on without it when it fails?"""

    @property
    def filters(self) -> bool:
        """Does it refuse nodes?"""

    @property
    def prioritizes(self) -> bool:
        """Does it score nodes?"""

    @property
    def preempts(self) -> bool:
        """Does it look at preemption candidates?"""

    @property
    def binds(self) -> bool:
        """Does it bind?"""

    def is_interested(self, pod: Pod) -> bool:
        """Is this pod any of its business?"""

    def ask_filter(self, pod: Pod, nodes: Sequence[Node]) -> Filtered:
        """Which of these nodes will do?"""

    def ask_prioritize(self, pod: Pod, nodes: Sequence[Node]) -> Mapping[str, int]:
        """How good is each, on the scale of totals: its weight is in it."""

    def ask_preempt(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, tuple[tuple[str, ...], int]]:
        """On which nodes may pods be removed? By node: the victims' uids and how many budgets that violates."""

    def ask_bind(self, pod: Pod, node: str) -> None:
        """Bind the pod."""


# -- filter ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ExtenderVerdict:
    """What the extenders said about the feasible nodes."""

    mask: NDArray[np.bool_]  # (num_rows,) what is left
    refusals: dict[int, Refusal] = field(default_factory=dict)  # by row
    refused_any: bool = False

    def tell(self, diagnosis: Diagnosis) -> None:
        """Add these refusals to those of the plugins."""
        for row, refusal in self.refusals.items():
            diagnosis.refuse(EXTENDER, np.array([row], np.intp), refusal)


def ask_filters(extenders: Iterable[Extender], cluster: Cluster, pod: Pod, mask: NDArray[np.bool_]) -> ExtenderVerdict:
    """Ask one after the other, each about what the ones before it have left. Raises `ExtenderError`."""
    table = cluster.nodes
    verdict = ExtenderVerdict(mask)
    rows = np.flatnonzero(mask).tolist()
    num_before = len(rows)
    for extender in extenders:
        if not rows:
            break
        if not extender.is_interested(pod) or not extender.filters:
            continue
        try:
            answer = extender.ask_filter(pod, _objects(cluster, rows))
        except ExtenderError as error:
            if not extender.ignorable:
                raise
            logger.warning("extender %s is skipped: %s", extender.name, error)
            continue
        for name, words in (*answer.failed.items(), *answer.unresolvable.items()):
            if name in table.row_of:
                code = Code.UNRESOLVABLE if name in answer.unresolvable else Code.UNSCHEDULABLE
                verdict.refusals[table.row_of[name]] = Refusal((words,), code)
        rows = [table.row_of[name] for name in answer.names if name in table.row_of]
    verdict.refused_any = len(rows) != num_before
    if verdict.refused_any:
        verdict.mask = np.zeros_like(mask)
        verdict.mask[rows] = True
    return verdict


def _objects(cluster: Cluster, rows: Iterable[int]) -> list[Node]:
    return [node for row in rows if (node := cluster.nodes.objects[row]) is not None]


# -- prioritize --------------------------------------------------------------------------------------------------------


def add_priorities(
    extenders: Iterable[Extender], cluster: Cluster, pod: Pod, rows: NDArray[np.intp], totals: NDArray[np.int64]
) -> None:
    """Add what extenders think of the feasible rows to their totals, in place; who fails has no say."""
    asked = [extender for extender in extenders if extender.prioritizes and extender.is_interested(pod)]
    if not asked:
        return
    nodes = _objects(cluster, rows.tolist())
    for extender in asked:
        try:
            scores = extender.ask_prioritize(pod, nodes)
        except ExtenderError as error:
            logger.warning("extender %s gives no scores: %s", extender.name, error)
            continue
        totals += np.array([scores.get(cluster.nodes.names[row], 0) for row in rows.tolist()], np.int64)


# -- preempt -----------------------------------------------------------------------------------------------------------


def ask_preemption(
    extenders: Iterable[Extender], cluster: Cluster, pod: Pod, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """The candidates that every extender agrees to, with the victims they want. Raises `ExtenderError`."""
    names = cluster.nodes.names
    left = {names[candidate.row]: Victims(candidate.victims, candidate.pdb_violations) for candidate in candidates}
    for extender in extenders:
        if not extender.preempts or not extender.is_interested(pod):
            continue
        try:
            answer = {
                node: Victims(_found(extender, cluster, node, uids), violations)
                for node, (uids, violations) in extender.ask_preempt(pod, left).items()
            }
        except ExtenderError as error:
            if not extender.ignorable:
                raise
            logger.warning("extender %s is skipped in preemption: %s", extender.name, error)
            continue
        for node in [node for node, victims in answer.items() if not victims.pods]:
            if not extender.ignorable:
                raise ExtenderError(f'expected at least one victim pod on node "{node}"')
            del answer[node]
        left = answer
        if not left:
            break
    row_of = cluster.nodes.row_of
    return [Candidate(row_of[node], victims.pods, victims.pdb_violations) for node, victims in left.items()]


def _found(extender: Extender, cluster: Cluster, node: str, uids: Iterable[str]) -> tuple[Pod, ...]:
    """The pods an extender names by uid; they have to be on that node."""
    row = cluster.nodes.row_of.get(node)
    if row is None:
        raise ExtenderError(f'nodeinfo not found for node name "{node}"')
    there = {placed.pod.metadata.uid: placed.pod for placed in cluster.pods.on_row(row)}
    victims = []
    for uid in uids:
        if uid not in there:
            raise ExtenderError(
                f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, "
                "but the pod is not found on that node"
            )
        victims.append(there[uid])
    return tuple(victims)
