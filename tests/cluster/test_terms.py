"""Affinity terms: which pods they mean."""

import pytest

from fairway.cluster.terms import KINDS, Term, pod_terms
from fairway.model import (
    NOTHING,
    Affinity,
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
