"""Selectors typed on a command line are read as kubectl reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import (
    EVERYTHING,
    LabelSelector,
    compile_selector,
    parse_label_selector,
)

GOOD = {
    "blank": ("  ", ""),
    "equal": ("a=b", "a=b"),
    "double equal": ("a==b", "a=b"),
    "not equal": ("a!=b", "a!=b"),
    "empty value": ("a=,b=c", "a=,b=c"),
    "exists": ("a", "a"),
    "does not exist": ("! a", "!a"),
    "in": ("a in (x, y)", "a in (x,y)"),
    "in, one": ("a in (x)", "a=x"),
    "notin": ("a notin (y,x)", "a notin (x,y)"),
    "in, nothing": ("a in ()", "a="),
    "in, an empty place": ("a in (x,)", "a in (,x)"),
    "greater": ("n>5", "n>5"),
    "less": ("n < 5", "n<5"),
    "keywords as values": ("in in (in,notin)", "in in (in,notin)"),
    "sorted": ("b=2,a=1", "a=1,b=2"),
    "all": ("a=b,c!=d,e in (x,y),!f", "!f,a=b,c!=d,e in (x,y)"),
    "prefixed": ("example.com/a=b", "example.com/a=b"),
}


@pytest.mark.parametrize(("text", "canonical"), GOOD.values(), ids=GOOD)
def test_label_selectors(text: str, canonical: str) -> None:
    selector = parse_label_selector(text)
    assert sorted(str(selector).replace("<everything>", "").split(",")) == sorted(canonical.split(","))


BAD = {
    "trailing comma": ("a=b,", "found the end, expected another requirement"),
    "leading comma": (",a=b", "found ',', expected a label key"),
    "two keys": ("a b", "found 'b', expected =, ==, !=, in, notin, > or <"),
    "no parenthesis": ("a in x", r"found 'x', expected '\('"),
    "open list": ("a in (x", r"found the end, expected ',' or '\)'"),
    "no comma in list": ("a in (x y)", r"found 'y', expected ',' or '\)'"),
    "operator as value": ("a==!", "found '!', expected a value"),
    "bad key": ("a/b/c=d", "requirement on 'a/b/c': key"),
    "bad value": ("a=-", "requirement on 'a': values"),
    "no number": ("a>b", "Gt needs exactly one value, an integer"),
    "negated comparison": ("!a=b", "found '=', expected ',' or the end"),
}


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD)
def test_bad_label_selectors(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_label_selector(text)


def test_text_and_struct_give_equal_selectors() -> None:
    assert parse_label_selector("b=2,a=1") == compile_selector(LabelSelector(match_labels={"a": "1", "b": "2"}))
    assert parse_label_selector("") == EVERYTHING


@given(st.text("ab=!,()<> in\t1", max_size=20))
def test_any_text_is_a_selector_or_a_value_error(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except ValueError:
        return
    assert selector.matches({"a": "1"}) in (True, False)
