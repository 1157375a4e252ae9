"""The funnel: how many nodes each plugin left over, and what was wrong with the others.

In: the diagnosis of an attempt, in which every node was refused at most once, by the first plugin that said no. Out:
one `Step` for each plugin that refused any node, in the order they are asked; the numbers refused and the number left
add up to all nodes. Called by `trial` for pods that do not fit, and by `why`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import NodeTable, PodClass
from fairway.cycle import Diagnosis, Profile
from fairway.model import Node, compile_node_selector, find_untolerated_taint
from fairway.plugin import Refusal
from fairway.words import amount_texts, count_text, plugin_text

__all__ = ["Group", "Step", "funnel_document", "funnel_lines", "make_funnel", "refused_rows"]

SHORT = "Insufficient "
TOO_MANY_PODS = "Too many pods"


class Group(NamedTuple):
    """Nodes that were refused for the same reason."""

    words: str
    num_nodes: int
    resource: str = ""  # where a resource is short: which, how much is needed, and the most that any of the nodes has
    needed: int = 0
    most_free: int = 0


class Step(NamedTuple):
    """What one plugin did to the nodes that reached it."""

    plugin: str
    num_refused: int
    num_left: int
    groups: tuple[Group, ...]  # largest first

    @property
    def words(self) -> str:
        """What was wrong, in one line."""
        if self.plugin == "NodeResourcesFit" and self.groups[0].resource:
            return f"{count_text(self.num_refused)} short: {', '.join(map(_shortage, self.groups))}"
        if self.plugin == "TaintToleration":
            taints = ", ".join(f"{group.words} {count_text(group.num_nodes)}" for group in self.groups)
            return f"{count_text(self.num_refused)} tainted ({taints})"
        return ", ".join(f"{count_text(group.num_nodes)} {group.words}" for group in self.groups)


def make_funnel(profile: Profile, pod_class: PodClass, diagnosis: Diagnosis | None) -> tuple[Step, ...]:
    """The steps, in the order in which the profile asks its filters; none when there was nothing to ask about."""
    if diagnosis is None:
        return ()
    left = diagnosis.num_nodes
    if diagnosis.pre_filter is not None:
        plugin, refusal = diagnosis.pre_filter
        plugin = plugin or " ".join(diagnosis.restricted_by)
        return (Step(plugin, left, 0, (Group(_plain(refusal), left),)),)
    steps: list[Step] = []
    looked_at = int(np.count_nonzero(diagnosis.which != -2))
    if diagnosis.elsewhere is not None and looked_at < left:
        elsewhere = left - looked_at
        left = looked_at
        unnamed = Group("not named by the pod", elsewhere)
        steps.append(Step(" ".join(diagnosis.restricted_by), elsewhere, left, (unnamed,)))
    by_plugin = refused_rows(diagnosis)
    order = [plugin.name for plugin in profile.filters]
    for plugin in sorted(by_plugin, key=lambda name: order.index(name) if name in order else len(order)):
        refusals = by_plugin[plugin]
        groups = _groups(plugin, pod_class, profile.cluster.nodes, refusals)
        refused = sum(len(rows) for _, rows in refusals)
        left -= refused
        steps.append(Step(plugin, refused, left, tuple(sorted(groups, key=lambda group: -group.num_nodes))))
    return tuple(steps)


def refused_rows(diagnosis: Diagnosis) -> dict[str, list[tuple[Refusal, NDArray[np.intp]]]]:
    """By plugin: each of its refusals with the rows it is for."""
    result: dict[str, list[tuple[Refusal, NDArray[np.intp]]]] = {}
    for number, (plugin, refusal) in enumerate(diagnosis.refusals):
        rows = np.flatnonzero(diagnosis.which == number)
        if len(rows):
            result.setdefault(plugin, []).append((refusal, rows))
    return result


def funnel_lines(steps: Sequence[Step], num_nodes: int) -> list[str]:
    """For people: the number left after each plugin, its name, and what was wrong with those it refused."""
    width = max(len(count_text(num_nodes)), 4)
    names = [plugin_text(step.plugin) for step in steps]
    longest = max(map(len, names), default=0)
    lines = [f"  {count_text(num_nodes):>{width}}  node{'' if num_nodes == 1 else 's'}"]
    for name, step in zip(names, steps, strict=True):
        lines.append(f"  {count_text(step.num_left):>{width}}  {name:<{longest}}   {step.words}")
    return lines


def funnel_document(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "plugin": step.plugin,
            "refused": step.num_refused,
            "left": step.num_left,
            "reasons": [
                {"reason": group.words, "nodes": group.num_nodes}
                | (
                    {"resource": group.resource, "needed": group.needed, "mostFree": group.most_free}
                    if group.resource
                    else {}
                )
                for group in step.groups
            ],
        }
        for step in steps
    ]


def _groups(
    plugin: str, pod_class: PodClass, nodes: NodeTable, refusals: Sequence[tuple[Refusal, NDArray[np.intp]]]
) -> list[Group]:
    if plugin == "NodeResourcesFit":
        return _short_groups(pod_class, nodes, refusals)
    rows = [int(row) for _, some in refusals for row in some]
    if plugin == "NodeUnschedulable":
        return [Group("cordoned", len(rows))]
    judge = {"TaintToleration": _taint, "NodeAffinity": _unmet}.get(plugin)
    if judge is not None:
        words = Counter(judge(pod_class, nodes.objects[row] or Node()) for row in rows)
    else:
        words = Counter()
        for refusal, some in refusals:
            words[_plain(refusal)] += len(some)
    return [Group(text, number) for text, number in words.most_common()]


def _short_groups(
    pod_class: PodClass, nodes: NodeTable, refusals: Sequence[tuple[Refusal, NDArray[np.intp]]]
) -> list[Group]:
    """Each node under one resource: the one that is short on most of the nodes, then the next for the rest."""
    lacking: dict[str, set[int]] = {}
    for refusal, rows in refusals:
        for reason in refusal.reasons:
            resource = "pods" if reason == TOO_MANY_PODS else reason.removeprefix(SHORT)
            lacking.setdefault(resource, set()).update(map(int, rows))
    groups = []
    while lacking:
        resource = max(lacking, key=lambda name: (len(lacking[name]), name))
        short = sorted(lacking.pop(resource))
        if not short:
            continue
        column = nodes.resource_column(resource)
        free = nodes.allocatable[short, column] - nodes.requested[short, column]
        needed = 1 if resource == "pods" else pod_class.requests.get(resource, 0)
        groups.append(Group(resource, len(short), resource, needed, int(free.max())))
        for others in lacking.values():
            others.difference_update(short)
    return groups


def _shortage(group: Group) -> str:
    needed, free = amount_texts(group.resource, group.needed, max(group.most_free, 0))
    return f"{group.resource} {count_text(group.num_nodes)} (needs {needed}, most free {free})"


def _taint(pod_class: PodClass, node: Node) -> str:
    taint = find_untolerated_taint(pod_class.spec.tolerations, node.spec.taints, ("NoSchedule", "NoExecute"))
    if taint is None:
        return "?"
    return f"{taint.key}={taint.value}" if taint.value else taint.key


def _unmet(pod_class: PodClass, node: Node) -> str:
    """The first wish of the pod about nodes that this node does not meet."""
    spec, labels = pod_class.spec, node.metadata.labels
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            return f"not {key}={value}"
    affinity = spec.affinity.node_affinity if spec.affinity else None
    terms = compile_node_selector(affinity.required).terms if affinity and affinity.required else ()
    if len(terms) == 1:
        for wish in (*terms[0].requirements, *terms[0].fields):
            if not wish.matches(labels | {"metadata.name": node.metadata.name}):
                return f"not {wish}"
    if terms:
        return f"in none of the {len(terms)} node affinity terms"
    return "not as the profile's added affinity wants"


def _plain(refusal: Refusal) -> str:
    return ", ".join(reason.removeprefix("node(s) ") for reason in refusal.reasons)
