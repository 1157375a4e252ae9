"""NearJob: how near a node is to another job's pods; against a loop over nodes and pods, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Nodes, Verb
from fairway.cycle import Outcome
from fairway.model import Node, Pod
from fairway.plugin import SKIP
from fairway.plugins.near_job import NearJob
from fairway.testing import check_plugin, cluster, node, pod
from fairway.testing.situations import Dice, Situation
from tests.cycle.profiles import profile


def placed(name: str, region: str = "", zone: str = "", rack: str = "") -> Node:
    return node(name, region=region, zone=zone, labels={"fairway.dev/rack": rack} if rack else {})


def near(to: str = "data", mode: str = "near", **others: Any) -> Pod:
    annotations = {"fairway.dev/connect-to": to, "fairway.dev/connect-mode": mode}
    return pod(annotations={key: text for key, text in annotations.items() if text}, **others)


NODES = [
    placed("host", "eu", "a", "r1"),
    placed("rack", "eu", "a", "r1"),
    placed("zone", "eu", "a", "r2"),
    placed("region", "eu", "b", "r3"),
    placed("far", "us", "c", "r4"),
    placed("unlabelled"),
]
SCORES = {"host": 100, "rack": 75, "zone": 50, "region": 25, "far": 0, "unlabelled": 0}


def scores(here: Cluster, wanted: Pod) -> dict[str, int] | str:
    made = profile(here, "NearJob")
    plugin, pod_class = made.plugin("NearJob"), made.classify(wanted)
    state = plugin.pre_score(pod_class, Nodes(here))
    if state is SKIP:
        return "skip"
    return dict(zip(here.nodes.names, plugin.score(pod_class, Nodes(here), state).tolist(), strict=True))


@pytest.mark.parametrize(
    ("wanted", "member"),
    [
        pytest.param(near(), pod("m", node="host", annotations={"fairway.dev/gang": "data"}), id="a gang"),
        pytest.param(near(), pod("m", node="host", owner="StatefulSet/data"), id="a controller"),
        pytest.param(near(), pod("data", node="host"), id="a pod"),
        pytest.param(near("ml/data"), pod("data", namespace="ml", node="host"), id="in another namespace"),
        pytest.param(near("nobody, data"), pod("data", node="host"), id="one of several"),
        pytest.param(near(), pod("data", node="host", terminating=True), id="as long as it is there"),
    ],
)
def test_the_nearer_the_better(wanted: Pod, member: Pod) -> None:
    assert scores(cluster(NODES, member), wanted) == SCORES


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(near("nobody"), id="nobody there"),
        pytest.param(near("ml/data"), id="another namespace"),
        pytest.param(near(mode="together"), id="another mode"),
        pytest.param(near(mode=""), id="no mode"),
        pytest.param(near(to=""), id="no peer"),
        pytest.param(near(to=" ,"), id="no name"),
        pytest.param(pod(), id="no wish"),
    ],
)
def test_nothing_is_said(wanted: Pod) -> None:
    assert scores(cluster(NODES, pod("data", node="host")), wanted) == "skip"


def test_the_best_over_all_members() -> None:
    members = [pod(name, node=there, owner="Job/data") for name, there in (("a", "region"), ("b", "zone"))]
    found = scores(cluster(NODES, members), near())
    assert found == {"host": 50, "rack": 50, "zone": 100, "region": 100, "far": 0, "unlabelled": 0}


def test_it_never_blocks_and_decides_among_nodes_that_fit() -> None:
    here = cluster(NODES, pod("data", node="host", cpu="8"))
    made = profile(here, "NodeResourcesFit", "NearJob", weights={"NearJob": 100})
    assert made.decide(near(cpu="1")).node == "rack"
    assert made.decide(near("nobody", cpu="1")).outcome is Outcome.SCHEDULED
    first = made.decide(near(cpu="1", name="first"))
    made.assume(first)
    here.apply(Event(Verb.DELETED, NODES[1]))
    assert made.decide(near(cpu="1")).node == "zone"


def test_it_says_how_near() -> None:
    here = cluster(NODES, pod("data", node="host"))
    made = profile(here, "NearJob")
    told = made.score_words(near())["NearJob"]
    assert told["host"] == ("on a node of default/data",)
    assert told["zone"] == ("in a zone of default/data",)
    assert "far" not in told or not told["far"]


# -- any cluster -------------------------------------------------------------------------------------------------------


def naive(wanted: Pod, one: Node, nodes: dict[str, Node], pods: list[Pod]) -> int:
    best = 0
    for other in pods:
        owners = [owner.name for owner in other.metadata.owner_references if owner.controller]
        name = other.metadata.annotations.get("fairway.dev/gang") or (owners or [other.metadata.name])[0]
        names = wanted.metadata.annotations["fairway.dev/connect-to"].split(",")
        if f"{other.metadata.namespace}/{name}" not in [text if "/" in text else f"default/{text}" for text in names]:
            continue
        there = nodes[other.spec.node_name]
        if there is one:
            best = max(best, 100)
        for key, worth in (
            ("fairway.dev/rack", 75),
            ("topology.kubernetes.io/zone", 50),
            ("topology.kubernetes.io/region", 25),
        ):
            mine = one.metadata.labels.get(key)
            if mine is not None and mine == there.metadata.labels.get(key):
                best = max(best, worth)
    return best


def random_place(dice: Dice, name: str) -> Node:
    return placed(name, dice.pick(("", "eu", "us")), dice.pick(("", "a", "b")), dice.pick(("", "r1", "r2", "r3")))


def random_member(dice: Dice, name: str, there: str = "") -> Pod:
    annotations = {"fairway.dev/gang": dice.pick(("data", "other"))} if dice.flip(40) else {}
    owner = dice.pick((None, "Job/data", "Job/other"))
    return pod(name, namespace=dice.pick(("default", "ml")), annotations=annotations, owner=owner, node=there)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_it_is_as_a_loop_over_nodes_and_pods_says(seed: int, steps: int) -> None:
    dice = Dice(np.random.default_rng(seed))
    nodes = {name: random_place(dice, name) for name in ("a", "b", "c", "d")}
    here = cluster(list(nodes.values()))
    made = profile(here, "NearJob")
    pods: dict[str, Pod] = {}
    for step in range(steps):
        if dice.flip(20):
            name = dice.pick(sorted(nodes))
            nodes[name] = random_place(dice, name)
            here.apply(Event(Verb.MODIFIED, nodes[name]))
        elif pods and dice.flip(40):
            gone = pods.pop(dice.pick(sorted(pods)))
            here.apply(Event(Verb.DELETED, gone))
        else:
            new = random_member(dice, f"p{step}", dice.pick(sorted(nodes)))
            pods[new.metadata.uid] = new
            here.apply(Event(Verb.ADDED, new))
        wanted = near(dice.pick(("data", "ml/data", "other,ml/data")))
        expected = {name: naive(wanted, one, nodes, list(pods.values())) for name, one in nodes.items()}
        assert made.inspect(wanted).totals == expected


def connected_situations(number: int) -> Iterator[Situation]:
    dice = Dice(np.random.default_rng(3))
    for _ in range(number):
        names = ["n1", "n2", "n3"]
        there = [random_member(dice, f"m{place}", dice.pick(names)) for place in range(dice.pick((0, 2, 5)))]
        events = [Event(Verb.DELETED, one) for one in there[:1]]
        events += [Event(Verb.MODIFIED, random_place(dice, "n1")), Event(Verb.ADDED, random_place(dice, "late"))]
        judged = [near(dice.pick(("data", "ml/data")), name=f"judged-{place}") for place in range(2)]
        yield Situation([*(random_place(dice, name) for name in names), *there], judged, events)


def test_it_keeps_its_word() -> None:
    check_plugin(NearJob, examples=connected_situations(12))
