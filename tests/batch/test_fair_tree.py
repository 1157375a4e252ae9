"""Who comes first by Fair Tree."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.fair_tree import ShareNode, fair_tree
from tests.batch.naive_fair_tree import naive_factors


def user(key: str, shares: int | None = 1, usage: float = 0.0) -> ShareNode:
    return ShareNode(key, shares, usage, is_user=True)


def account(key: str, shares: int | None, *children: ShareNode) -> ShareNode:
    return ShareNode(key, shares, sum(child.usage for child in children), children)


def ranks(*children: ShareNode) -> Mapping[str, int | None]:
    standings = fair_tree(account("root", 1, *children))
    return {key: standing.rank for key, standing in standings.items() if standing.rank is not None}


def test_the_level_is_what_one_is_entitled_to_over_what_one_used() -> None:
    standings = fair_tree(account("root", 1, user("a", 3, 50), user("b", 1, 50), user("c", 1)))
    assert {key: standing.level for key, standing in standings.items()} == {"a": 1.2, "b": 0.4, "c": math.inf}
    assert {key: standing.factor for key, standing in standings.items()} == {"c": 1.0, "a": 2 / 3, "b": 1 / 3}


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        # Whoever is in the better account is before everybody in the worse one, whatever they used themselves.
        (
            (account("good", 9, user("g1", 1, 10), user("g2", 1, 5)), account("bad", 1, user("b1", 1, 15), user("b2"))),
            {"g2": 4, "g1": 3, "b2": 2, "b1": 1},
        ),
        # Equals share the first one's rank, and the next one comes after them all.
        ((user("a", 1, 5), user("b", 1, 5), user("c", 1, 90)), {"a": 3, "b": 3, "c": 1}),
        # Accounts that tie are as one.
        (
            (account("x", 1, user("x1", 1, 4), user("x2", 1, 6)), account("y", 1, user("y1", 1, 3), user("y2", 1, 7))),
            {"y1": 4, "x1": 3, "x2": 2, "y2": 1},
        ),
        # An account that ties with a user passes the tie on to its first, not to the others.
        ((user("a", 1, 10), account("x", 1, user("x1", 1, 10), user("x2"))), {"a": 3, "x2": 3, "x1": 1}),
        # Shares that are the parent's rank as unused, whatever was used, and count in the usage of all.
        ((user("p", None, 80), user("a", 1, 10), user("b", 1, 10)), {"p": 3, "a": 2, "b": 2}),
        # The children of an account without shares of its own are its parent's.
        ((account("x", None, user("x1", 3, 10)), user("a", 1, 10)), {"x1": 2, "a": 1}),
        # Entitled to nothing is last, used or not.
        ((user("z", 0), user("a", 1, 99)), {"a": 2, "z": 1}),
    ],
)
def test_ranks(children: tuple[ShareNode, ...], expected: Mapping[str, int]) -> None:
    assert ranks(*children) == expected


def test_an_empty_tree_ranks_nobody() -> None:
    assert fair_tree(account("root", 1)) == {}
    assert ranks(account("empty", 1)) == {}


SHARES = st.sampled_from([1, 1, 2, 5, 0, None])
USERS = st.builds(
    lambda shares, usage: user("", shares, usage), SHARES, st.sampled_from([0.0, 0.0, 1.0, 2.0, 10.0, 7.5])
)


@st.composite
def trees(draw: st.DrawFn) -> ShareNode:
    accounts = st.recursive(
        USERS,
        lambda below: st.builds(lambda s, many: account("", s, *many), SHARES, st.lists(below, max_size=4)),
        max_leaves=14,
    )
    return numbered(account("", 1, *draw(st.lists(accounts, max_size=4))), "0")


def numbered(node: ShareNode, key: str) -> ShareNode:
    children = tuple(numbered(child, f"{key}.{index}") for index, child in enumerate(node.children))
    return ShareNode(key, node.shares, node.usage, children, node.is_user)


@settings(max_examples=300)
@given(root=trees())
def test_factors_are_those_of_groups_of_equals(root: ShareNode) -> None:
    factors = {key: standing.factor for key, standing in fair_tree(root).items() if standing.factor is not None}
    assert factors == naive_factors(root)
