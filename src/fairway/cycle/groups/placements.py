"""The sets of nodes that a group may go to as a whole, and the best of those where it fits.

In: a group whose object names a label. Out: one `Domain` for each value of that label, or the only one where members
run already; and of the domains where the group fits, the best by what plugins score (`placementScore`). kube-scheduler
1.36, `podGroupSchedulingPlacementAlgorithm` and plugins/topologyaware/topology_placement.go. Called by
`pod_group_cycle`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cluster.groups import GroupBook
from fairway.cycle.groups.group_decision import PlacementScores
from fairway.cycle.groups.members_cycle import MembersResult
from fairway.cycle.scoring import normalized
from fairway.model.group import GroupSpec
from fairway.plugin import PodClass

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["Domain", "DomainError", "best_domain", "domain_scores", "domains_of"]

NO_PLACEMENTS: Final = "no feasible placements found"


class DomainError(Exception):
    """Where the members are that run already, no domain can hold them all; the text is kube-scheduler's."""


class Domain(NamedTuple):
    """A set of nodes."""

    name: str  # the value of the label; "" for all nodes
    rows: NDArray[np.bool_] | None  # (num_rows,); None: all


def domains_of(profile: Profile, group: GroupBook, spec: GroupSpec) -> list[Domain]:
    """Where the group may go, in the order in which it is tried: by name, or at random."""
    if spec.topology is None or not profile.makes_placements:
        return [Domain("", None)]
    key = spec.topology.keys[0]
    required = _domain_of_members(profile, group, key)
    nodes = profile.cluster.nodes
    rows: dict[str, list[int]] = {}
    for row in nodes.row_of.values():
        node = nodes.objects[row]
        value = node.metadata.labels.get(key) if node is not None else None
        if value is not None and required in (None, value):
            rows.setdefault(value, []).append(row)
    names = sorted(rows, key=str.encode)
    if not profile.tie_breaker.is_by_name:
        profile.random.shuffle(names)
    return [Domain(name, _mask(rows[name], nodes.num_rows)) for name in names]


def _mask(rows: list[int], num_rows: int) -> NDArray[np.bool_]:
    mask = np.zeros(num_rows, bool)
    mask[rows] = True
    mask.setflags(write=False)  # so that failures there can be remembered
    return mask


def _domain_of_members(profile: Profile, group: GroupBook, key: str) -> str | None:
    """The value of the label where members run or are about to; None if there are none."""
    cluster = profile.cluster
    found: str | None = None
    for uid in (*group.bound, *group.assumed):
        pod = group.pods[uid]
        placed = cluster.pods.by_uid.get(uid)
        node = cluster.nodes.objects[placed.row] if placed is not None else None
        problem = ""
        value = node.metadata.labels.get(key) if node is not None else None
        if node is None:
            where = f'nodeinfo not found for node name "{pod.spec.node_name}"'
            problem = f"getting node for pod {pod.key}: {where}"
        elif value is None:
            problem = f"no topology domain found for pod {pod.key}"
        elif found and found != value:
            problem = f"more than 1 domain found for pod group: {found}, {value}"
        if problem:
            raise DomainError(f"cannot determine domain for already scheduled pods: {problem}")
        found = value
    return found


# -- the best of several -----------------------------------------------------------------------------------------------


def domain_scores(
    profile: Profile, group: GroupBook, results: Mapping[str, tuple[Domain, MembersResult]]
) -> dict[str, PlacementScores]:
    """What plugins say of each domain where the group fits, by name."""
    names = list(results)
    by_plugin: dict[str, dict[str, int]] = {name: {} for name in names}
    for plugin, weight in profile.placement_scores:
        raw = np.array([_raw_score(profile, plugin.placement_score, group, *results[name]) for name in names], np.int64)
        if plugin.normalize != "none":
            raw = normalized(raw, plugin.normalize == "reverse")
        for name, score in zip(names, raw.tolist(), strict=True):
            by_plugin[name][plugin.name] = score * weight
    return {name: PlacementScores(sum(scores.values()), scores) for name, scores in by_plugin.items()}


def _raw_score(profile: Profile, score: object, group: GroupBook, domain: Domain, result: MembersResult) -> int:
    pods: Sequence[PodClass] = [each.decision.pod_class for each in result.tries if each.row >= 0]
    nodes = profile.cluster.nodes
    rows = np.flatnonzero(nodes.alive[: nodes.num_rows] if domain.rows is None else domain.rows)
    assert callable(score)
    return int(score(group, Nodes(profile.cluster, rows), pods))


def best_domain(profile: Profile, scores: Mapping[str, PlacementScores]) -> str:
    """The one with the highest total; of equals the first by name, or any."""
    highest = max(each.total for each in scores.values())
    best = sorted((name for name, each in scores.items() if each.total == highest), key=str.encode)
    return best[0] if profile.tie_breaker.is_by_name or len(best) == 1 else profile.random.choice(best)
