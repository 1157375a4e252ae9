"""What kube-scheduler says of preferred node affinity that it can not read.

The API server takes any value in a preferred term: a Gt or Lt that compares with no integer, a text that no label can
have. kube-scheduler finds out when it prepares to score, and the attempt fails. In: the terms of a pod. Out: its words,
those of `nodeaffinity.NewPreferredSchedulingTerms` and `labels.NewRequirement`, v0.36.4. Called by the plugin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from fairway.model.affinity import NodeSelectorRequirement, PreferredSchedulingTerm
from fairway.model.selector import integer_label

__all__ = ["preferred_terms_problem"]

WORD = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
TOO_LONG = "must be no more than 63 bytes"
NO_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def preferred_terms_problem(terms: Sequence[PreferredSchedulingTerm]) -> str:
    """Everything that is wrong with the terms in one text, each problem once; "" if nothing is."""
    problems = list(dict.fromkeys(problem for at, term in enumerate(terms) for problem in _problems(term, f"[{at}]")))
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _problems(term: PreferredSchedulingTerm, path: str) -> Iterator[str]:
    if not term.weight:
        return
    for at, requirement in enumerate(term.preference.match_expressions):
        yield from _value_problems(requirement, f"{path}.matchExpressions[{at}].values")


def _value_problems(requirement: NodeSelectorRequirement, path: str) -> Iterator[str]:
    values = [
        (f"{path}[{at}]", value, json.dumps(value, ensure_ascii=False)) for at, value in enumerate(requirement.values)
    ]
    if requirement.operator in ("Gt", "Lt"):
        for where, value, quoted in values:
            if integer_label(value) is None:
                yield f"{where}: Invalid value: {quoted}: {NO_INTEGER}"
    for where, value, quoted in values:
        words = [TOO_LONG] * (len(value.encode()) > 63) + [NO_LABEL_VALUE] * (not WORD.fullmatch(value))
        if words:
            yield f"{where}[{requirement.key}]: Invalid value: {quoted}: {'; '.join(words)}"
