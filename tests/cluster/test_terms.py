"""Affinity terms: which pods they mean."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster.terms import HUGE, KINDS, ManyTerms, Term, pod_terms
from fairway.model import (
    NOTHING,
    Affinity,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    WeightedPodAffinityTerm,
)
from fairway.testing import near, pod

WEB = {"app": "web"}


def pod_with(affinity: Affinity) -> Pod:
    return Pod(metadata=ObjectMeta(name="a", namespace="default"), spec=PodSpec(affinity=affinity))


def only(term: PodAffinityTerm | WeightedPodAffinityTerm, namespace: str = "default") -> Term:
    ((found,),) = pod_terms(pod(namespace=namespace, affinity=term)).values()
    return found


def test_terms_are_told_apart_by_kind() -> None:
    made = pod(affinity=(near("a"), near("b", weight=2)), anti_affinity=(near("c"), near("d"), near("e", weight=3)))
    found = {kind: [(str(term.selector), term.weight) for term in terms] for kind, terms in pod_terms(made).items()}
    assert found == {
        "affinity_required": [("a", 0)],
        "affinity_preferred": [("b", 2)],
        "anti_required": [("c", 0), ("d", 0)],
        "anti_preferred": [("e", 3)],
    }
    assert set(found) == set(KINDS)
    assert pod_terms(pod()) == {}
    assert pod_terms(pod(node_affinity="disk")) == {}


@pytest.mark.parametrize(
    ("term", "namespace", "namespace_labels", "meant"),
    [
        (near("app=web"), "own", {}, True),
        (near("app=web"), "other", {}, False),
        (near("app=web", namespaces="other"), "other", {}, True),
        (near("app=web", namespaces="other"), "own", {}, False),
        (near("app=web", namespace_selector="tier=prod"), "other", {"tier": "prod"}, True),
        (near("app=web", namespace_selector="tier=prod"), "own", {}, False),
        (near("app=web", namespace_selector=""), "any", {}, True),
        (near("app=web", namespaces="other", namespace_selector="tier=prod"), "third", {"tier": "prod"}, True),
        (near("app=web", namespaces="other", namespace_selector="tier=prod"), "other", {}, True),
        (near("app=db"), "own", {}, False),
    ],
    ids=[
        "own namespace",
        "another namespace",
        "named",
        "own is not named",
        "selected",
        "own is not selected",
        "all selected",
        "named or selected: selected",
        "named or selected: named",
        "other labels",
    ],
)
def test_which_pods_a_term_means(
    term: PodAffinityTerm, namespace: str, namespace_labels: dict[str, str], meant: bool
) -> None:
    assert only(term, "own").matches(namespace, WEB, namespace_labels) is meant


def test_equal_terms_of_different_pods_are_equal() -> None:
    assert only(near("app in (b,a)", "zone")) == only(near("app in (a,b)", "zone"))
    assert len({only(near("x"), "one"), only(near("x"), "two")}) == 2  # each means its own namespace


def test_no_selector_means_no_pod() -> None:
    affinity = Affinity(
        pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(PodAffinityTerm(),))
    )
    ((term,),) = pod_terms(pod_with(affinity)).values()
    assert term.selector == NOTHING
    assert not term.matches("default", WEB, {})


NAMES, TEXTS = st.sampled_from(("a", "b", "example.com/c")), st.sampled_from(("", "1", "2"))
WRONG = st.sampled_from(("-", "a b", "x" * 64))
LINES = st.fixed_dictionaries({"key": NAMES, "operator": st.sampled_from(("Exists", "DoesNotExist"))}) | (
    st.fixed_dictionaries(
        {
            "key": NAMES | WRONG,
            "operator": st.sampled_from(("In", "NotIn", "In", "Gt")),
            "values": st.lists(TEXTS, max_size=3),
        }
    )
)
PLAIN = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=1)
SELECTORS = st.one_of(
    PLAIN.map(lambda labels: {"matchLabels": labels}),
    st.fixed_dictionaries(
        {}, optional={"matchLabels": st.dictionaries(NAMES, TEXTS | WRONG), "matchExpressions": st.lists(LINES)}
    ),
).map(lambda tree: msgspec.convert(tree, LabelSelector))
PARTS = st.builds(
    PodAffinityTerm,
    label_selector=SELECTORS | st.none(),
    namespaces=st.sampled_from(((), ("other",))),
    namespace_selector=st.none() | st.none() | SELECTORS,
    topology_key=st.sampled_from(("zone", "host")),
)
PLAIN_PARTS = st.builds(
    PodAffinityTerm, label_selector=st.builds(LabelSelector, match_labels=PLAIN), topology_key=st.just("host")
)


def required(parts: list[PodAffinityTerm]) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=tuple(parts)))


def one_by_one(parts: list[PodAffinityTerm]) -> tuple[Term, ...] | None:
    """None where one is wrong."""
    try:
        found = [pod_terms(pod_with(required([part])))["affinity_required"][0] for part in parts]
    except ValueError:
        return None
    return tuple(found)


@given(
    st.lists(PARTS, min_size=1, max_size=6) | st.lists(PLAIN_PARTS, min_size=1, max_size=6),
    st.dictionaries(NAMES, TEXTS),
)
def test_many_terms_are_those_that_are_compiled_one_by_one(
    parts: list[PodAffinityTerm], labels: dict[str, str]
) -> None:
    expected = one_by_one(parts)
    if expected is None:
        with pytest.raises(ValueError, match="label selector requirement on"):
            ManyTerms(parts, [0] * len(parts), "default")
        return
    many = ManyTerms(parts, [0] * len(parts), "default")
    assert many[1:] == expected[1:]
    assert tuple(many) == tuple(many) == expected
    found = list(many.that_may_mean(labels))
    assert all(found.count(term) <= expected.count(term) for term in found)
    for term in expected:
        if term.selector.matches(labels):
            assert found.count(term) == expected.count(term)
    assert {(place.topology_key, place.weight) for place in many.places} == {
        (term.topology_key, 0) for term in expected
    }


def test_a_huge_number_of_terms_is_not_compiled() -> None:
    parts = [PodAffinityTerm(label_selector=LabelSelector(match_labels={f"k{number}": "x"})) for number in range(HUGE)]
    (many,) = pod_terms(pod_with(required(parts))).values()
    assert isinstance(many, ManyTerms)
    assert [str(term.selector) for term in many.that_may_mean({"k7": "x", "k8": "y"})] == ["k7=x"]
    (few,) = pod_terms(pod_with(required(parts[1:]))).values()
    assert isinstance(few, tuple)
