"""Checks of the pieces that several kinds of objects share: amounts, choices, selectors.

Each is given the path of a field and its value, and yields the problems found, each with the path of the very
field. Called by `fairway.model.validate` and `fairway.model.validate_pod`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairway.model.affinity import NodeSelector
from fairway.model.meta import LabelSelector
from fairway.model.quantity import MAX_INT64, NANO, Quantity
from fairway.model.requests import is_scalar_resource
from fairway.model.selector import LABEL_OPERATORS, check_requirement, compile_node_selector

__all__ = [
    "EFFECTS",
    "Problem",
    "choice_problems",
    "key_path",
    "node_selector_problems",
    "quantity_problems",
    "selector_problems",
]

Problem = tuple[str, str]
"""The path of a field, and what is wrong with it."""

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def key_path(path: str, key: str) -> str:
    """The path of a map's entry: `requests.cpu`, `labels['example.com/team']`."""
    return f"{path}.{key}" if key.replace("-", "").replace("_", "").isalnum() else f"{path}[{key!r}]"


def choice_problems(path: str, value: str, allowed: Iterable[str]) -> Iterator[Problem]:
    """A value that is not among those allowed."""
    if value not in allowed:
        yield path, f"{value!r} is not one of {', '.join(allowed)}"


def quantity_problems(path: str, quantities: Mapping[str, Quantity]) -> Iterator[Problem]:
    """Amounts below zero, beyond 64 bits, or in parts where only wholes make sense."""
    for name, quantity in quantities.items():
        most = MAX_INT64 * NANO // 1000 if name == "cpu" else MAX_INT64 * NANO
        if quantity.nanos < 0:
            yield key_path(path, name), f"{quantity} must not be negative"
        elif quantity.nanos >= most:
            yield key_path(path, name), f"{quantity} is more than 64 bits can hold"
        elif is_scalar_resource(name) and quantity.nanos % NANO:
            yield key_path(path, name), f"{quantity} must be a whole number"


def selector_problems(path: str, selector: LabelSelector | None) -> Iterator[Problem]:
    """Requirements of a label selector that mean nothing."""
    if selector is None:
        return
    for key, value in selector.match_labels.items():
        if problem := check_requirement(key, "In", (value,), LABEL_OPERATORS):
            yield key_path(f"{path}.matchLabels", key), problem.partition(": ")[2]
    for index, line in enumerate(selector.match_expressions):
        if problem := check_requirement(line.key, line.operator, line.values, LABEL_OPERATORS):
            field, _, what = problem.partition(": ")
            yield f"{path}.matchExpressions[{index}].{field}", what


def node_selector_problems(path: str, selector: NodeSelector | None) -> Iterator[Problem]:
    """Terms of a node selector that mean nothing, or a selector without any."""
    if selector is None:
        return
    if not selector.node_selector_terms:
        yield f"{path}.nodeSelectorTerms", "must have at least one term"
    for problem in compile_node_selector(selector).problems:
        field, _, what = problem.partition(": ")
        yield f"{path}.{field}", what
    for index, term in enumerate(selector.node_selector_terms):
        for number, line in enumerate(term.match_fields):
            if line.key != "metadata.name":
                yield (
                    f"{path}.nodeSelectorTerms[{index}].matchFields[{number}].key",
                    f"{line.key!r} is not metadata.name, the only field there is",
                )
