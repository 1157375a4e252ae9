"""Which rows a pod fits on, nominated pods included.

In: a class's current answers and the pod. Out: the mask of feasible rows. Wide filters are asked here, about all rows;
a pre-filter's restriction applies; and where a pod at least as important waits for a node, the node must also do with
that pod imagined on it. Called by `pod_cycle`, `failure` and `preemption`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cycle.answers import Answers
from fairway.cycle.imagined import first_refusal, imagined
from fairway.model import Pod
from fairway.plugin import Refusal

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

Refusals = dict[int, tuple[str, Refusal]]
"""Rows refused only because of the pods nominated to them: by whom, and why."""


def feasible_mask(
    profile: Profile, pod: Pod, answers: Answers, crowded: Sequence[int]
) -> tuple[NDArray[np.bool_], Refusals]:
    """The rows that pass all filters, and those refused only because of pods nominated to them."""
    cluster = profile.cluster
    num_rows = cluster.nodes.num_rows
    mask = answers.mask[:num_rows].copy()
    if answers.wide_filters:
        everything = Nodes(cluster)
        for part in answers.wide_filters:
            mask &= part.plugin.filter(answers.pod_class, everything, part.state)
    if answers.restriction is not None:
        mask &= restricted_rows(profile, answers)
        own = cluster.nodes.row_of.get(pod.status.nominated_node_name, -1)
        crowded = [row for row in crowded if row == own or cluster.nodes.names[row] in answers.restriction[0]]
    refusals: Refusals = {}
    for row in crowded:
        refusal = refusal_with_nominated(profile, pod, answers, row)
        if refusal is not None:
            mask[row] = False
            refusals[row] = refusal
    return mask, refusals


def restricted_rows(profile: Profile, answers: Answers) -> NDArray[np.bool_]:
    """The rows a pre-filter confined the pod to."""
    assert answers.restriction is not None
    nodes = profile.cluster.nodes
    mask = np.zeros(nodes.num_rows, bool)
    mask[[nodes.row_of[name] for name in answers.restriction[0] if name in nodes.row_of]] = True
    return mask


def fits_on(profile: Profile, pod: Pod, row: int) -> bool:
    """Does the pod pass the filters on one node, whatever a pre-filter says about others?"""
    answers = profile.answers(profile.classify(pod))
    if answers.pre_filter_refusal is not None:
        return False
    if row in nominated_rows(profile, pod) and refusal_with_nominated(profile, pod, answers, row) is not None:
        return False
    return first_refusal(answers, row) is None


def nominated_rows(profile: Profile, pod: Pod) -> list[int]:
    """Rows that pods at least as important as this one wait for."""
    nominations = profile.cluster.nominations
    if nominations.highest_priority is None or nominations.highest_priority < pod.priority:
        return []
    row_of = profile.cluster.nodes.row_of
    return [row_of[name] for name in nominations.nodes() if name in row_of and rivals(profile, pod, name)]


def rivals(profile: Profile, pod: Pod, node_name: str) -> list[Pod]:
    """Pods nominated to a node that this one must leave room for."""
    return [
        other
        for other in profile.cluster.nominations.on(node_name)
        if other.priority >= pod.priority and other.metadata.uid != pod.metadata.uid
    ]


def refusal_with_nominated(profile: Profile, pod: Pod, answers: Answers, row: int) -> tuple[str, Refusal] | None:
    """Who refuses the row once the pods nominated to it are imagined there."""
    others = rivals(profile, pod, profile.cluster.nodes.names[row])
    if not others:
        return None
    with imagined(answers, row, added=others):
        return first_refusal(answers, row)
