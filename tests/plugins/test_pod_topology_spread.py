"""PodTopologySpread: cases worked out by hand, and agreement with a naive loop while the world changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.model import Node, Pod, TopologySpreadConstraint
from fairway.plugin import SKIP, Code, Refusal
from fairway.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from fairway.plugins.spread_constraints import SYSTEM_DEFAULTS
from fairway.plugins.spread_filter import HardSpread
from tests.plugins.naive_spread import UNEVEN, UNLABELLED, naive_scores, naive_verdicts
from tests.plugins.topology_world import (
    HOST,
    LABELS,
    NAMES,
    SELECTORS,
    ZONE,
    Json,
    World,
    named,
    node,
    pod,
    random_nodes,
    scores,
    verdicts,
    zoned,
)

APP = {"app": "web"}


def hard(key: str = ZONE, skew: int = 1, labels: Json | None = APP, **more: Any) -> Json:
    selector = None if labels is None else {"matchLabels": labels}
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        **({} if selector is None else {"labelSelector": selector}),
        **more,
    }


def soft(key: str = ZONE, skew: int = 1, labels: Json | None = APP, **more: Any) -> Json:
    return hard(key, skew, labels, whenUnsatisfiable="ScheduleAnyway", **more)


def web(name: str, on: str, **more: Any) -> Pod:
    return pod(name, APP, on=on, **more)


THREE_ZONES = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), zoned("c1", "c")]
EVEN = None
SKEWED = {"a1": UNEVEN, "a2": UNEVEN, "b1": EVEN, "c1": EVEN}
ANYWHERE = dict.fromkeys(("a1", "a2", "b1", "c1"))
BELOW_NOTHING = {"a1": EVEN, "a2": EVEN, "b1": UNEVEN, "c1": UNEVEN}  # zone a at -1


@pytest.mark.parametrize(
    ("objects", "incoming", "expected"),
    [
        pytest.param([], pod("p", APP), None, id="no constraint: skipped"),
        pytest.param([], pod("p", APP, spread=[soft()]), None, id="only soft constraints: skipped"),
        pytest.param([], pod("p", APP, spread=[hard()]), ANYWHERE, id="nobody there yet"),
        pytest.param([web("w", "a1")], pod("p", APP, spread=[hard()]), SKEWED, id="a zone ahead is refused whole"),
        pytest.param([web("w", "a1")], pod("p", APP, spread=[hard(skew=2)]), ANYWHERE, id="within a larger skew"),
        pytest.param(
            [web("w", "a1")],
            pod("p", {"app": "other"}, spread=[hard()]),
            ANYWHERE,
            id="a pod that does not match itself",
        ),
        pytest.param(
            [web("w", "a1", namespace="other")],
            pod("p", APP, spread=[hard()]),
            ANYWHERE,
            id="other namespaces do not count",
        ),
        pytest.param(
            [web("w", "a1", terminating=True)],
            pod("p", APP, spread=[hard()]),
            ANYWHERE,
            id="terminating pods do not count",
        ),
        pytest.param([web("w", "a1")], pod("p", APP, spread=[hard(labels=None)]), ANYWHERE, id="no selector: nobody"),
        pytest.param(
            [web("w", "a1"), web("x", "b1"), web("y", "c1")],
            pod("p", APP, spread=[hard()]),
            ANYWHERE,
            id="the fewest rise as all zones fill",
        ),
        pytest.param(
            [node("bare")],
            pod("p", APP, spread=[hard()]),
            {**ANYWHERE, "bare": UNLABELLED},
            id="a node without the label",
        ),
        pytest.param(
            [web("w", "a1"), web("x", "b1"), web("y", "c1")],
            pod("p", APP, spread=[hard(minDomains=4)]),
            {"a1": UNEVEN, "a2": UNEVEN, "b1": UNEVEN, "c1": UNEVEN},
            id="too few domains: the fewest read as 0",
        ),
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[hard()], node_selector={ZONE: "a"}),
            {"a1": EVEN, "a2": EVEN, "b1": EVEN, "c1": EVEN},
            id="zones the node selector rules out do not set the fewest",
        ),
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[hard(nodeAffinityPolicy="Ignore")], node_selector={ZONE: "a"}),
            SKEWED,
            id="unless the policy says to count them",
        ),
        pytest.param(
            [web("w", "a1"), zoned("d1", "d", taint="gpu"), web("x", "b1"), web("y", "c1")],
            pod("p", APP, spread=[hard()]),
            {"a1": UNEVEN, "a2": UNEVEN, "b1": UNEVEN, "c1": UNEVEN, "d1": EVEN},
            id="tainted nodes count",
        ),
        pytest.param(
            [web("w", "a1"), zoned("d1", "d", taint="gpu"), web("x", "b1"), web("y", "c1")],
            pod("p", APP, spread=[hard(nodeTaintsPolicy="Honor")]),
            {**ANYWHERE, "d1": EVEN},
            id="unless the policy says to honour taints",
        ),
        pytest.param(
            [web("w", "a1"), zoned("d1", "d", taint="gpu"), web("x", "b1"), web("y", "c1")],
            pod("p", APP, spread=[hard(nodeTaintsPolicy="Honor")], tolerates="gpu"),
            {"a1": UNEVEN, "a2": UNEVEN, "b1": UNEVEN, "c1": UNEVEN, "d1": EVEN},
            id="and the pod does not tolerate them",
        ),
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[hard(), hard(HOST)]),
            SKEWED,
            id="two constraints: both have to hold",
        ),
        pytest.param(
            [node("zoneless", {HOST: "zoneless"}), web("w", "zoneless"), web("x", "zoneless")],
            pod("p", APP, spread=[hard(HOST), hard()]),
            {**ANYWHERE, "zoneless": UNLABELLED},
            id="pods on a node that lacks one key count for none: its label comes first",
        ),
        pytest.param(
            [pod("w", {"app": "web", "rev": "1"}, on="a1"), pod("x", {"app": "web", "rev": "2"}, on="b1")],
            pod("p", {"app": "web", "rev": "1"}, spread=[hard(matchLabelKeys=["rev", "absent"])]),
            SKEWED,
            id="matchLabelKeys narrow the selector to the pod's own values",
        ),
        pytest.param(
            [web("w", "a1"), web("x", "a1")],
            pod("p", APP, spread=[hard(labels={})]),
            ANYWHERE,
            id="empty selector counts 0",
        ),
    ],
)
def test_filter(objects: list[Any], incoming: Pod, expected: Json | None) -> None:
    world = World([*THREE_ZONES, *objects])
    assert verdicts(world, PodTopologySpread(world.cluster), incoming) == expected


def test_a_selector_that_can_not_be_read_is_an_error() -> None:
    world = World(THREE_ZONES)
    wrong = {"matchExpressions": [{"key": "app", "operator": "Maybe"}]}
    incoming = pod("p", APP, spread=[hard(labels=None, labelSelector=wrong)])
    found = PodTopologySpread(world.cluster).pre_filter(world.cluster.classify(incoming), world.cluster.view())
    assert isinstance(found, Refusal)
    assert found.code is Code.ERROR
    assert "app" in found.reasons[0]


@pytest.mark.parametrize(
    ("objects", "incoming", "expected"),
    [
        pytest.param([], pod("p", APP, spread=[hard()]), None, id="only hard constraints: skipped"),
        pytest.param([], pod("p", APP), None, id="nobody selects the pod: no defaults"),
        # zone a has 1 pod: 1 * ln(3 + 2) = 1.6 -> 2, the others 0 -> 100 * (2 + 0 - s) / 2
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[soft()]),
            {"a1": 0, "a2": 0, "b1": 100, "c1": 100},
            id="emptier zones are better",
        ),
        # + (5 - 1) each: 6 against 4 -> 100 * (6 + 4 - s) / 6
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[soft(skew=5)]),
            {"a1": 66, "a2": 66, "b1": 100, "c1": 100},
            id="a larger skew evens the scores out",
        ),
        # hosts: 1 * ln(4 + 2) = 1.79 -> 2 on a1 alone
        pytest.param(
            [web("w", "a1")],
            pod("p", APP, spread=[soft(HOST)]),
            {"a1": 0, "a2": 100, "b1": 100, "c1": 100},
            id="host names are counted node by node",
        ),
        pytest.param(
            [], pod("p", APP, spread=[soft()]), {"a1": 100, "a2": 100, "b1": 100, "c1": 100}, id="all empty: all best"
        ),
        pytest.param(
            [node("bare", {HOST: "bare"})],
            pod("p", APP, spread=[soft()]),
            {"a1": 100, "a2": 100, "b1": 100, "c1": 100, "bare": 0},
            id="a node without the key is ignored",
        ),
        # by host (skew 3) and zone (skew 5): a1 1.79 + 2 + 1.61 + 4 = 9.4, a2 2 + 1.61 + 4 = 7.6, others 6
        pytest.param(
            [web("w", "a1"), named("Service", "s", spec={"selector": APP})],
            pod("p", APP),
            {"a1": 66, "a2": 77, "b1": 100, "c1": 100},
            id="defaults from a service",
        ),
        # five nodes, four domains counting the one without a zone: a1 1.95 + 2 + 1.79 + 4, a2 7.79, b, c 6, bare 2
        pytest.param(
            [web("w", "a1"), node("bare", {HOST: "bare"}), named("Service", "s", spec={"selector": APP})],
            pod("p", APP),
            {"a1": 20, "a2": 40, "b1": 60, "c1": 60, "bare": 100},
            id="system defaults do not ignore a node without a zone",
        ),
        pytest.param(
            [web("w", "a1"), named("ReplicaSet", "rs", spec={"selector": {"matchLabels": APP}})],
            pod("p", APP, owner=("apps/v1", "ReplicaSet", "rs")),
            {"a1": 66, "a2": 77, "b1": 100, "c1": 100},
            id="defaults from a replica set",
        ),
        pytest.param(
            [web("w", "a1"), named("StatefulSet", "db", spec={"selector": {"matchLabels": APP}})],
            pod("p", APP, owner=("apps/v1", "StatefulSet", "db")),
            {"a1": 66, "a2": 77, "b1": 100, "c1": 100},
            id="defaults from a stateful set",
        ),
        pytest.param(
            [web("w", "a1"), named("ReplicationController", "rc", spec={"selector": APP})],
            pod("p", APP, owner=("v1", "ReplicationController", "rc")),
            {"a1": 66, "a2": 77, "b1": 100, "c1": 100},
            id="defaults from a replication controller",
        ),
        pytest.param(
            [web("w", "a1"), named("ReplicaSet", "rs", spec={"selector": {"matchLabels": APP}})],
            pod("p", APP, owner=("extensions/v1beta1", "ReplicaSet", "rs")),
            None,
            id="not from owners of another API group",
        ),
    ],
)
def test_score(objects: list[Any], incoming: Pod, expected: dict[str, int] | None) -> None:
    world = World([*THREE_ZONES, *objects])
    assert scores(world, PodTopologySpread(world.cluster), incoming, list(world.nodes)) == expected


LISTED = (
    TopologySpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable="DoNotSchedule"),
    TopologySpreadConstraint(topology_key=HOST, max_skew=2, when_unsatisfiable="ScheduleAnyway"),
)


def test_listed_defaults_may_be_hard_and_ignore_nodes_without_a_key() -> None:
    world = World([*THREE_ZONES, node("bare"), named("Service", "s", spec={"selector": APP}), web("w", "a1")])
    plugin = PodTopologySpread(world.cluster, PodTopologySpreadArgs(default_constraints=LISTED, defaulting_type="List"))
    assert verdicts(world, plugin, pod("p", APP)) == {**SKEWED, "bare": UNLABELLED}
    # 1 * ln(3 + 2) + 1 -> 3 on the crowded host, 1 elsewhere
    assert scores(world, plugin, pod("p", APP), ["a1", "b1", "c1", "bare"]) == {
        "a1": 33,
        "b1": 100,
        "c1": 100,
        "bare": 0,
    }
    world.drop(world.workloads["Service", "s"])
    assert verdicts(world, plugin, pod("p", APP)) is None


@pytest.mark.parametrize(
    ("other", "constraint", "expected"),
    [
        pytest.param(web("w", "a1"), hard(), ANYWHERE, id="a pod that counts"),
        pytest.param(
            web("w", "a1", terminating=True), hard(), BELOW_NOTHING, id="a terminating pod, though it was not counted"
        ),
        pytest.param(web("w", "a1"), hard(labels={}), BELOW_NOTHING, id="an empty selector, though it counted nobody"),
        pytest.param(web("w", "a1", namespace="other"), hard(), ANYWHERE, id="another namespace"),
    ],
)
def test_what_if_a_pod_were_gone(other: Pod, constraint: Json, expected: Json) -> None:
    world = World([*THREE_ZONES, other])
    plugin = PodTopologySpread(world.cluster)
    incoming = pod("p", APP, spread=[constraint])
    mine, theirs = world.classify(incoming), world.cluster.classify(other, bound=True)
    state = plugin.pre_filter(mine, world.cluster.view())
    assert isinstance(state, HardSpread)
    row = world.cluster.nodes.row_of["a1"]
    before = verdicts(world, plugin, incoming, state)
    plugin.remove_pod(mine, state, other, theirs, row)
    assert verdicts(world, plugin, incoming, state) == expected
    plugin.add_pod(mine, state, other, theirs, row)
    assert verdicts(world, plugin, incoming, state) == before


def test_many_changes_between_two_looks() -> None:
    world = World([zoned(f"n{number}", f"z{number % 7}") for number in range(200)])
    plugin = PodTopologySpread(world.cluster)
    incoming = pod("p", APP, spread=[hard(skew=3), hard(HOST, 2)])
    crowd = pod("q", APP, spread=[soft(), soft(HOST)])
    names = list(world.nodes)
    verdicts(world, plugin, incoming)
    scores(world, plugin, crowd, names)
    for number in range(150):
        world.put(web(f"w{number}", f"n{number * number % 200}"))
    assert verdicts(world, plugin, incoming) == naive_verdicts(world, incoming, SYSTEM_DEFAULTS)
    assert scores(world, plugin, crowd, names) == naive_scores(world, crowd, SYSTEM_DEFAULTS, True, names)


def test_pods_that_come_and_go_one_by_one() -> None:
    world = World([zoned(f"n{number}", None if number == 5 else f"z{number % 4}") for number in range(40)])
    plugin = PodTopologySpread(world.cluster)
    names = list(world.nodes)
    strict = pod("p", APP, spread=[hard(skew=2), hard(HOST, 2)])
    relaxed = [pod("q", APP, spread=[soft(), soft(HOST)]), pod("r", APP, spread=[soft(), soft(HOST), soft("rack")])]
    chance = np.random.default_rng(7)
    for number in range(80):
        placed = list(world.pods.values())
        if len(placed) > 15 and chance.random() < 0.5:
            world.drop(placed[int(chance.integers(len(placed)))])
        else:
            world.put(web(f"w{number}", f"n{int(chance.integers(8))}"))  # few nodes, so that several pods share one
        assert verdicts(world, plugin, strict) == naive_verdicts(world, strict, SYSTEM_DEFAULTS)
        for each in relaxed:
            assert scores(world, plugin, each, names) == naive_scores(world, each, SYSTEM_DEFAULTS, True, names)


def test_nodes_that_change() -> None:
    world = World([*THREE_ZONES, web("w", "a1"), web("x", "b1")])
    plugin = PodTopologySpread(world.cluster)
    choosy = pod("p", APP, spread=[hard(nodeTaintsPolicy="Honor")], node_selector={"disk": "ssd"})
    lenient = pod("q", APP, spread=[hard(nodeAffinityPolicy="Ignore"), soft(HOST)])
    for changed in [
        node("c1", {HOST: "c1", ZONE: "c", "disk": "ssd"}),
        node("a1", {HOST: "a1", ZONE: "a", "disk": "ssd"}),
        node("c1", {HOST: "c1", ZONE: "c", "disk": "ssd"}, taint="gpu"),
        zoned("c1", "b"),
        zoned("d1", "d"),
        zoned("c1", None),
        node("a2"),
    ]:
        world.put(changed)
        for each in (choosy, lenient):
            assert verdicts(world, plugin, each) == naive_verdicts(world, each, SYSTEM_DEFAULTS)
        names = list(world.nodes)
        assert scores(world, plugin, lenient, names) == naive_scores(world, lenient, SYSTEM_DEFAULTS, True, names)
    world.drop(world.nodes["b1"])
    world.put(node("e1"))  # takes the row of b1
    names = list(world.nodes)
    assert verdicts(world, plugin, lenient) == naive_verdicts(world, lenient, SYSTEM_DEFAULTS)
    assert scores(world, plugin, lenient, names) == naive_scores(world, lenient, SYSTEM_DEFAULTS, True, names)


@pytest.mark.parametrize(
    ("num_nodes", "zone_of"),
    [
        pytest.param(600, lambda number: "rare" if number == 599 else f"z{number % 3}", id="a zone far down the list"),
        pytest.param(100, lambda number: f"z{number % 60}", id="too many pairs of pods and zones for a table"),
    ],
)
def test_score_of_a_large_cluster(num_nodes: int, zone_of: Callable[[int], str]) -> None:
    nodes = [zoned(f"n{number}", zone_of(number)) for number in range(num_nodes)]
    nodes[3] = node("n3", {ZONE: zone_of(3)})  # no host name
    pods = [web(f"w{number}", f"n{number % 7}") for number in range(40)]
    world = World([*nodes, *pods, named("Service", "s", spec={"selector": APP})])
    names = list(world.nodes)
    found = scores(world, PodTopologySpread(world.cluster), pod("p", APP), names)
    assert found == naive_scores(world, pod("p", APP), SYSTEM_DEFAULTS, True, names)


HELPFUL = web("w", "a1")
WAITING = pod("p", APP, spread=[hard(nodeTaintsPolicy="Honor")])


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, HELPFUL, True, id="a matching pod came"),
        pytest.param(HELPFUL, None, True, id="a matching pod left"),
        pytest.param(pod("w", {"app": "db"}, on="a1"), None, False, id="another pod left"),
        pytest.param(web("w", "a1", namespace="other"), None, False, id="a pod of another namespace left"),
        pytest.param(None, web("w", ""), False, id="a pod without a node came"),
        pytest.param(HELPFUL, pod("w", {"app": "db"}, on="a1"), True, id="a pod ceased to match"),
        pytest.param(HELPFUL, pod("w", {**APP, "x": "y"}, on="a1"), False, id="a pod changed but still matches"),
        pytest.param(
            WAITING, pod("p", APP, spread=[hard(nodeTaintsPolicy="Honor")], tolerates="x"), True, id="it tolerates more"
        ),
    ],
)
def test_pod_events(old: Pod | None, new: Pod | None, helps: bool) -> None:
    hint = PodTopologySpread(World().cluster).events()[0]
    change = Change(ClusterEvent(Resource.ASSIGNED_POD, Action.ADD), old, new)
    assert hint.event.covers(change.event)
    assert hint.helps is not None
    assert hint.helps(WAITING, change) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, zoned("n", "a"), True, id="a node with the key came"),
        pytest.param(None, node("n"), False, id="a node without it came"),
        pytest.param(zoned("n", "a"), None, True, id="a node with the key left"),
        pytest.param(zoned("n", "a"), zoned("n", "b"), True, id="a node moved"),
        pytest.param(zoned("n", "a"), zoned("n", None), True, id="a node lost its zone"),
        pytest.param(zoned("n", "a", "gpu"), zoned("n", "a"), True, id="a node lost its taint"),
        pytest.param(node("n", taint="gpu"), node("n"), False, id="a node without the key lost its taint"),
        pytest.param(zoned("n", "a"), node("n", {HOST: "n", ZONE: "a", "x": "y"}), False, id="another label changed"),
    ],
)
def test_node_events(old: Any, new: Any, helps: bool) -> None:
    hint = PodTopologySpread(World().cluster).events()[1]
    assert hint.helps is not None
    assert hint.helps(WAITING, Change(ClusterEvent(Resource.NODE, Action.ADD), old, new)) is helps


# -- agreement with the loop -------------------------------------------------------------------------------------------

CONSTRAINTS = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 3),
        "topologyKey": st.sampled_from([ZONE, HOST, "rack"]),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": SELECTORS | st.none(),
    },
    optional={
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.just(["tier"]),
    },
).flatmap(
    lambda each: (
        st.integers(1, 4).map(lambda domains: {**each, "minDomains": domains})
        if each["whenUnsatisfiable"] == "DoNotSchedule"
        else st.just(each)
    )
)
PLACED = st.builds(
    pod,
    st.integers(0, 30).map(str),
    LABELS,
    on=st.sampled_from(NAMES),
    namespace=st.sampled_from(["default", "default", "other"]),
    terminating=st.sampled_from([False, False, False, True]),
)
CONSTRAINED = st.builds(
    pod,
    st.just("incoming"),
    LABELS,
    spread=st.lists(
        CONSTRAINTS, min_size=1, max_size=3, unique_by=lambda each: (each["topologyKey"], each["whenUnsatisfiable"])
    ),
    node_selector=st.sampled_from([None, None, {"rack": "x"}]),
    tolerates=st.sampled_from(["", "gpu"]),
)
OWNED = st.builds(
    pod,
    st.just("incoming"),
    LABELS,
    owner=st.sampled_from([None, ("apps/v1", "ReplicaSet", "rs"), ("v1", "ReplicationController", "rc")]),
)
WORKLOADS = st.one_of(
    LABELS.map(lambda labels: named("Service", "one", spec={"selector": labels})),
    LABELS.map(lambda labels: named("Service", "two", spec={"selector": labels})),
    LABELS.map(lambda labels: named("ReplicationController", "rc", spec={"selector": labels})),
    (SELECTORS | st.none()).map(lambda selector: named("ReplicaSet", "rs", spec={"selector": selector})),
)


@given(
    start=st.tuples(*(random_nodes([name]) for name in NAMES)),
    crowd=st.lists(PLACED, min_size=5, max_size=15),
    steps=st.lists(st.one_of(random_nodes(), PLACED, WORKLOADS, st.integers(0, 30)), min_size=5, max_size=25),
    pods=st.tuples(CONSTRAINED, CONSTRAINED, OWNED),
    is_system=st.booleans(),
    data=st.data(),
)
def test_agrees_with_a_naive_loop(
    start: tuple[Node, ...],
    crowd: list[Pod],
    steps: list[Any],
    pods: tuple[Pod, ...],
    is_system: bool,
    data: st.DataObject,
) -> None:
    world = World([*start, *crowd])
    args = None if is_system else PodTopologySpreadArgs(default_constraints=LISTED, defaulting_type="List")
    defaults = SYSTEM_DEFAULTS if is_system else LISTED
    plugin = PodTopologySpread(world.cluster, args)
    for step in [*steps, 0]:
        if isinstance(step, int):  # take something away
            everything = [*world.pods.values(), *world.nodes.values(), *world.workloads.values()]
            if step < len(everything):
                world.drop(everything[step])
        else:
            world.put(step)
        for incoming in pods:
            expected = naive_verdicts(world, incoming, defaults)
            assert verdicts(world, plugin, incoming) == expected
            feasible = [name for name in world.nodes if not (expected or {}).get(name)]
            if feasible:
                wanted = naive_scores(world, incoming, defaults, is_system, feasible)
                assert scores(world, plugin, incoming, feasible) == wanted
    _compare_what_if(world, plugin, pods[0], defaults, data)


def _compare_what_if(
    world: World, plugin: PodTopologySpread, incoming: Pod, defaults: Any, data: st.DataObject
) -> None:
    mine = world.classify(incoming)
    state = plugin.pre_filter(mine, world.cluster.view())
    if state is SKIP or not world.nodes:
        return
    assert isinstance(state, HardSpread)
    place = data.draw(st.sampled_from(sorted(world.nodes)))
    row = world.cluster.nodes.row_of[place]
    gone = [(each, place, -1) for each in world.on(place)]
    come = [(each, place, 1) for each in data.draw(st.lists(PLACED, max_size=3))]
    supposed = [*gone, *come]
    for number, (other, _, delta) in enumerate(supposed):
        hook = plugin.add_pod if delta > 0 else plugin.remove_pod
        hook(mine, state, other, world.cluster.classify(other, bound=True), row)
        found = verdicts(world, plugin, incoming, state)
        expected = naive_verdicts(world, incoming, defaults, supposed[: number + 1])
        assert expected is not None
        assert found is not None
        assert found[place] == expected[place]
        assert found == expected
    for other, _, delta in reversed(supposed):
        hook = plugin.remove_pod if delta > 0 else plugin.add_pod
        hook(mine, state, other, world.cluster.classify(other, bound=True), row)
    assert verdicts(world, plugin, incoming, state) == naive_verdicts(world, incoming, defaults)
