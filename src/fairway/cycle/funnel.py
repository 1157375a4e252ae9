"""The funnel: how many nodes each plugin left over, and what was wrong with the others.

In: the diagnosis of an attempt, in which every node was refused at most once, by the first plugin that said no. Out:
one `Step` for each plugin that refused any node, in the order they are asked; the numbers refused and the number left
add up to all nodes. Called by `explain.trial` for pods that do not fit, by `why`, and by a running scheduler that is
asked (`live.api_routes`), which sends it as a document; `read_funnel` reads that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes, PodClass
from fairway.cycle.diagnosis import ABSENT, Diagnosis
from fairway.cycle.inspection import Inspection
from fairway.cycle.profile import Profile
from fairway.plugin import Plugin, Refusal, Refused, overrides
from fairway.words import amount_texts, count_text, plugin_text

__all__ = [
    "Group",
    "Step",
    "funnel_document",
    "funnel_lines",
    "funnel_places",
    "make_funnel",
    "read_funnel",
    "refused_rows",
    "single_words",
]

Rows = list[int]
"""Nodes, by their number in the cluster's table."""


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
    umbrella: str = ""  # a word for all of them, if the plugin has one

    @property
    def words(self) -> str:
        """What was wrong, in one line."""
        short = [group for group in self.groups if group.resource]
        others = [group for group in self.groups if not group.resource]
        parts = []
        if short:
            num_short = sum(group.num_nodes for group in short)
            parts.append(f"{count_text(num_short)} short: {', '.join(map(_shortage, short))}")
        if others and self.umbrella:
            each = ", ".join(f"{group.words} {count_text(group.num_nodes)}" for group in others)
            parts.append(f"{count_text(sum(group.num_nodes for group in others))} {self.umbrella} ({each})")
        else:
            parts += [f"{count_text(group.num_nodes)} {group.words}" for group in others]
        return ", ".join(parts)


def make_funnel(profile: Profile, pod_class: PodClass, diagnosis: Diagnosis | None) -> tuple[Step, ...]:
    """The steps, in the order in which the profile asks its filters; none when there was nothing to ask about."""
    return tuple(step for step, _ in _steps(profile, pod_class, diagnosis))


def funnel_places(profile: Profile, pod_class: PodClass, diagnosis: Diagnosis | None) -> dict[str, tuple[int, int]]:
    """By node that was refused: at which step of the funnel, and in which of its groups."""
    names = profile.cluster.nodes.names
    return {
        names[row]: (number, place)
        for number, (_, groups) in enumerate(_steps(profile, pod_class, diagnosis))
        for place, rows in enumerate(groups)
        for row in rows
    }


def _steps(profile: Profile, pod_class: PodClass, diagnosis: Diagnosis | None) -> list[tuple[Step, list[Rows]]]:
    """Each step, and the nodes of each of its groups."""
    if diagnosis is None:
        return []
    left = diagnosis.num_nodes
    alive = list(profile.cluster.nodes.row_of.values())
    if diagnosis.pre_filter is not None:
        plugin, refusal = diagnosis.pre_filter
        plugin = plugin or " ".join(diagnosis.restricted_by)
        return [(Step(plugin, left, 0, (Group(_plain(refusal), left),)), [alive])]
    steps: list[tuple[Step, list[Rows]]] = []
    looked_at = int(np.count_nonzero(diagnosis.which != ABSENT))
    if diagnosis.elsewhere is not None and looked_at < left:
        elsewhere = left - looked_at
        left = looked_at
        unnamed = Group("not named by the pod", elsewhere)
        rows = [row for row in alive if diagnosis.which[row] == ABSENT]
        steps.append((Step(" ".join(diagnosis.restricted_by), elsewhere, left, (unnamed,)), [rows]))
    by_plugin = refused_rows(diagnosis)
    order = [plugin.name for plugin in profile.filters]
    words_for = {plugin.name: plugin.refused_word for plugin in profile.filters}
    for plugin in sorted(by_plugin, key=lambda name: order.index(name) if name in order else len(order)):
        found = [Refused(refusal, Nodes(profile.cluster, rows)) for refusal, rows in by_plugin[plugin]]
        groups = sorted(_groups(profile, plugin, pod_class, found), key=lambda group: -group[0].num_nodes)
        num_refused = sum(len(nodes) for _, nodes in found)
        left -= num_refused
        step = Step(plugin, num_refused, left, tuple(group for group, _ in groups), words_for.get(plugin, ""))
        steps.append((step, [rows for _, rows in groups]))
    return steps


