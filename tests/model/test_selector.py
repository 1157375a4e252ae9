"""Label and node selectors compile and match as apimachinery and component-helpers v0.36.4 have it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.model import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    compile_node_selector,
    compile_node_term,
    compile_selector,
    integer_label,
    selector_from_labels,
)


def line(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def node_line(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


CASES = {
    "In, has it": (line("a", "In", "x", "y"), {"a": "y"}, True),
    "In, other value": (line("a", "In", "x"), {"a": "z"}, False),
    "In, no label": (line("a", "In", "x"), {}, False),
    "In, the empty value": (line("a", "In", ""), {"a": ""}, True),
    "NotIn, has it": (line("a", "NotIn", "x"), {"a": "x"}, False),
    "NotIn, other value": (line("a", "NotIn", "x"), {"a": "z"}, True),
    "NotIn, no label": (line("a", "NotIn", "x"), {}, True),
    "Exists": (line("a", "Exists"), {"a": ""}, True),
    "Exists, no label": (line("a", "Exists"), {"b": ""}, False),
    "DoesNotExist": (line("a", "DoesNotExist"), {"b": ""}, True),
    "DoesNotExist, has it": (line("a", "DoesNotExist"), {"a": ""}, False),
}


@pytest.mark.parametrize(("requirement", "labels", "expected"), CASES.values(), ids=CASES)
def test_one_requirement(requirement: LabelSelectorRequirement, labels: dict[str, str], expected: bool) -> None:
    assert compile_selector(LabelSelector(match_expressions=(requirement,))).matches(labels) is expected


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert compile_selector(None) is NOTHING
    assert not NOTHING.matches({"a": "b"})
    assert compile_selector(LabelSelector()) is EVERYTHING
    assert EVERYTHING.matches({})
    assert selector_from_labels({}) is EVERYTHING


def test_all_parts_must_hold() -> None:
    selector = compile_selector(LabelSelector(match_labels={"a": "1"}, match_expressions=(line("b", "Exists"),)))
    assert selector.matches({"a": "1", "b": "2"})
    assert not selector.matches({"a": "1"})
    assert not selector.matches({"b": "2"})


def test_equal_selectors_are_one_object_however_written() -> None:
    written = [
        LabelSelector(match_labels={"a": "1", "b": "2"}),
        LabelSelector(match_labels={"b": "2", "a": "1"}),
        LabelSelector(match_labels={"b": "2"}, match_expressions=(line("a", "In", "1"),)),
        LabelSelector(match_expressions=(line("b", "In", "2", "2"), line("a", "In", "1"), line("a", "In", "1"))),
    ]
    compiled = [compile_selector(selector) for selector in written] + [selector_from_labels({"b": "2", "a": "1"})]
    assert all(selector is compiled[0] for selector in compiled)
    assert str(compiled[0]) == "a=1,b=2"


INVALID = {
    "In without values": (line("a", "In"), "values: In needs at least one value"),
    "NotIn without values": (line("a", "NotIn"), "values: NotIn needs at least one value"),
    "Exists with a value": (line("a", "Exists", "x"), "values: Exists takes no values"),
    "Gt is for nodes": (line("a", "Gt", "1"), "operator: 'Gt' is not one of In, NotIn, Exists, DoesNotExist"),
    "unknown operator": (line("a", "in", "1"), "operator: 'in' is not one of"),
    "no key": (line("", "Exists"), "key: must not be empty"),
    "bad key": (line("a b", "Exists"), "key: 'a b' must be letters"),
    "bad prefix": (line("A.b/c", "Exists"), "key: the prefix of 'A.b/c'"),
    "bad value": (line("a", "In", "x y"), r"values\[0\]: 'x y' must be letters"),
    "long value": (line("a", "In", "x" * 64), "64 characters long, at most 63"),
}


@pytest.mark.parametrize(("requirement", "problem"), INVALID.values(), ids=INVALID)
def test_invalid_requirements_are_refused(requirement: LabelSelectorRequirement, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        compile_selector(LabelSelector(match_expressions=(requirement,)))


NODE_CASES = {
    "Gt": (node_line("n", "Gt", "5"), {"n": "6"}, True),
    "Gt, equal": (node_line("n", "Gt", "5"), {"n": "5"}, False),
    "Lt": (node_line("n", "Lt", "5"), {"n": "-6"}, True),
    "Gt, no number": (node_line("n", "Gt", "5"), {"n": "six"}, False),
    "Gt, no label": (node_line("n", "Gt", "5"), {}, False),
    "Gt, beyond 64 bits": (node_line("n", "Gt", "5"), {"n": "9223372036854775808"}, False),
    "Gt, not how Go reads numbers": (node_line("n", "Gt", "5"), {"n": "1_0"}, False),
    "Exists": (node_line("n", "Exists"), {"n": ""}, True),
    "NotIn, no label": (node_line("n", "NotIn", "5"), {}, True),
}


@pytest.mark.parametrize(("requirement", "labels", "expected"), NODE_CASES.values(), ids=NODE_CASES)
def test_node_labels(requirement: NodeSelectorRequirement, labels: dict[str, str], expected: bool) -> None:
    term = NodeSelectorTerm(match_expressions=(requirement,))
    assert compile_node_term(term).matches(labels, "n1") is expected
    assert compile_node_selector(NodeSelector(node_selector_terms=(term,))).matches(labels, "n1") is expected


FIELD_CASES = {
    "In": (node_line("metadata.name", "In", "n1"), "n1", True),
    "In, other": (node_line("metadata.name", "In", "n1"), "n2", False),
    "NotIn": (node_line("metadata.name", "NotIn", "n1"), "n2", True),
    "a nameless node passes": (node_line("metadata.name", "In", "n1"), "", True),
    "an unknown field is empty": (node_line("metadata.uid", "In", ""), "n1", True),
    "and nothing else": (node_line("metadata.uid", "In", "u"), "n1", False),
    "two values": (node_line("metadata.name", "In", "n1", "n2"), "n1", False),
    "Exists": (node_line("metadata.name", "Exists"), "n1", False),
}


@pytest.mark.parametrize(("requirement", "name", "expected"), FIELD_CASES.values(), ids=FIELD_CASES)
def test_node_fields(requirement: NodeSelectorRequirement, name: str, expected: bool) -> None:
    assert compile_node_term(NodeSelectorTerm(match_fields=(requirement,))).matches({}, name) is expected


def test_empty_terms_and_selectors_match_no_node() -> None:
    assert not compile_node_term(NodeSelectorTerm()).matches({"a": "b"}, "n1")
    assert not compile_node_selector(NodeSelector()).matches({"a": "b"}, "n1")
    assert compile_node_selector(NodeSelector(node_selector_terms=(NodeSelectorTerm(),))).terms == ()


def test_a_broken_term_does_not_spoil_a_good_one() -> None:
    broken = NodeSelectorTerm(match_expressions=(node_line("a", "In"), node_line("n", "Gt", "many")))
    good = NodeSelectorTerm(match_expressions=(node_line("a", "Exists"),))
    matcher = compile_node_selector(NodeSelector(node_selector_terms=(broken, good)))
    assert matcher.matches({"a": "x"}, "n1")
    assert not matcher.matches({}, "n1")
    assert matcher.problems == (
        "nodeSelectorTerms[0].matchExpressions[0].values: In needs at least one value",
        "nodeSelectorTerms[0].matchExpressions[1].values: Gt needs exactly one value, an integer",
    )


def test_a_term_knows_its_own_place() -> None:
    broken = NodeSelectorTerm(match_fields=(node_line("metadata.name", "Gt", "1"),))
    first = compile_node_selector(NodeSelector(node_selector_terms=(broken,)))
    second = compile_node_selector(NodeSelector(node_selector_terms=(NodeSelectorTerm(), broken)))
    assert first.problems[0].startswith("nodeSelectorTerms[0].matchFields[0].operator: 'Gt' is not one of In, NotIn")
    assert second.problems[0].startswith("nodeSelectorTerms[1].")


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("-7", -7), ("+7", 7), ("007", 7), ("9223372036854775807", 2**63 - 1), ("", None), ("1.0", None)],
)
def test_integer_label(text: str, number: int | None) -> None:
    assert integer_label(text) == number


KEYS = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "1", "2", "3"])
LINES = st.lists(
    st.one_of(
        st.builds(
            lambda key, operator, values: line(key, operator, *values),
            KEYS,
            st.sampled_from(["In", "NotIn"]),
            st.lists(VALUES, min_size=1, max_size=3),
        ),
        st.builds(line, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    ),
    max_size=4,
)


@given(st.dictionaries(KEYS, VALUES), LINES, st.dictionaries(KEYS, VALUES))
def test_a_compiled_selector_says_what_its_parts_say(
    match_labels: dict[str, str], lines: list[LabelSelectorRequirement], labels: dict[str, str]
) -> None:
    selector = compile_selector(LabelSelector(match_labels=match_labels, match_expressions=tuple(lines)))
    expected = match_labels.items() <= labels.items()
    for one in lines:
        present = one.key in labels
        chosen = labels.get(one.key) in one.values
        expected &= {
            "In": present and chosen,
            "NotIn": not chosen,
            "Exists": present,
            "DoesNotExist": not present,
        }[one.operator]
    assert selector.matches(labels) is expected
    reversed_selector = LabelSelector(match_labels=match_labels, match_expressions=tuple(reversed(lines)))
    assert compile_selector(reversed_selector) is selector
