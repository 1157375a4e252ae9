"""The smallest cluster that keeps a condition: the search against asking about every size, and what is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.compare.fewest_nodes import BELOW, FewestNodes, SizeTried, judge, parse_conditions, search
from fairway.compare.gate import GateError, parse_gate
from fairway.record.metric_definitions import DEFINITIONS


class Sizes:
    """Which sizes keep it, and which were asked about."""

    def __init__(self, kept: set[int]) -> None:
        self.kept = kept
        self.asked: list[int] = []

    def __call__(self, sizes: Sequence[int]) -> list[bool]:
        self.asked += sizes
        return [size in self.kept for size in sizes]


@given(st.integers(1, 300), st.integers(1, 40))
def test_where_more_nodes_never_hurt_it_finds_the_smallest(threshold: int, start: int) -> None:
    largest = 16 * start
    sizes = Sizes(set(range(threshold, largest + 1)))
    known = search(sizes, start, largest)
    naive = next((size for size in range(1, largest + 1) if size in sizes.kept), None)
    assert min((size for size, is_kept in known.items() if is_kept), default=None) == naive
    assert len(sizes.asked) == len(set(sizes.asked))
    assert len(sizes.asked) <= 2 * largest.bit_length() + BELOW + 2


@given(st.sets(st.integers(1, 64)), st.integers(1, 4))
def test_whatever_it_finds_keeps_it_and_the_next_smaller_ones_do_not(kept: set[int], start: int) -> None:
    largest = 16 * start
    known = search(Sizes(kept), start, largest)
    assert all(is_kept == (size in kept) for size, is_kept in known.items())
    found = min((size for size, is_kept in known.items() if is_kept), default=None)
    if found is None:
        assert largest not in kept
    else:
        assert not kept & set(range(max(1, found - BELOW), found))


def answer(*kept: tuple[int, bool]) -> FewestNodes:
    gates = parse_conditions(["wait_p95<60s"])
    return FewestNodes("default", gates, tuple(SizeTried(size, {"wait_p95": 1.0}, is_kept) for size, is_kept in kept))


def test_it_says_where_more_nodes_are_worse() -> None:
    one = answer((4, False), (5, True), (6, False), (7, True))
    assert one.num_nodes == 5
    assert one.exceptions == [6]
    assert one.lines("4 big, 1 small") == [
        "default: 5 nodes (4 big, 1 small) keep wait_p95<60s and pods_waiting<=0; 4 do not",
        "more nodes are not always better here: 6 break it, so a smaller size may keep it, too",
    ]


def test_it_says_that_nothing_helps() -> None:
    assert answer((4, False), (64, False)).lines() == [
        "default: no size up to 64 nodes keeps wait_p95<60s and pods_waiting<=0"
    ]


def test_pods_that_wait_for_ever_do_not_count_as_having_waited_little() -> None:
    gates = parse_conditions(["wait_p95<1m"])
    assert [gate.text for gate in gates] == ["wait_p95<1m", "pods_waiting<=0"]
    assert judge(3, gates, {"wait_p95": 59.0, "pods_waiting": 0}).is_kept
    assert not judge(3, gates, {"wait_p95": 60.0, "pods_waiting": 0}).is_kept
    assert not judge(3, gates, {"wait_p95": 1.0, "pods_waiting": 1}).is_kept
    assert not judge(3, gates, {"pods_waiting": 0}).is_kept
    assert [gate.text for gate in parse_conditions(["pods_waiting<=3"])] == ["pods_waiting<=3"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("wait_p95", "--fewest-nodes 'wait_p95' is no condition; write one such as wait_p95<60s"),
        ("wait_p95<+5%", "asks for a change; say how much it may be, such as wait_p95<60s"),
        ("wait_p59<60s", "there is no metric wait_p59; did you mean wait_p9"),
        ("pods_waiting<3s", "pods_waiting is no time but pods; leave out the s"),
    ],
)
def test_what_is_no_condition_is_told(text: str, told: str) -> None:
    with pytest.raises(GateError) as error:
        parse_conditions([text])
    assert told in str(error.value)


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("1.5m", 90), ("2h", 7200), ("1d", 86_400), ("5ms", 0.005)])
def test_times_have_units(text: str, seconds: float) -> None:
    assert parse_gate(f"wait_p95>{text}").bound == seconds
    assert parse_gate(f"wait_p95>+{text}").bound == seconds
    assert all(one.unit != "s" or parse_gate(f"{one.name}<1s") for one in DEFINITIONS if "{}" not in one.name)
