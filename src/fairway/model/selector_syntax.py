"""Label selectors as people type them: `app=web,tier in (a,b),!canary`.

In: text. Out: a `Selector` over labels; a `ValueError` that says what was found and what was expected. The grammar is
that of `kubectl -l` (apimachinery's `labels`, v0.36.4). Called by `testing.notation`, for the builders of tests.
"""

from __future__ import annotations

import re

from fairway.model.selector import NODE_OPERATORS, Requirement, Selector, check_requirement

__all__ = ["parse_label_selector"]

TOKEN = re.compile(r"\s*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^\s=!(),<>]+))")
WORD_OPERATORS = {"in": "In", "notin": "NotIn"}
SYMBOL_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}


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
