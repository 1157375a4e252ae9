"""All about one attempt: what a person, a recording or the conformance corpus wants to see.

In: a profile and a pod, before the decision is carried out. Out: an `Inspection` with every node's refusal, every
plugin's score on every feasible node and the totals, worked out by the same plugins and the same cached answers as
the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cycle.answers import Answers
from fairway.cycle.diagnosis import Diagnosis
from fairway.cycle.failure import diagnose
from fairway.cycle.feasibility import feasible_mask, nominated_rows
from fairway.cycle.scoring import final_scores, wide_scores
from fairway.model import Pod
from fairway.plugin import Refusal, overrides

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile


@dataclass(slots=True)
class Inspection:
    """What every plugin said about every node."""

    pod: Pod
    num_nodes: int
    feasible: list[str] = field(default_factory=list)  # names, sorted
    rejected: list[tuple[str, Refusal, list[str]]] = field(default_factory=list)  # plugin, refusal, sorted names
    scores: dict[str, dict[str, int]] = field(default_factory=dict)  # plugin -> node -> final, weighted score
    totals: dict[str, int] = field(default_factory=dict)
    best: list[str] = field(default_factory=list)  # names with the highest total, sorted
    diagnosis: Diagnosis | None = None

    def funnel(self, order: list[str]) -> list[tuple[str, int, int]]:
        """(plugin, refused, remaining) for each plugin that refused any node, in the order given."""
        remaining = self.num_nodes
        steps = []
        refused = {plugin: 0 for plugin, _, _ in self.rejected}
        for plugin, _, names in self.rejected:
            refused[plugin] += len(names)
        for plugin in sorted(refused, key=lambda name: order.index(name) if name in order else -1):
            remaining -= refused[plugin]
            steps.append((plugin, refused[plugin], remaining))
        return steps


def inspect(profile: Profile, pod: Pod) -> Inspection:
    """Look at the attempt that `decide` would make now, in detail."""
    nodes = profile.cluster.nodes
    inspection = Inspection(pod, nodes.num_alive)
    if not nodes.row_of:
        return inspection  # nobody is asked anything then
    answers = profile.answers(profile.classify(pod))
    if answers.pre_filter_refusal is not None:
        inspection.diagnosis = diagnose(profile, pod, answers, {})
        return inspection
    mask, refusals = feasible_mask(profile, pod, answers, nominated_rows(profile, pod))
    inspection.diagnosis = diagnosis = diagnose(profile, pod, answers, refusals)
    rows = np.flatnonzero(mask)
    inspection.feasible = sorted((nodes.names[row] for row in rows), key=str.encode)
    for number, (plugin, refusal) in enumerate(diagnosis.refusals):
        refused = [nodes.names[row] for row in np.flatnonzero(diagnosis.which == number)]
        if refused:
            inspection.rejected.append((plugin, refusal, sorted(refused, key=str.encode)))
    if len(rows) and profile.scores and not answers.score_problem:
        _score(answers, rows, inspection)
    return inspection


def score_words(profile: Profile, pod: Pod) -> dict[str, dict[str, tuple[str, ...]]]:
    """By plugin and node: what plugins that can explain their scores say about the nodes that fit now."""
    answers = profile.answers(profile.classify(pod))
    if answers.pre_filter_refusal is not None or not any(overrides(each, "explain_score") for each in profile.scores):
        return {}
    if answers.score_problem:
        return {}
    mask, _ = feasible_mask(profile, pod, answers, nominated_rows(profile, pod))
    nodes = Nodes(answers.cluster, np.flatnonzero(mask))
    states = {part.plugin.name: (part.plugin, part.pre_scored) for part in answers.scores}
    states |= {part.plugin.name: (part.plugin, state) for part, state in wide_scores(answers, nodes)}
    words = {}
    for name, (plugin, state) in states.items():
        if len(nodes) and overrides(plugin, "explain_score"):
            lines = plugin.explain_score(answers.pod_class, nodes, state)
            words[name] = dict(zip(nodes.names, map(tuple, lines), strict=True))
    return words


def _score(answers: Answers, rows: NDArray[np.intp], inspection: Inspection) -> None:
    """Ask every score plugin about the feasible rows."""
    nodes = Nodes(answers.cluster, rows)
    names = nodes.names
    totals = np.zeros(len(rows), np.int64)
    shares = {}
    for part in answers.scores:
        cached = part.raw
        raw = part.plugin.score(answers.pod_class, nodes, part.pre_scored) if cached is None else cached[rows]
        shares[part.plugin.name] = final_scores(answers, part, nodes, part.pre_scored, raw)
    for part, state in wide_scores(answers, nodes):
        raw = part.plugin.score(answers.pod_class, nodes, state)
        shares[part.plugin.name] = final_scores(answers, part, nodes, state, raw)
    for plugin in answers.profile.scores:
        if plugin.name in shares:
            share = shares[plugin.name]
            inspection.scores[plugin.name] = dict(zip(names, share.tolist(), strict=True))
            totals += share
    inspection.totals = dict(zip(names, totals.tolist(), strict=True))
    highest = int(totals.max())
    inspection.best = sorted((name for name, total in inspection.totals.items() if total == highest), key=str.encode)