def single_words(profile: Profile, pod_class: PodClass, inspection: Inspection) -> dict[str, str]:
    """What plugins say about each node that they refused, asked about it alone; of some they say nothing."""
    row_of = profile.cluster.nodes.row_of
    asked = {plugin.name: plugin for plugin in profile.asked_filters if overrides(plugin, "funnel_words")}
    found: dict[str, str] = {}
    if inspection.diagnosis is None or inspection.diagnosis.pre_filter is not None:
        return found  # the pod itself was refused
    for name, refusal, nodes in inspection.rejected:
        if name not in asked or refusal.shortages:
            continue
        state = profile.state_of(asked[name], pod_class)
        for node in nodes:
            one = Nodes(profile.cluster, np.array([row_of[node]], np.intp))
            if words := asked[name].funnel_words(pod_class, one, state):
                found[node] = words[0]
    return found


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
        | ({"umbrella": step.umbrella} if step.umbrella else {})
        for step in steps
    ]


def read_funnel(document: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """The steps that a document tells of."""
    return tuple(
        Step(
            step["plugin"],
            step["refused"],
            step["left"],
            tuple(
                Group(
                    one["reason"], one["nodes"], one.get("resource", ""), one.get("needed", 0), one.get("mostFree", 0)
                )
                for one in step["reasons"]
            ),
            step.get("umbrella", ""),
        )
        for step in document
    )


def _groups(
    profile: Profile, plugin: str, pod_class: PodClass, refusals: Sequence[Refused]
) -> list[tuple[Group, Rows]]:
    """The nodes that one plugin refused, by what is wrong with them: first those that are short of something."""
    asked = next((one for one in profile.asked_filters if one.name == plugin), None)
    short = [refused for refused in refusals if refused.refusal.shortages]
    rows: dict[str, Rows] = {}
    for refusal, nodes in refusals:
        if refusal.shortages:
            continue
        own = () if asked is None else asked.funnel_words(pod_class, nodes, profile.state_of(asked, pod_class))
        for words, row in zip(own or [_plain(refusal)] * len(nodes), nodes.numbers.tolist(), strict=True):
            rows.setdefault(words, []).append(row)
    groups = [] if asked is None else _short_groups(asked, short)
    others = sorted(rows.items(), key=lambda one: -len(one[1]))
    return [*groups, *((Group(words, len(some)), some) for words, some in others)]


def _short_groups(plugin: Plugin, refusals: Sequence[Refused]) -> list[tuple[Group, Rows]]:
    """Each node under one resource: the one that is short on most of the nodes, then the next for the rest."""
    lacking: dict[str, set[int]] = {}
    needed: dict[str, int] = {}
    for refusal, nodes in refusals:
        for shortage in refusal.shortages:
            lacking.setdefault(shortage.resource, set()).update(nodes.numbers.tolist())
            needed[shortage.resource] = max(shortage.needed, needed.get(shortage.resource, 0))
    groups = []
    while lacking:
        resource = max(lacking, key=lambda name: (len(lacking[name]), name))
        short = sorted(lacking.pop(resource))
        if not short:
            continue
        supply = plugin.supply(Nodes(plugin.cluster, np.array(short, np.intp)), resource)
        group = Group(resource, len(short), resource, needed[resource], int(supply.free.max()))
        groups.append((group, short))
        for others in lacking.values():
            others.difference_update(short)
    return groups


def _shortage(group: Group) -> str:
    needed, free = amount_texts(group.resource, group.needed, max(group.most_free, 0))
    return f"{group.resource} {count_text(group.num_nodes)} (needs {needed}, most free {free})"


def _plain(refusal: Refusal) -> str:
    return ", ".join(reason.removeprefix("node(s) ") for reason in refusal.reasons)
