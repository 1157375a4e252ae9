"""Why no node fits: counts, codes, who is to blame, and the sentence."""

from __future__ import annotations

import numpy as np
import pytest

from fairway.cycle.diagnosis import Diagnosis
from fairway.plugin import Code, Refusal

FULL = Refusal(("Insufficient cpu",))
FULL_TWICE = Refusal(("Insufficient cpu", "Insufficient memory"))
TAINTED = Refusal(("node(s) had untolerated taint(s)",), Code.UNRESOLVABLE)
ELSEWHERE = Refusal(("node(s) didn't satisfy plugin(s) [X]",), Code.UNRESOLVABLE)


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.array(numbers, np.intp)


def diagnosis(*refused: tuple[str, Refusal, int], num_nodes: int | None = None) -> Diagnosis:
    """Plugin, refusal and how many nodes, one group of rows after the other."""
    total = sum(number for _, _, number in refused)
    made = Diagnosis(total, total if num_nodes is None else num_nodes)
    start = 0
    for plugin, refusal, number in refused:
        made.refuse(plugin, rows(*range(start, start + number)), refusal)
        start += number
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(diagnosis(("Fit", FULL, 3)), "0/3 nodes are available: 3 Insufficient cpu.", id="one reason"),
        pytest.param(
            diagnosis(("Fit", FULL, 2), ("Taint", TAINTED, 10), ("X", Refusal(("a",)), 1)),
            "0/13 nodes are available: 1 a, 10 node(s) had untolerated taint(s), 2 Insufficient cpu.",
            id="sorted as strings, not as numbers",
        ),
        pytest.param(
            diagnosis(("Fit", FULL, 1), ("Fit", FULL_TWICE, 2)),
            "0/3 nodes are available: 2 Insufficient memory, 3 Insufficient cpu.",
            id="each reason of a node counts",
        ),
        pytest.param(
            diagnosis(("A", FULL, 1), ("B", FULL, 1)),
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="the same words of two plugins",
        ),
        pytest.param(diagnosis(), "0/0 nodes are available:", id="nothing to say"),
    ],
)
def test_message(made: Diagnosis, expected: str) -> None:
    assert made.message() == expected
    assert made.message("preemption: no.") == f"{expected} preemption: no."


@pytest.mark.parametrize(
    ("num_nodes", "expected"),
    [
        pytest.param(5, "2 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [X].", id="some were not looked at"),
        pytest.param(2, "2 Insufficient cpu.", id="all were looked at"),
    ],
)
def test_nodes_that_were_not_looked_at(num_nodes: int, expected: str) -> None:
    made = diagnosis(("Fit", FULL, 2), num_nodes=num_nodes)
    made.elsewhere = ("", ELSEWHERE)
    assert made.message() == f"0/{num_nodes} nodes are available: {expected}"


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        pytest.param(("no",), "0/4 nodes are available: no.", id="one reason"),
        pytest.param(("no", "never"), "0/4 nodes are available: no, never.", id="two"),
        pytest.param((), "0/4 nodes are available:", id="none"),
    ],
)
def test_a_pre_filter_speaks_alone_and_without_a_number(reasons: tuple[str, ...], expected: str) -> None:
    made = Diagnosis(4, 4)
    made.pre_filter = made.elsewhere = ("Pre", Refusal(reasons))
    assert made.message() == expected
    assert made.unschedulable_plugins == {"Pre"}


def test_one_refusal_each() -> None:
    made = Diagnosis(3, 3)
    made.refuse("Fit", rows(2, 0), [FULL, FULL_TWICE])
    made.accept(rows(1))
    assert [made.refusal_of(row) for row in range(3)] == [("Fit", FULL_TWICE), None, ("Fit", FULL)]
    assert made.reason_counts() == {"Insufficient cpu": 2, "Insufficient memory": 1}


def test_rows_by_code() -> None:
    made = diagnosis(("Fit", FULL, 2), ("Taint", TAINTED, 1), ("Fit", FULL_TWICE, 1))
    assert made.rows_with(Code.UNSCHEDULABLE).tolist() == [0, 1, 3]
    assert made.rows_with(Code.UNRESOLVABLE).tolist() == [2]
    assert made.rows_with(Code.ERROR).tolist() == []


def test_a_row_that_was_not_looked_at_has_the_refusal_of_such_rows_but_not_its_code() -> None:
    made = Diagnosis(2, 2)
    made.refuse("Fit", rows(1), FULL)
    made.elsewhere = ("", ELSEWHERE)
    assert made.refusal_of(0) == ("", ELSEWHERE)
    assert made.rows_with(Code.UNRESOLVABLE).tolist() == []


def test_who_is_to_blame() -> None:
    made = diagnosis(("Fit", FULL, 2), ("Taint", TAINTED, 1))
    made.restricted_by = ("Affinity",)
    assert made.unschedulable_plugins == {"Fit", "Taint", "Affinity"}


def test_only_the_last_refusal_of_a_row_stands() -> None:
    made = diagnosis(("Fit", FULL, 1), ("Taint", TAINTED, 1))
    made.refuse("Ports", rows(0), Refusal(("no ports",)))
    assert made.unschedulable_plugins == {"Ports", "Taint"}
    assert made.given == [("Taint", TAINTED), ("Ports", Refusal(("no ports",)))]
    assert made.message() == "0/2 nodes are available: 1 no ports, 1 node(s) had untolerated taint(s)."


def test_those_who_will_call_are_not_to_blame() -> None:
    made = diagnosis(("Fit", FULL, 1), ("Quota", Refusal(("wait",), Code.PENDING), 2))
    assert made.unschedulable_plugins == {"Fit"}
    assert made.pending_plugins == {"Quota"}


def test_what_was_told_before_a_refusal_is_not_told_after_it() -> None:
    made = diagnosis(("Fit", FULL, 2))
    assert made.given == [("Fit", FULL)]
    made.refuse("Taint", rows(1), TAINTED)
    assert made.given == [("Fit", FULL), ("Taint", TAINTED)]
    made.accept(rows(0))
    assert made.given == [("Taint", TAINTED)]
    assert made.unschedulable_plugins == {"Taint"}
    made.forget(rows(1))
    assert made.given == []
