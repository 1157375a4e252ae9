"""`--fail-if`: what conditions mean, against a naive reading of them."""

from __future__ import annotations

import operator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairway.compare.gate import GateError, parse_gate, tripped
from fairway.compare.metrics import PolicyRuns, compare_policies
from fairway.model import UserError

SIGNS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
VALUES = st.floats(0, 1000).map(lambda number: round(number, 3))
BOUNDS = st.floats(0, 200).map(lambda number: round(number, 2))


def comparison(*values: float, metric: str = "wait_p95"):  # type: ignore[no-untyped-def]
    return compare_policies(
        [PolicyRuns(f"p{place}", {1: {metric: value}}, {1: ""}) for place, value in enumerate(values)]
    )


@given(VALUES, st.sampled_from(sorted(SIGNS)), BOUNDS)
def test_a_plain_number_is_the_metric_itself(value: float, sign: str, bound: float) -> None:
    gate = parse_gate(f"wait_p95{sign}{bound:f}")
    is_broken, is_first_broken = (SIGNS[sign](one, float(f"{bound:f}")) for one in (value, 1.0))
    assert bool(tripped(gate, comparison(1.0, value))) == (is_broken or is_first_broken)  # no policy may, nor the first
    assert bool(tripped(gate, comparison(value))) == is_broken  # a policy alone is judged, too


@given(VALUES, VALUES, st.sampled_from(sorted(SIGNS)), st.sampled_from("+-"), BOUNDS)
def test_a_signed_number_is_a_change_against_the_first_policy(
    first: float, other: float, sign: str, plus: str, bound: float
) -> None:
    limit = float(f"{plus}{bound:f}")
    gate = parse_gate(f"wait_p95 {sign} {plus}{bound:f}")
    assert bool(tripped(gate, comparison(first, other))) == SIGNS[sign](other - first, limit)


@given(VALUES, VALUES, st.sampled_from(sorted(SIGNS)), st.sampled_from("+-"), st.integers(0, 300))
def test_a_percentage_is_one_of_the_first_policys_value(
    first: float, other: float, sign: str, plus: str, percent: int
) -> None:
    assume(first > 0)
    change, limit = (other - first) / first, float(f"{plus}{percent}") / 100
    assume(abs(change - limit) > 1e-9)  # where rounding decides
    gate = parse_gate(f"wait_p95{sign}{plus}{percent}%")
    assert bool(tripped(gate, comparison(first, other))) == SIGNS[sign](change, limit)


def test_any_growth_from_nothing_is_beyond_every_percentage() -> None:
    assert tripped(parse_gate("wait_p95>+1000%"), comparison(0.0, 0.001))
    assert not tripped(parse_gate("wait_p95>+0%"), comparison(0.0, 0.0))


def test_every_policy_but_the_first_is_judged_and_named() -> None:
    sentences = tripped(parse_gate("wait_p95>+5%"), comparison(100.0, 104.0, 106.0, 300.0))
    assert [sentence.partition(":")[0] for sentence in sentences] == ["p2", "p3"]
    assert sentences[0] == "p2: wait_p95 is 106 (+6%), which --fail-if 'wait_p95>+5%' forbids"


def test_a_resource_may_be_named_shortly_where_only_one_is_meant() -> None:
    one = comparison(0.5, 0.9, metric="utilisation_nvidia.com/gpu")
    assert tripped(parse_gate("utilisation_gpu>0.8"), one)
    assert tripped(parse_gate("utilisation_gpu>80%"), one)  # shares are percentages
    assert not tripped(parse_gate("utilisation_gpu>95%"), one)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wait_p95", "is no condition"),
        ("wait_p95=5", "is no condition"),
        ("wait_p95>five", "is no condition"),
        ("wait_p59>5", "there is no metric wait_p59; did you mean wait_p99, wait_p95"),
        ("wait_p95>5%", "for a change write"),
        ("happiness>1", "there is no metric happiness"),
    ],
)
def test_what_is_no_condition_is_told(text: str, words: str) -> None:
    with pytest.raises(GateError, match=words):
        parse_gate(text)


def test_what_can_not_be_judged_is_told() -> None:
    with pytest.raises(GateError, match="asks for a change, and there is only one policy"):
        tripped(parse_gate("wait_p95>+5%"), comparison(1.0))
    with pytest.raises(UserError, match="wait_p99 has no value for p0"):
        tripped(parse_gate("wait_p99>5"), comparison(1.0, 2.0))
