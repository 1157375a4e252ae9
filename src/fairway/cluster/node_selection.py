"""Node selectors and taints as operations on columns.

In: a pod's nodeSelector and node affinity, any node selector (a volume's, an added affinity), or tolerations; and rows.
Out: masks and counts over those rows. Each distinct label value, and each distinct set of taints, is judged once, by
the same `fairway.model` code that judges a single object; nodes then look the verdict up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.labels import LabelColumn
from fairway.cluster.view import Rows
from fairway.model import NodeSelector, NodeSelectorTerm, PodSpec, Taint, Toleration
from fairway.model.selector import (
    NodeMatcher,
    NodeTermMatcher,
    Requirement,
    node_terms,
)
from fairway.model.toleration import find_untolerated_taint, tolerates

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster

WITHOUT_KEY = ("NotIn", "DoesNotExist")
"""The operators that nodes without the label meet."""
NO_SCHEDULE = ("NoSchedule", "NoExecute")
"""The effects that keep a new pod off a node."""

T = TypeVar("T", bound=np.generic)


def requirements_mask(cluster: Cluster, requirements: Iterable[Requirement], rows: Rows) -> NDArray[np.bool_] | None:
    """Rows whose labels meet all requirements; None when there are none, that is, for every row.

    Keys that no node has are looked at first: they are met everywhere or nowhere. The verdicts on one key's values are
    put together before rows look them up, so that the work follows the keys of nodes, not those of pods.
    """
    labels = cluster.nodes.labels
    tables: dict[str, NDArray[np.bool_]] = {}
    is_any = False
    present = []
    for requirement in requirements:
        is_any = True
        if requirement.key in labels:
            present.append(requirement)
        elif requirement.operator not in WITHOUT_KEY:
            return np.zeros(_length(cluster, rows), bool)
    for requirement in present:
        verdicts = _verdicts(labels.column(requirement.key), requirement)
        known = tables.get(requirement.key)
        if known is None:
            tables[requirement.key] = verdicts
        else:
            known &= verdicts
    if not is_any:
        return None
    mask: NDArray[np.bool_] | None = None
    for key, table in tables.items():
        found = table[labels.column(key).ids[rows]]
        mask = found if mask is None else mask & found
    return np.ones(_length(cluster, rows), bool) if mask is None else mask


def _verdicts(column: LabelColumn, requirement: Requirement) -> NDArray[np.bool_]:
    """The requirement judged for every value of a column; the last entry is for rows without the label."""
    if requirement.operator in ("Gt", "Lt"):
        return column.truth_table(lambda value: requirement.matches({requirement.key: value}), False)
    is_positive = requirement.operator in ("In", "Exists")
    table = np.full(len(column.values) + 1, requirement.operator in ("NotIn", "Exists"))
    table[-1] = not is_positive
    if len(requirement.values) > len(column.values):
        wanted = frozenset(requirement.values)
        table[[number for number, value in enumerate(column.values.values) if value in wanted]] = is_positive
    elif requirement.values:
        table[[number for value in requirement.values if (number := column.values.find(value)) >= 0]] = is_positive
    return table


def term_mask(cluster: Cluster, term: NodeTermMatcher, rows: Rows) -> NDArray[np.bool_]:
    """Rows that one node selector term matches."""
    count = _length(cluster, rows)
    if term.problems or not (term.requirements or term.fields):
        return np.zeros(count, bool)
    mask = requirements_mask(cluster, term.requirements, rows)
    if mask is None:
        mask = np.ones(count, bool)
    for field in term.fields:
        if field.key != "metadata.name":
            named = np.full(count, "" in field.values)
        else:
            everywhere = np.zeros(cluster.nodes.num_rows, bool)
            known = [cluster.nodes.row_of[name] for name in field.values if name in cluster.nodes.row_of]
            everywhere[known] = True
            named = everywhere[rows]
        mask = mask & (named if field.operator == "In" else ~named)
    return mask


def matcher_mask(cluster: Cluster, matcher: NodeMatcher, rows: Rows) -> NDArray[np.bool_]:
    """Rows that any term of a compiled node selector matches."""
    return _any_term_mask(cluster, matcher.terms, rows)


def _any_term_mask(cluster: Cluster, terms: Iterable[NodeTermMatcher], rows: Rows) -> NDArray[np.bool_]:
    mask = np.zeros(_length(cluster, rows), bool)
    for term in terms:
        mask |= term_mask(cluster, term, rows)
    return mask


def node_selector_mask(cluster: Cluster, selector: NodeSelector, rows: Rows) -> NDArray[np.bool_]:
    """Rows that a node selector matches: any of its terms. Those that want a key that no node has are not compiled:
    they match nothing, whatever else is in them, or wrong with them.
    """
    labels = cluster.nodes.labels

    def may_match(term: NodeSelectorTerm) -> bool:
        return all(line.key in labels or line.operator in WITHOUT_KEY for line in term.match_expressions)

    return _any_term_mask(cluster, node_terms(selector, may_match), rows)


def required_node_affinity_mask(cluster: Cluster, spec: PodSpec, rows: Rows) -> NDArray[np.bool_]:
    """Rows that satisfy the pod's nodeSelector and its required node affinity."""
    mask = None
    if spec.node_selector:
        mask = _labels_mask(cluster, spec.node_selector, rows)
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is not None and affinity.required is not None:
        found = node_selector_mask(cluster, affinity.required, rows)
        mask = found if mask is None else mask & found
    return np.ones(_length(cluster, rows), bool) if mask is None else mask


