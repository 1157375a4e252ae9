"""The limit of nesting is ours: exact, and the same on every Python."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import DecodeError
from fairway.model.nesting import MAX_DEPTH, check_nesting

TRICKY_TEXT = st.text('[]{}"\\\n,:a', max_size=6)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | TRICKY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TRICKY_TEXT, inner, max_size=4),
    max_leaves=60,
)


def depth_of(tree: Any) -> int:
    """The rule, stated naively: a value has depth 0, and what holds values is one deeper than the deepest of them."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    return 1 + max(map(depth_of, tree), default=0) if isinstance(tree, list) else 0


def wrapped(tree: Any, levels: int) -> bytes:
    return b'[{"}]":1,"a[":' * levels + json.dumps(tree).encode() + b"}]" * levels


def is_refused(data: bytes) -> bool:
    try:
        check_nesting(data, "f.json")
    except DecodeError:
        return True
    return False


@given(TREES, st.integers(MAX_DEPTH // 2 - 6, MAX_DEPTH // 2 + 1))
def test_just_what_is_nested_deeper_is_refused(tree: Any, levels: int) -> None:
    assert is_refused(wrapped(tree, levels)) == (2 * levels + depth_of(tree) > MAX_DEPTH)


@pytest.mark.parametrize("cut", [0, 1, 50, 99, 100])
def test_a_text_that_is_cut_off_is_refused_for_its_depth_alone(cut: int) -> None:
    assert not is_refused(b"[" * MAX_DEPTH + b"]" * cut + b'["a",' * cut)
    assert is_refused(b"[" * MAX_DEPTH + b"]" * cut + b'["a",' * (cut + 1))


def test_the_place_is_named() -> None:
    with pytest.raises(DecodeError, match=r"^f\.json: line 3, column 101: nested more than 100 deep$"):
        check_nesting(b'\n["[[["\n,' + b"[" * 500, "f.json")


def test_it_stays_clear_of_the_interpreters_own_limit() -> None:
    assert sys.getrecursionlimit() >= MAX_DEPTH * 5
