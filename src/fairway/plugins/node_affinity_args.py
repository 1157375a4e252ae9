"""What NodeAffinity can be told, with kube-scheduler's checks.

Node affinity that every pod of the profile has besides its own. The terms are checked here as kube-scheduler checks
them (apis/config/validation/validation_pluginargs.go 1.36), which is more than it does for those of pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fairway.model import NodeAffinity, label_key_problem, label_value_problem
from fairway.model.affinity import NodeSelectorRequirement, NodeSelectorTerm
from fairway.model.field_problem import alternatives, shown
from fairway.plugin import PluginArgs, Problem

__all__ = ["NodeAffinityArgs"]

INTEGER: Final = re.compile(r"[-+]?[0-9]+")


class NodeAffinityArgs(PluginArgs, frozen=True, kw_only=True):
    """Node affinity that every pod of the profile has besides its own."""

    added_affinity: NodeAffinity | None = None

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        if self.added_affinity is None:
            return
        required = self.added_affinity.required
        path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms if required else ()):
            yield from _term(f"{path}[{index}]", term)
        path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        for index, preferred in enumerate(self.added_affinity.preferred):
            if preferred.weight != 0:  # a term that counts for nothing is not even looked at
                yield from _term(f"{path}[{index}].preference", preferred.preference)


def _term(path: str, term: NodeSelectorTerm) -> Iterator[Problem]:
    for index, requirement in enumerate(term.match_expressions):
        yield from _label_requirement(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        at = f"{path}.matchFields[{index}]"
        if requirement.operator not in ("In", "NotIn"):
            unknown = alternatives(requirement.operator, ("In", "NotIn"))
            yield Problem(f"{at}.operator", f"{shown(requirement.operator)} is not for fields{unknown}")
        elif len(requirement.values) != 1:
            yield Problem(f"{at}.values", f"{len(requirement.values)} values; a field is compared with exactly one")


# How many values each operator takes: at least, at most (None: any number).
OPERATORS: Final[dict[str, tuple[int, int | None]]] = {
    "In": (1, None),
    "NotIn": (1, None),
    "Exists": (0, 0),
    "DoesNotExist": (0, 0),
    "Gt": (1, 1),
    "Lt": (1, 1),
}


def _label_requirement(path: str, requirement: NodeSelectorRequirement) -> Iterator[Problem]:
    operator, values = requirement.operator, requirement.values
    if operator not in OPERATORS:
        yield Problem(f"{path}.operator", f"{shown(operator)} is unknown{alternatives(operator, OPERATORS)}")
        return
    if fault := label_key_problem(requirement.key):
        yield Problem(f"{path}.key", fault)
    least, most = OPERATORS[operator]
    if len(values) < least or (most is not None and len(values) > most):
        allowed = "at least one" if most is None else "exactly one" if most else "none"
        yield Problem(f"{path}.values", f"{len(values)} values; {operator} takes {allowed}")
    for index, value in enumerate(values):
        if operator in ("Gt", "Lt") and not (INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63):
            yield Problem(f"{path}.values[{index}]", f"{shown(value)} is not an integer, which {operator} compares")
        if label_value_problem(value):
            yield Problem(f"{path}.values[{index}]", f"{shown(value)} cannot be the value of a label")