def _labels_mask(cluster: Cluster, wanted: Mapping[str, str], rows: Rows) -> NDArray[np.bool_]:
    """Rows that have all of these labels; the first that no node has ends the search."""
    labels = cluster.nodes.labels
    if any(key not in labels for key in wanted):
        return np.zeros(_length(cluster, rows), bool)
    mask: NDArray[np.bool_] | None = None
    for key, value in wanted.items():
        column = labels.column(key)
        number = column.values.find(value)
        if number < 0:
            return np.zeros(_length(cluster, rows), bool)
        found = column.ids[rows] == number
        mask = found if mask is None else mask & found
    return np.ones(_length(cluster, rows), bool) if mask is None else mask


def has_required_node_affinity(spec: PodSpec) -> bool:
    """Does the pod restrict its nodes by label at all?"""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return bool(spec.node_selector) or (affinity is not None and affinity.required is not None)


def untolerated_mask(
    cluster: Cluster, tolerations: Sequence[Toleration], rows: Rows, effects: tuple[str, ...] = NO_SCHEDULE
) -> NDArray[np.bool_]:
    """Rows with a taint of one of these effects that no toleration covers."""
    return _judged(
        cluster, rows, np.bool_, lambda taints: find_untolerated_taint(tolerations, taints, effects) is not None
    )


def count_untolerated(
    cluster: Cluster, tolerations: Sequence[Toleration], rows: Rows, effect: str
) -> NDArray[np.int64]:
    """How many taints of one effect no toleration covers, per row."""
    return _judged(
        cluster,
        rows,
        np.int64,
        lambda taints: sum(
            taint.effect == effect and not any(tolerates(each, taint) for each in tolerations) for taint in taints
        ),
    )


def _judged(cluster: Cluster, rows: Rows, dtype: type[T], judge: Callable[[tuple[Taint, ...]], int]) -> NDArray[T]:
    values, sets = cluster.nodes.taint_values, cluster.nodes.taint_sets[rows]
    if len(sets) < len(values):  # no more than these rows have is judged
        own = {number: judge(values[number]) for number in set(sets.tolist())}
        return np.array([own[number] for number in sets.tolist()], dtype)
    verdicts: NDArray[T] = np.array([0 if taints is None else judge(taints) for taints in values.values], dtype)
    return verdicts[sets]


def _length(cluster: Cluster, rows: Rows) -> int:
    return cluster.nodes.num_rows if isinstance(rows, slice) else len(rows)
