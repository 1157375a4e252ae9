"""Which labels match: selectors compiled once, shared, and asked many times.

In: a `LabelSelector`, a `NodeSelector`, or plain labels as a service has them. Out: an immutable `Selector` or
`NodeMatcher` in canonical form, so that equal selectors are one object and can key a cache. `cluster/` turns
their requirements into operations on columns; everybody else calls `matches`. The meaning is that of
`metav1.LabelSelectorAsSelector` and of `component-helpers/scheduling/corev1/nodeaffinity`, v0.36.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import eq

import msgspec

from fairway.model.affinity import NodeSelector, NodeSelectorTerm
from fairway.model.meta import LabelSelector
from fairway.model.names import are_label_values, label_key_problem, label_value_problem
from fairway.model.quantity import MAX_INT64, MIN_INT64
from fairway.model.weighted_cache import WeightedCache

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "NodeMatcher",
    "NodeTermMatcher",
    "Requirement",
    "Selector",
    "compile_node_selector",
    "compile_node_term",
    "compile_selector",
    "integer_label",
    "node_terms",
    "selector_from_labels",
]

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
DECIMAL = re.compile(r"[+-]?[0-9]+")


class Requirement(msgspec.Struct, frozen=True, order=True, gc=False):
    """One condition on one label: In, NotIn, Exists, DoesNotExist, Gt or Lt; values sorted and unique."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the condition; a missing label meets NotIn and DoesNotExist only."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        number = None if value is None else integer_label(value)
        bound = integer_label(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt" | "Lt":
                return f"{self.key}{'>' if self.operator == 'Gt' else '<'}{self.values[0]}"
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator == 'In' else '!='}{self.values[0]}"
        return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"


class Selector(msgspec.Struct, frozen=True, gc=False):
    """A compiled label selector: all requirements must hold; none at all means every set of labels."""

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = False

    @property
    def is_everything(self) -> bool:
        """True when no labels could fail to match."""
        return not self.requirements and not self.is_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels are selected."""
        return not self.is_nothing and all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return "<nothing>" if self.is_nothing else ",".join(map(str, self.requirements)) or "<everything>"


NOTHING = Selector(is_nothing=True)
EVERYTHING = Selector()


class NodeTermMatcher(msgspec.Struct, frozen=True, gc=False):
    """A compiled node selector term: conditions on labels and on the node's name.

    A term with `problems` matches no node, as in kube-scheduler; whoever can refuse it should.
    """

    requirements: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    problems: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name is meant. A nameless node passes every field."""
        if self.problems or not (self.requirements or self.fields):
            return False
        if not all(requirement.matches(labels) for requirement in self.requirements):
            return False
        if not name:
            return True
        # The name is the only field there is; any other reads as "".
        return all(
            ((name if field.key == "metadata.name" else "") in field.values) == (field.operator == "In")
            for field in self.fields
        )


