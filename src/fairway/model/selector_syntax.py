"""Selectors as people type them: `-l 'app=web,tier in (a,b),!canary'`, `--field-selector status.phase=Pending`.

In: the text of a command-line option. Out: a `Selector` over labels, or a `FieldSelector` over objects; a
`ValueError` that says what was found and what was expected. The grammar is that of `kubectl`
(apimachinery's `labels` and `fields`, v0.36.4). Called by `cli/` and `web/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from fairway.model.node import Node
from fairway.model.pod import Pod
from fairway.model.selector import NODE_OPERATORS, Requirement, Selector, check_requirement
from fairway.model.storage import PersistentVolumeClaim
from fairway.model.workload import Namespace

__all__ = ["FieldCondition", "FieldSelector", "parse_field_selector", "parse_label_selector"]

TOKEN = re.compile(r"\s*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^\s=!(),<>]+))")
WORD_OPERATORS = {"in": "In", "notin": "NotIn"}
SYMBOL_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}

FieldHolder = Pod | Node | PersistentVolumeClaim | Namespace
FIELDS: dict[str, Callable[[FieldHolder], str]] = {
    "metadata.name": lambda thing: thing.metadata.name,
    "metadata.namespace": lambda thing: thing.metadata.namespace,
    "spec.nodeName": lambda thing: thing.spec.node_name if isinstance(thing, Pod) else "",
    "spec.schedulerName": lambda thing: thing.spec.scheduler_name if isinstance(thing, Pod) else "",
    "spec.restartPolicy": lambda thing: thing.spec.restart_policy if isinstance(thing, Pod) else "",
    "spec.unschedulable": lambda thing: str(isinstance(thing, Node) and thing.spec.unschedulable).lower(),
    "status.phase": lambda thing: "" if isinstance(thing, Node) else thing.status.phase,
    "status.nominatedNodeName": lambda thing: thing.status.nominated_node_name if isinstance(thing, Pod) else "",
}


class FieldCondition(msgspec.Struct, frozen=True, gc=False):
    """One field that must (or must not) have a value."""

    field: str
    value: str
    is_equal: bool = True


class FieldSelector(msgspec.Struct, frozen=True, gc=False):
    """All conditions must hold; none at all selects everything."""

    conditions: tuple[FieldCondition, ...] = ()

    def matches(self, thing: FieldHolder) -> bool:
        """Whether the object is selected. A field its kind does not have reads as ""."""
        return all((FIELDS[one.field](thing) == one.value) == one.is_equal for one in self.conditions)


def parse_label_selector(text: str) -> Selector:
    """Read `a=b,c!=d,e in (x,y),f notin (z),g,!h,n>1`; blank selects everything."""
    tokens = _Tokens(text)
    requirements: set[Requirement] = set()
    while tokens.next is not None:
        requirements.add(_requirement(tokens))
        if tokens.next is None:
            break
        tokens.take(",", expected="',' or the end")
        if tokens.next is None:
            raise tokens.wrong("another requirement after ','")
    return Selector(tuple(sorted(requirements)))


class _Tokens:
    """What is left of a selector's text, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.next: str | None = None
        self.next_is_word = False
        self.advance()

    def advance(self) -> None:
        found = TOKEN.match(self.text, self.position)
        self.next = (found["symbol"] or found["word"]) if found else None
        self.next_is_word = found is not None and found["word"] is not None
        self.position = found.end() if found else len(self.text)

    def take(self, *allowed: str, expected: str) -> str:
        token = self.next
        if token is None or token not in allowed:
            raise self.wrong(expected)
        self.advance()
        return token

    def take_word(self, expected: str) -> str:
        token = self.next
        if token is None or not self.next_is_word:
            raise self.wrong(expected)
        self.advance()
        return token

    def wrong(self, expected: str) -> ValueError:
        found = "the end" if self.next is None else repr(self.next)
        return ValueError(f"label selector {self.text!r}: found {found}, expected {expected}")


def _requirement(tokens: _Tokens) -> Requirement:
    is_negated = tokens.next == "!"
    if is_negated:
        tokens.advance()
    key = tokens.take_word("a label key")
    values: tuple[str, ...] = ()
    if is_negated:
        operator = "DoesNotExist"
    elif tokens.next in (None, ","):
        operator = "Exists"
    elif tokens.next in WORD_OPERATORS:
        operator = WORD_OPERATORS[tokens.take(*WORD_OPERATORS, expected="in or notin")]
        values = _values(tokens)
    else:
        operator = SYMBOL_OPERATORS[tokens.take(*SYMBOL_OPERATORS, expected="=, ==, !=, in, notin, > or <")]
        values = ("",) if tokens.next in (None, ",") else (tokens.take_word("a value"),)
    if problem := check_requirement(key, operator, values, NODE_OPERATORS):
        raise ValueError(f"label selector {tokens.text!r}, requirement on {key!r}: {problem}")
    return Requirement(key, operator, values)


def _values(tokens: _Tokens) -> tuple[str, ...]:
    """Read `(x,y)`; an empty place is an empty value, as in kubectl."""
    tokens.take("(", expected="'('")
    values: set[str] = set()
    while True:
        values.add("" if tokens.next in (",", ")") else tokens.take_word("a value, ',' or ')'"))
        if tokens.take(",", ")", expected="',' or ')'") == ")":
            return tuple(sorted(values))


def parse_field_selector(text: str) -> FieldSelector:
    r"""Read `metadata.name=web-0,status.phase!=Running`; a comma, = or \ in a value is written with a \ before it."""
    if not re.fullmatch(r"(?:\\[\\,=]|[^\\])*", text, re.DOTALL):
        raise ValueError(f"field selector {text!r}: only '\\\\', ',' and '=' may follow a '\\'")
    conditions: list[FieldCondition] = []
    for term in re.findall(r"(?:\\.|[^,\\])+", text, re.DOTALL):
        found = re.fullmatch(r"\s*(.*?)(!=|==|=)(.*)", term, re.DOTALL)
        if found is None:
            raise ValueError(f"field selector {text!r}: {term!r} is not field=value, field==value or field!=value")
        field, operator, value = found.groups()
        if field not in FIELDS:
            raise ValueError(f"field selector {text!r}: unknown field {field!r}; known are {', '.join(FIELDS)}")
        if re.search(r"(?<!\\)(\\\\)*=", value):
            raise ValueError(f"field selector {text!r}: write '=' in a value as '\\='")
        value = re.sub(r"\\(.)", r"\1", value)
        conditions.append(FieldCondition(field, value, operator != "!="))
    return FieldSelector(tuple(conditions))
