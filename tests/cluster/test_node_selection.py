"""Masks over columns equal what `fairway.model` says about each node by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairway.cluster import Cluster, Event, Verb
from fairway.cluster.node_selection import (
    NO_SCHEDULE,
    count_untolerated,
    has_required_node_affinity,
    node_selector_mask,
    required_node_affinity_mask,
    requirements_mask,
    term_mask,
    untolerated_mask,
)
from fairway.model import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
    compile_node_selector,
    compile_node_term,
    parse_label_selector,
    selector_from_labels,
    tolerates,
)
from fairway.testing import cluster, node, pod

KEYS = ("disk", "cores", "zone")
VALUES = ("", "ssd", "4", "16", "-3", "x")
NAMES = ("n0", "n1", "n2", "n3", "n4")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
taints = st.lists(
    st.builds(
        Taint, key=st.sampled_from(("a", "b")), value=st.sampled_from(("", "1")), effect=st.sampled_from(EFFECTS)
    ),
    max_size=3,
)
tolerations = st.lists(
    st.builds(
        Toleration,
        key=st.sampled_from(("", "a", "b")),
        operator=st.sampled_from(("", "Equal", "Exists", "Lt")),
        value=st.sampled_from(("", "1")),
        effect=st.sampled_from(("", *EFFECTS)),
    ),
    max_size=3,
)


def requirement(key: st.SearchStrategy[str]) -> st.SearchStrategy[NodeSelectorRequirement]:
    lists = st.lists(st.sampled_from((*VALUES, *NAMES)), max_size=2).map(tuple)
    operators = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"))
    return st.builds(NodeSelectorRequirement, key=key, operator=operators, values=lists)


terms = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(requirement(st.sampled_from((*KEYS, "bad key"))), max_size=2).map(tuple),
    match_fields=st.lists(requirement(st.sampled_from(("metadata.name", "metadata.uid"))), max_size=1).map(tuple),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to five nodes, one of which may be gone."""
    made = cluster([node(name, labels=draw(labels), taints=draw(taints)) for name in NAMES[: draw(st.integers(1, 5))]])
    if draw(st.booleans()):
        made.apply(Event(Verb.DELETED, node("n0")))
    return made


@st.composite
def questions(draw: st.DrawFn) -> tuple[Cluster, NDArray[np.intp] | slice]:
    """All rows, or some of them in any order, with repetitions."""
    made = draw(clusters())
    num_rows = made.nodes.num_rows
    rows = draw(st.none() | st.lists(st.integers(0, num_rows - 1), max_size=6))
    return made, slice(0, num_rows) if rows is None else np.array(rows, np.intp)


def living(made: Cluster, rows: NDArray[np.intp] | slice) -> list[tuple[int, Node]]:
    """Positions in the answer, and the nodes there."""
    numbers = range(made.nodes.num_rows) if isinstance(rows, slice) else rows.tolist()
    objects = [made.nodes.objects[row] for row in numbers]
    return [(position, one) for position, one in enumerate(objects) if one is not None]


@given(questions(), st.lists(terms, max_size=3))
def test_a_node_selector_matches_as_it_does_alone(
    question: tuple[Cluster, NDArray[np.intp] | slice], parts: list[NodeSelectorTerm]
) -> None:
    made, rows = question
    selector = NodeSelector(node_selector_terms=tuple(parts))
    mask = node_selector_mask(made, selector, rows)
    assert len(mask) == (made.nodes.num_rows if isinstance(rows, slice) else len(rows))
    for position, one in living(made, rows):
        assert mask[position] == compile_node_selector(selector).matches(one.metadata.labels, one.name)
    for part in parts:
        alone = term_mask(made, compile_node_term(part), rows)
        for position, one in living(made, rows):
            assert alone[position] == compile_node_term(part).matches(one.metadata.labels, one.name)


@given(questions(), labels, st.none() | st.lists(terms, max_size=2))
def test_required_affinity_is_selector_and_terms(
    question: tuple[Cluster, NDArray[np.intp] | slice],
    selector: dict[str, str],
    parts: list[NodeSelectorTerm] | None,
) -> None:
    made, rows = question
    spec = pod(node_selector=selector, node_affinity=parts or ()).spec
    mask = required_node_affinity_mask(made, spec, rows)
    for position, one in living(made, rows):
        expected = selector_from_labels(selector).matches(one.metadata.labels)
        if parts:
            terms = NodeSelector(node_selector_terms=tuple(parts))
            expected = expected and compile_node_selector(terms).matches(one.metadata.labels, one.name)
        assert mask[position] == expected
    if not has_required_node_affinity(spec):
        assert mask.all()


@given(questions(), tolerations)
def test_taints_are_judged_as_they_are_alone(
    question: tuple[Cluster, NDArray[np.intp] | slice], borne: list[Toleration]
) -> None:
    made, rows = question
    mask = untolerated_mask(made, borne, rows)
    counts = {effect: count_untolerated(made, borne, rows, effect) for effect in EFFECTS}
    for position, one in living(made, rows):
        left = [taint.effect for taint in one.spec.taints if not any(tolerates(each, taint) for each in borne)]
        assert mask[position] == any(effect in NO_SCHEDULE for effect in left)
        for effect in EFFECTS:
            assert counts[effect][position] == left.count(effect)


def test_no_requirement_is_no_mask() -> None:
    made = cluster(2)
    assert requirements_mask(made, (), slice(0, 2)) is None
    assert required_node_affinity_mask(made, PodSpec(), slice(0, 2)).tolist() == [True, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disk=ssd", [True, False, False]),
        ("disk!=ssd", [False, True, True]),
        ("disk", [True, True, False]),
        ("!disk", [False, False, True]),
        ("cores>4", [False, True, False]),
        ("cores<16", [True, False, False]),
        ("disk in (ssd,hdd),cores", [True, True, False]),
    ],
)
def test_requirements_over_rows(text: str, expected: list[bool]) -> None:
    made = cluster(
        [
            node("a", labels={"disk": "ssd", "cores": "4"}),
            node("b", labels={"disk": "hdd", "cores": "16"}),
            node("c", labels={"cores": "many"}),
        ]
    )
    mask = requirements_mask(made, parse_label_selector(text).requirements, slice(0, 3))
    assert mask is not None
    assert mask.tolist() == expected