class NodeMatcher(msgspec.Struct, frozen=True, gc=False):
    """A compiled node selector: one of the terms must hold, so none at all means no node."""

    terms: tuple[NodeTermMatcher, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the terms, with the path below `nodeSelectorTerms`."""
        return tuple(problem for term in self.terms for problem in term.problems)

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name is meant."""
        return any(term.matches(labels, name) for term in self.terms)


def integer_label(text: str) -> int | None:
    """Read a label value as Gt and Lt do: a decimal 64-bit integer, or None."""
    number = int(text) if len(text) <= 63 and DECIMAL.fullmatch(text) else None
    return number if number is not None and MIN_INT64 <= number <= MAX_INT64 else None


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compile a label selector: none selects nothing, an empty one everything. `ValueError` if it is invalid."""
    if selector is None:
        return NOTHING
    if len(selector.match_labels) == 1 and not selector.match_expressions:  # most selectors are one label
        ((key, value),) = selector.match_labels.items()
        if label_key_problem(key) is None and label_value_problem(value) is None:
            return CANONICAL((Requirement(key, "In", (value,)),))
    lines: list[tuple[str, str, tuple[str, ...]]] = [
        (key, "In", (value,)) for key, value in selector.match_labels.items()
    ]
    lines += [(line.key, line.operator, line.values) for line in selector.match_expressions]
    return SELECTORS(tuple(lines)) if lines else EVERYTHING


def selector_from_labels(labels: Mapping[str, str]) -> Selector:
    """Compile plain labels, all of which must match, as in a service; nothing is checked, {} is everything."""
    return CANONICAL(tuple(sorted(Requirement(key, "In", (value,)) for key, value in labels.items())))


def compile_node_selector(selector: NodeSelector) -> NodeMatcher:
    """Compile a node selector; terms without conditions match nothing and are left out."""
    return NodeMatcher(tuple(node_terms(selector, lambda _: True)))


def node_terms(selector: NodeSelector, is_meant: Callable[[NodeSelectorTerm], bool]) -> Iterator[NodeTermMatcher]:
    """Its terms compiled, but for those that are not meant and those without conditions."""
    for index, term in enumerate(selector.node_selector_terms):
        if (term.match_expressions or term.match_fields) and is_meant(term):
            yield TERMS((term, f"nodeSelectorTerms[{index}]"))


def compile_node_term(term: NodeSelectorTerm) -> NodeTermMatcher:
    """Compile a single term, as preferred node affinity has them; an empty one matches nothing."""
    return TERMS((term, ""))


def check_requirement(key: str, operator: str, values: tuple[str, ...], allowed: Iterable[str]) -> str | None:
    """Say what is wrong with a requirement, beginning with the field: "values: In needs at least one"."""
    if operator not in allowed:
        return f"operator: {operator!r} is not one of {', '.join(allowed)}"
    if problem := label_key_problem(key):
        return f"key: {problem}"
    if operator in ("In", "NotIn") and not values:
        return f"values: {operator} needs at least one value"
    if operator in ("Exists", "DoesNotExist") and values:
        return f"values: {operator} takes no values"
    if operator in ("Gt", "Lt") and (len(values) != 1 or integer_label(values[0]) is None):
        return f"values: {operator} needs exactly one value, an integer"
    if not are_label_values(values):
        for index, value in enumerate(values):
            if problem := label_value_problem(value):
                return f"values[{index}]: {problem}"
    return None


Line = tuple[str, str, tuple[str, ...]]
MOST_WORDS = 32_768
"""How many keys and values all compiled selectors that are remembered may have: some 12 MB at most."""


def _compile(lines: tuple[Line, ...]) -> Selector:
    for key, operator, values in lines:
        if problem := check_requirement(key, operator, values, LABEL_OPERATORS):
            raise ValueError(f"label selector requirement on {key!r}: {problem}")
    return CANONICAL(tuple(sorted({_requirement(*line) for line in lines})))


def _canonical(requirements: tuple[Requirement, ...]) -> Selector:
    return Selector(requirements) if requirements else EVERYTHING


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    ordered = sorted(values)
    if any(map(eq, ordered, ordered[1:])):
        ordered = list(dict.fromkeys(ordered))
    return Requirement(key, operator, tuple(ordered))


def _compile_term(key: tuple[NodeSelectorTerm, str]) -> NodeTermMatcher:
    term, path = key
    problems: list[str] = []
    for part, lines in (("matchExpressions", term.match_expressions), ("matchFields", term.match_fields)):
        for index, line in enumerate(lines):
            if part == "matchExpressions":
                problem = check_requirement(line.key, line.operator, line.values, NODE_OPERATORS)
            elif line.operator not in FIELD_OPERATORS:
                problem = f"operator: {line.operator!r} is not one of {', '.join(FIELD_OPERATORS)}"
            else:
                problem = None if len(line.values) == 1 else "values: exactly one value is needed"
            if problem:
                problems.append(f"{path}{'.' if path else ''}{part}[{index}].{problem}")
    return NodeTermMatcher(
        tuple(sorted({_requirement(line.key, line.operator, line.values) for line in term.match_expressions})),
        tuple(sorted({_requirement(line.key, line.operator, line.values) for line in term.match_fields})),
        tuple(problems),
    )


def _weight_of_lines(lines: tuple[Line, ...]) -> int:
    return 4 + sum(1 + len(values) for _, _, values in lines)


def _weight_of_requirements(requirements: tuple[Requirement, ...]) -> int:
    if len(requirements) == 1:
        return 5 + len(requirements[0].values)
    return 4 + sum(1 + len(each.values) for each in requirements)


def _weight_of_term(key: tuple[NodeSelectorTerm, str]) -> int:
    term = key[0]
    return 4 + sum(1 + len(line.values) for line in (*term.match_expressions, *term.match_fields))


CANONICAL = WeightedCache(_canonical, _weight_of_requirements, MOST_WORDS)
SELECTORS = WeightedCache(_compile, _weight_of_lines, MOST_WORDS)
TERMS = WeightedCache(_compile_term, _weight_of_term, MOST_WORDS)
