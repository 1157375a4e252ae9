"""What kube-scheduler says of preferred node affinity that it can not read."""

from __future__ import annotations

import pytest

from fairway.model import NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from fairway.model.term_problems import NO_INTEGER, NO_LABEL_VALUE, TOO_LONG, preferred_terms_problem


def term(operator: str, *values: str, weight: int = 1) -> PreferredSchedulingTerm:
    requirement = NodeSelectorRequirement(key="cores", operator=operator, values=values)
    return PreferredSchedulingTerm(weight=weight, preference=NodeSelectorTerm(match_expressions=(requirement,)))


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        pytest.param([], "", id="no terms"),
        pytest.param([term("Gt", "8"), term("Lt", "3"), term("In", "a", "b"), term("Exists")], "", id="readable"),
        pytest.param(
            [term("Gt", "abc")],
            f'[0].matchExpressions[0].values[0]: Invalid value: "abc": {NO_INTEGER}',
            id="a word",
        ),
        pytest.param(
            [term("Gt", "1"), term("Lt", "")],
            f'[1].matchExpressions[0].values[0]: Invalid value: "": {NO_INTEGER}',
            id="nothing, in the second term",
        ),
        pytest.param(
            [term("In", "ok", "a b")],
            f'[0].matchExpressions[0].values[1][cores]: Invalid value: "a b": {NO_LABEL_VALUE}',
            id="no label value",
        ),
        pytest.param(
            [term("NotIn", "x" * 64)],
            f'[0].matchExpressions[0].values[0][cores]: Invalid value: "{"x" * 64}": {TOO_LONG}',
            id="too long a value",
        ),
        pytest.param([term("Gt", "abc", weight=0)], "", id="a term that weighs nothing is not read"),
    ],
)
def test_problem(terms: list[PreferredSchedulingTerm], problem: str) -> None:
    assert preferred_terms_problem(terms) == problem


def test_several_problems_are_one_list() -> None:
    found = preferred_terms_problem([term("Gt", "1.5"), term("Lt", "y")])
    first = f'[0].matchExpressions[0].values[0]: Invalid value: "1.5": {NO_INTEGER}'
    assert found == f'[{first}, [1].matchExpressions[0].values[0]: Invalid value: "y": {NO_INTEGER}]'
