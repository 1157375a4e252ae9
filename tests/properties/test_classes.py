"""Sharing answers among pods of a class never changes a decision.

A profile whose plugins say which annotations they read, and what else tells pods apart, is compared step by step with
one that shares nothing: each pod is a class of its own, and nothing is remembered.
"""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.cycle import Outcome, Profile
from fairway.model import Pod
from fairway.plugin import Nodes, Plugin, PodClass
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile

TIER, NOISE = "example.com/tier", "other.org/noise"
GRANTS: dict[str, int] = {}
"""By uid: how many cores of a node must be left to a pod; it may change at any time."""


class Tiered(Plugin):
    """Reads one annotation of the pod, and of the pods that are there."""

    annotations = (TIER,)

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        own = pod.annotations.get(TIER, "")
        alike = [
            sum(placed.pod_class.annotations.get(TIER, "") == own for placed in self.cluster.pods.on_row(row))
            for row in nodes.numbers.tolist()
        ]
        return np.array(alike, np.int64)


class Granting(Plugin):
    """Looks at something that is not in the pod at all."""

    annotations = ()

    def class_key(self, pod: Pod) -> int:
        return GRANTS.get(pod.metadata.uid, 0)

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        grant = pod.extra[self.name]
        assert isinstance(grant, int)
        return np.asarray(nodes.free("cpu") >= 1000 * grant)


class TieredAlone(Plugin):
    """The same, without classes."""

    name = "Tiered"
    per_pod = True

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        own = pod.pod.metadata.annotations.get(TIER, "")
        alike = [
            sum(placed.pod.metadata.annotations.get(TIER, "") == own for placed in self.cluster.pods.on_row(row))
            for row in nodes.numbers.tolist()
        ]
        return np.array(alike, np.int64)


class GrantingAlone(Plugin):
    """The same, without classes."""

    name = "Granting"
    per_pod = True

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        return np.asarray(nodes.free("cpu") >= 1000 * GRANTS.get(pod.pod.metadata.uid, 0))


NODES = [node(name, cpu=cpu, zone=zone) for name, cpu, zone in (("a", 4, "x"), ("b", 6, "x"), ("c", 9, "y"))]
Step = tuple[str, dict[str, str], int, int, str]
steps = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "1500m"]),
        st.sampled_from([{}, {TIER: "gold"}, {TIER: "iron"}, {NOISE: "1"}, {NOISE: "2", TIER: "gold"}]),
        st.integers(0, 4),  # the grant of this pod
        st.integers(0, 9),  # which earlier pod gets another grant, leaves, or is tried again
        st.sampled_from(["stay", "leave", "regrant", "again"]),
    ),
    min_size=1,
    max_size=20,
)


def made(what: Cluster, *kinds: type[Plugin], caching: bool) -> Profile:
    return profile(what, "NodeResourcesFit", *kinds, caching=caching)


@settings(deadline=None)
@given(steps)
def test_pods_of_one_class_get_what_each_would_get_alone(
    sequence: list[tuple[str, dict[str, str], int, int, str]],
) -> None:
    GRANTS.clear()
    shared, alone = cluster(NODES), cluster(NODES)
    with_classes = made(shared, Tiered, Granting, caching=True)
    without = made(alone, TieredAlone, GrantingAlone, caching=False)
    pods: list[Pod] = []
    for number, (cpu, annotations, grant, which, deed) in enumerate(sequence):
        waiting = pod(f"p{number}", cpu=cpu, annotations=annotations)
        GRANTS[waiting.metadata.uid] = grant
        earlier = pods[which % len(pods)] if pods else None
        if earlier is not None and deed == "regrant":
            GRANTS[earlier.metadata.uid] = grant + 1
        if earlier is not None and deed == "leave" and earlier.metadata.uid in shared.pods.by_uid:
            shared.forget(earlier.metadata.uid)
            alone.forget(earlier.metadata.uid)
        again = deed == "again" and earlier is not None and earlier.metadata.uid not in shared.pods.by_uid
        for candidate in (earlier, waiting) if again else (waiting,):
            assert candidate is not None
            one, other = with_classes.decide(candidate), without.decide(candidate)
            assert (one.outcome, one.node, one.score) == (other.outcome, other.node, other.score)
            if one.outcome is Outcome.SCHEDULED:
                with_classes.assume(one)
                without.assume(other)
        pods.append(waiting)


def test_pods_that_differ_in_what_nobody_reads_share_a_class() -> None:
    GRANTS.clear()
    what = made(cluster(NODES), Tiered, Granting, caching=True)
    one = what.classify(pod("one", annotations={NOISE: "1"}))
    assert what.classify(pod("two", annotations={NOISE: "2"})) is one
    assert what.classify(pod("three", annotations={TIER: "gold"})) is not one
    GRANTS[pod("two").metadata.uid] = 2
    assert what.classify(pod("two", annotations={NOISE: "2"})) is not one


def test_a_plugin_that_does_not_say_what_it_reads_is_told_all() -> None:
    class Reader(Plugin):
        def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
            return np.full(len(nodes), len(pod.annotations))

    what = profile(cluster(NODES), Reader)
    for annotations in ({NOISE: "1"}, {NOISE: "1", TIER: "gold"}, {}):
        waiting = msgspec.structs.replace(pod("one", annotations=annotations))
        assert what.inspect(waiting).totals["a"] == len(annotations)
