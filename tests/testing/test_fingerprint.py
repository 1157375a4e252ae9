"""A fingerprint tells any two states apart, and only those."""

from collections.abc import Callable

import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.model import EVERYTHING, Namespace, ObjectMeta, Service
from fairway.testing import claim, cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint


def small() -> Cluster:
    return cluster([node("a"), node("b")], [pod("p", node="a", cpu=1, ports=80)], [claim("data")])


def test_equal_clusters_have_equal_fingerprints() -> None:
    assert fingerprint(small()) == fingerprint(small())


def test_looking_leaves_no_trace() -> None:
    made = small()
    before = fingerprint(made)
    made.view().label("never-heard-of")
    made.view().free("example.com/never-heard-of")
    counter = made.counters.of_labels(((None, EVERYTHING),), skip_terminating=False)
    assert counter.total == 1
    assert differences(before, fingerprint(made)) == []


CHANGES: dict[str, tuple[Callable[[Cluster], object], str]] = {
    "label": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", labels={"x": "1"}))), "nodes.labels[x]"),
    "taint": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", taints="x"))), "nodes.taint_sets"),
    "amount": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", cpu=1))), "nodes.allocatable"),
    "image": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", images={"i": 1}))), "nodes.images"),
    "cordon": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", unschedulable=True))), "nodes.unschedulable"),
    "feature": (lambda c: c.apply(Event(Verb.MODIFIED, node("a", features="f"))), "nodes.feature_sets"),
    "node gone": (lambda c: c.apply(Event(Verb.DELETED, node("b"))), "nodes.alive"),
    "node come": (lambda c: c.apply(Event(Verb.ADDED, node("c"))), "nodes.names"),
    "pod gone": (lambda c: c.apply(Event(Verb.DELETED, pod("p", node="a"))), "nodes.requested"),
    "port": (lambda c: c.apply(Event(Verb.DELETED, pod("p", node="a"))), "ports.taken(0)"),
    "pod come": (lambda c: c.apply(Event(Verb.ADDED, pod("q", node="b"))), "pods.on_row(1)"),
    "assumed": (lambda c: c.assume(pod("q"), c.classify(pod("q")), 1), "nodes.nonzero"),
    "nominated": (lambda c: c.nominations.add(pod("q"), "a"), "nominations"),
    "claim": (lambda c: c.apply(Event(Verb.ADDED, claim("logs"))), "storage.claims"),
    "service": (lambda c: c.apply(Event(Verb.ADDED, Service(metadata=ObjectMeta(name="s")))), "workloads.services"),
    "namespace": (
        lambda c: c.apply(Event(Verb.ADDED, Namespace(metadata=ObjectMeta(name="s")))),
        "workloads.namespaces",
    ),
    "written to": (lambda c: c.nodes.requested.__setitem__((0, 0), 7), "nodes.requested"),
}


@pytest.mark.parametrize(("change", "piece"), CHANGES.values(), ids=CHANGES.keys())
def test_every_change_shows(change: Callable[[Cluster], object], piece: str) -> None:
    made = small()
    before = fingerprint(made)
    change(made)
    assert piece in differences(before, fingerprint(made))
