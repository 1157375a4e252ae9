"""InterPodAffinity: cases worked out by hand, and agreement with a naive loop while the world changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Action, Change, ClusterEvent, Resource
from fairway.cluster.counters import MANY_TERMS
from fairway.cluster.terms import HUGE
from fairway.model import Namespace, Node, Pod
from fairway.plugin import SKIP
from fairway.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from tests.plugins.naive_affinity import NOT_APART, NOT_NEAR, SHUNNED, naive_scores, naive_verdicts, placement
from tests.plugins.topology_world import (
    HOST,
    LABELS,
    NAMES,
    SELECTORS,
    ZONE,
    Json,
    World,
    namespace,
    node,
    pod,
    random_nodes,
    scores,
    verdicts,
    zoned,
)

WEB, DB = {"app": "web"}, {"app": "db"}


def term(labels: Json | None = WEB, key: str = ZONE, **more: Any) -> Json:
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": key, **selector, **more}


def near(*terms: Json) -> Json:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart(*terms: Json) -> Json:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def likes(weight: int, *terms: Json) -> Json:
    return {"podAffinity": _preferred(weight, terms)}


def dislikes(weight: int, *terms: Json) -> Json:
    return {"podAntiAffinity": _preferred(weight, terms)}


def _preferred(weight: int, terms: tuple[Json, ...]) -> Json:
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": weight, "podAffinityTerm": each} for each in terms
        ]
    }


NODES = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), node("bare", {HOST: "bare"})]
SPACES = [namespace("default", {"team": "x"}), namespace("other", {"team": "y"}), namespace("plain")]
OK = None
ANYWHERE = {"a1": OK, "a2": OK, "b1": OK, "bare": OK}
IN_A = {"a1": OK, "a2": OK, "b1": NOT_NEAR, "bare": NOT_NEAR}
NOWHERE = dict.fromkeys(ANYWHERE, NOT_NEAR)


@pytest.mark.parametrize(
    ("objects", "incoming", "expected"),
    [
        pytest.param([pod("w", WEB, on="a1")], pod("p"), None, id="nobody has terms: skipped"),
        pytest.param([pod("w", WEB, on="a1")], pod("p", affinity=near(term())), IN_A, id="near a pod, in its zone"),
        pytest.param([pod("w", DB, on="a1")], pod("p", affinity=near(term())), NOWHERE, id="near nobody"),
        pytest.param(
            [],
            pod("p", WEB, affinity=near(term())),
            {"a1": OK, "a2": OK, "b1": OK, "bare": NOT_NEAR},
            id="the first of those that want each other goes anywhere in the topology",
        ),
        pytest.param([pod("w", WEB, on="a1")], pod("p", WEB, affinity=near(term())), IN_A, id="the second joins it"),
        pytest.param(
            [pod("w", WEB, on="bare")],
            pod("p", WEB, affinity=near(term())),
            {"a1": OK, "a2": OK, "b1": OK, "bare": NOT_NEAR},
            id="a pod outside the topology is not there yet",
        ),
        pytest.param(
            [pod("w", {**WEB, "tier": "1"}, on="a1"), pod("x", WEB, on="b1")],
            pod("p", affinity=near(term(), term({"tier": "1"}, HOST))),
            {"a1": OK, "a2": NOT_NEAR, "b1": NOT_NEAR, "bare": NOT_NEAR},
            id="one pod has to satisfy all terms",
        ),
        pytest.param(
            [pod("w", WEB, on="a1")],
            pod("p", affinity=apart(term())),
            {**ANYWHERE, "a1": NOT_APART, "a2": NOT_APART},
            id="apart from a pod, out of its zone",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", terminating=True)],
            pod("p", affinity=apart(term(key=HOST))),
            {**ANYWHERE, "a1": NOT_APART},
            id="also while it terminates",
        ),
        pytest.param(
            [pod("w", WEB, on="bare")], pod("p", affinity=apart(term())), ANYWHERE, id="apart from a pod in no zone"
        ),
        pytest.param(
            [pod("w", WEB, on="a1"), pod("d", DB, on="b1")],
            pod("p", affinity=apart(term(), term(DB, HOST))),
            {**ANYWHERE, "a1": NOT_APART, "a2": NOT_APART, "b1": NOT_APART},
            id="apart by any of several terms",
        ),
        pytest.param(
            [pod("w", on="a1", affinity=apart(term()))],
            pod("p", WEB),
            {**ANYWHERE, "a1": SHUNNED, "a2": SHUNNED},
            id="a running pod wants to be apart",
        ),
        pytest.param([pod("w", on="a1", affinity=apart(term()))], pod("p", DB), None, id="but not from this one"),
        pytest.param(
            [pod("w", on="bare", affinity=apart(term()))], pod("p", WEB), None, id="nor where there is no topology"
        ),
        pytest.param(
            [pod("w", WEB, on="a1", affinity=apart(term()))],
            pod("p", WEB, affinity=apart(term(key=HOST))),
            {**ANYWHERE, "a1": NOT_APART, "a2": SHUNNED},
            id="its own anti-affinity is named before others'",
        ),
        pytest.param(
            [pod("w", {**WEB, **DB}, on="a1"), pod("x", {"x": "y"}, on="a2", affinity=apart(term({"me": "1"}, HOST)))],
            pod("p", {"me": "1"}, affinity=near(term(DB)) | apart(term({"x": "y"}, HOST))),
            {**IN_A, "a2": NOT_APART},
            id="affinity is named before anti-affinity",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", namespace="other")],
            pod("p", affinity=apart(term())),
            ANYWHERE,
            id="own namespace only",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", namespace="other")],
            pod("p", affinity=apart(term(namespaces=["other"], key=HOST))),
            {**ANYWHERE, "a1": NOT_APART},
            id="a namespace by name",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", namespace="other"), pod("x", WEB, on="b1", namespace="plain")],
            pod("p", affinity=apart(term(namespaceSelector={"matchLabels": {"team": "y"}}, key=HOST))),
            {**ANYWHERE, "a1": NOT_APART},
            id="a namespace by label",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", namespace="other"), pod("x", WEB, on="b1", namespace="unknown")],
            pod("p", affinity=apart(term(namespaceSelector={}, key=HOST))),
            {**ANYWHERE, "a1": NOT_APART, "b1": NOT_APART},
            id="all namespaces, known or not",
        ),
        pytest.param(
            [pod("w", WEB, on="a1", namespace="other")],
            pod(
                "p",
                affinity=apart(
                    term(
                        namespaceSelector={"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["y"]}]},
                        key=HOST,
                    )
                ),
            ),
            {**ANYWHERE, "a1": NOT_APART},
            id="a selector that no labels satisfy means all namespaces, even one it excludes",
        ),
        pytest.param(
            [
                pod(
                    "w",
                    on="a1",
                    namespace="other",
                    affinity=apart(term(namespaceSelector={"matchLabels": {"team": "x"}})),
                )
            ],
            pod("p", WEB),
            {**ANYWHERE, "a1": SHUNNED, "a2": SHUNNED},
            id="a running pod's term finds the incoming pod by its namespace's labels",
        ),
        pytest.param(
            [
                pod(
                    "w",
                    on="a1",
                    namespace="other",
                    affinity=apart(
                        term(
                            namespaceSelector={
                                "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]
                            }
                        )
                    ),
                )
            ],
            pod("p", WEB),
            None,
            id="and takes them at their word",
        ),
        pytest.param(
            [pod("w", WEB, on="a1")], pod("p", affinity=apart(term(None))), ANYWHERE, id="no selector means nobody"
        ),
    ],
)
def test_filter(objects: list[Any], incoming: Pod, expected: Json | None) -> None:
    world = World([*NODES, *SPACES, *objects])
    assert verdicts(world, InterPodAffinity(world.cluster), incoming) == expected


@pytest.mark.parametrize(
    ("args", "objects", "incoming", "expected"),
    [
        pytest.param(None, [pod("w", WEB, on="a1")], pod("p", WEB), None, id="nobody has terms: skipped"),
        pytest.param(None, [], pod("p", affinity=likes(5, term())), None, id="nobody is there: skipped"),
        pytest.param(
            None,
            [pod("w", WEB, on="a1")],
            pod("p", affinity=likes(5, term())),
            {"a1": 100, "a2": 100, "b1": 0, "bare": 0},
            id="near a pod it likes",
        ),
        pytest.param(
            None,
            [pod("w", WEB, on="a1")],
            pod("p", affinity=dislikes(5, term())),
            {"a1": 0, "a2": 0, "b1": 100, "bare": 100},
            id="away from a pod it dislikes",
        ),
        # a: 3, b: 1, bare: 0
        pytest.param(
            None,
            [pod(str(number), WEB, on=on) for number, on in enumerate(["a1", "a1", "a2", "b1"])],
            pod("p", affinity=likes(7, term())),
            {"a1": 100, "a2": 100, "b1": 33, "bare": 0},
            id="fractions are cut",
        ),
        # a1: 10 - 4, a2: 10, b1 and bare 0
        pytest.param(
            None,
            [pod("w", WEB, on="a1")],
            pod("p", affinity=likes(10, term()) | dislikes(4, term(key=HOST))),
            {"a1": 60, "a2": 100, "b1": 0, "bare": 0},
            id="several topologies add up",
        ),
        pytest.param(
            None,
            [pod("w", on="b1", affinity=likes(3, term()))],
            pod("p", WEB),
            {"a1": 0, "a2": 0, "b1": 100, "bare": 0},
            id="a running pod likes it",
        ),
        pytest.param(
            None,
            [pod("w", on="b1", affinity=dislikes(3, term()))],
            pod("p", WEB),
            {"a1": 100, "a2": 100, "b1": 0, "bare": 100},
            id="a running pod dislikes it",
        ),
        pytest.param(
            None,
            [pod("w", on="b1", affinity=near(term()))],
            pod("p", WEB),
            {"a1": 0, "a2": 0, "b1": 100, "bare": 0},
            id="a running pod requires it nearby",
        ),
        # b: 3 from the one, 5 from the other
        pytest.param(
            InterPodAffinityArgs(hard_pod_affinity_weight=5),
            [pod("w", on="b1", affinity=near(term())), pod("x", on="a1", affinity=likes(3, term(key=HOST)))],
            pod("p", WEB),
            {"a1": 60, "a2": 0, "b1": 100, "bare": 0},
            id="which is worth what the configuration says",
        ),
        pytest.param(
            InterPodAffinityArgs(hard_pod_affinity_weight=0),
            [pod("w", on="b1", affinity=near(term()))],
            pod("p", WEB),
            None,
            id="or nothing: skipped",
        ),
        pytest.param(
            InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True),
            [pod("w", on="b1", affinity=likes(3, term()))],
            pod("p", WEB),
            None,
            id="running pods' preferences ignored: skipped",
        ),
        # a: 4 of its own, b: 2 of the running pod's
        pytest.param(
            InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True),
            [pod("w", on="b1", affinity=likes(2, term())), pod("x", DB, on="a1")],
            pod("p", WEB, affinity=likes(4, term(DB))),
            {"a1": 100, "a2": 100, "b1": 50, "bare": 0},
            id="but not for pods with preferences of their own",
        ),
        pytest.param(
            None,
            [pod("w", WEB, on="a1"), pod("x", WEB, on="b1")],
            pod("p", affinity=likes(5, term(key="kubernetes.io/os"))),
            None,
            id="no node has the key: skipped",
        ),
        pytest.param(
            None,
            [pod("w", {**WEB, "x": "y"}, on="a1")],
            pod("p", affinity=likes(5, term()) | dislikes(5, term({"x": "y"}))),
            {"a1": 0, "a2": 0, "b1": 0, "bare": 0},
            id="likes and dislikes that cancel out are still scored",
        ),
    ],
)
def test_score(args: Any, objects: list[Any], incoming: Pod, expected: dict[str, int] | None) -> None:
    world = World([*NODES, *SPACES, *objects])
    assert scores(world, InterPodAffinity(world.cluster, args), incoming, list(world.nodes)) == expected


def test_what_if_the_pods_in_the_way_were_gone() -> None:
    first, second = pod("w", WEB, on="a1", affinity=apart(term())), pod("x", WEB, on="a1")
    world = World([*NODES, *SPACES, first, second])
    plugin = InterPodAffinity(world.cluster)
    incoming = pod("p", WEB, affinity=apart(term()))
    mine = world.classify(incoming)
    state = plugin.pre_filter(mine, world.cluster.view())
    assert state is not SKIP
    row = world.cluster.nodes.row_of["a1"]
    told = [(each, world.cluster.classify(each, bound=True)) for each in (first, second)]
    plugin.remove_pod(mine, state, *told[1], row)
    assert verdicts(world, plugin, incoming, state) == {**ANYWHERE, "a1": NOT_APART, "a2": NOT_APART}
    plugin.remove_pod(mine, state, *told[0], row)
    assert verdicts(world, plugin, incoming, state) == ANYWHERE
    plugin.add_pod(mine, state, *told[0], row)
    plugin.add_pod(mine, state, *told[1], row)
    assert verdicts(world, plugin, incoming, state) == {**ANYWHERE, "a1": NOT_APART, "a2": NOT_APART}


def test_what_if_a_pod_with_terms_nobody_had_before_came() -> None:
    world = World([*NODES, *SPACES])
    plugin = InterPodAffinity(world.cluster)
    incoming = pod("p", WEB, affinity=apart(term(DB)))
    mine = world.classify(incoming)
    state = plugin.pre_filter(mine, world.cluster.view())
    assert state is not SKIP
    other = pod("w", affinity=apart(term(key="kubernetes.io/hostname")))
    told = (other, world.cluster.classify(other), world.cluster.nodes.row_of["b1"])
    plugin.add_pod(mine, state, *told)
    assert verdicts(world, plugin, incoming, state) == {**ANYWHERE, "b1": SHUNNED}
    plugin.remove_pod(mine, state, *told)
    assert verdicts(world, plugin, incoming, state) == ANYWHERE


def test_terms_that_come_and_go() -> None:
    world = World([*NODES, *SPACES])
    world.put(pod("fan", on="b1", affinity=likes(2, term({"n": "150"}, HOST))))
    plugin = InterPodAffinity(world.cluster)
    incoming = pod("p", {"n": "150"})
    names = ["a1", "b1", "bare"]
    for number in range(200):  # far more terms than are in use at any time
        guard = pod(
            "w", on="a1", affinity=apart(term({"n": str(number)}, HOST)) | likes(1, term({"n": str(number)}, HOST))
        )
        world.put(guard)
        assert verdicts(world, plugin, incoming) == ({**ANYWHERE, "a1": SHUNNED} if number == 150 else None)
        assert scores(world, plugin, incoming, names) == {"a1": 50 if number == 150 else 0, "b1": 100, "bare": 0}
        world.drop(guard)
        assert verdicts(world, plugin, incoming) is None


def test_pods_that_come_and_go_one_by_one() -> None:
    world = World([zoned(f"n{number}", None if number == 5 else f"z{number % 4}") for number in range(40)])
    plugin = InterPodAffinity(world.cluster)
    names = list(world.nodes)
    together, alone = near(term()) | apart(term(DB, HOST)), apart(term(key=HOST))
    fond = likes(9, term(), term(DB, HOST)) | dislikes(5, term(DB), term(key=HOST))
    incoming = [
        pod("p", WEB, affinity=together),
        pod("q", WEB, affinity=alone),
        pod("r", DB, affinity=fond),
        pod("s", DB),
    ]
    chance = np.random.default_rng(7)
    for number in range(80):
        placed = list(world.pods.values())
        if len(placed) > 15 and chance.random() < 0.5:
            world.drop(placed[int(chance.integers(len(placed)))])
        else:
            affinity = [None, fond, alone][int(chance.integers(3))]
            world.put(pod(f"w{number}", [WEB, DB][number % 2], on=f"n{int(chance.integers(8))}", affinity=affinity))
        for each in incoming:
            assert verdicts(world, plugin, each) == naive_verdicts(world, each)
            assert scores(world, plugin, each, names) == naive_scores(world, each, names, 1, ignores_others=False)


def test_many_changes_between_two_looks() -> None:
    world = World([zoned(f"n{number}", f"z{number % 7}") for number in range(100)])
    plugin = InterPodAffinity(world.cluster)
    incoming = pod("p", WEB, affinity=apart(term(key=HOST)) | likes(3, term()))
    names = list(world.nodes)
    verdicts(world, plugin, incoming)
    scores(world, plugin, incoming, names)
    for number in range(60):
        world.put(pod(f"w{number}", WEB, on=f"n{number * number % 100}"))
    assert verdicts(world, plugin, incoming) == naive_verdicts(world, incoming)
    assert scores(world, plugin, incoming, names) == naive_scores(world, incoming, names, 1, ignores_others=False)


def test_namespaces_that_change_their_labels() -> None:
    shy = apart(term(namespaceSelector={"matchLabels": {"team": "z"}}, key=HOST))
    world = World([*NODES, *SPACES, pod("w", WEB, on="a1", namespace="other"), pod("x", on="b1", affinity=shy)])
    plugin = InterPodAffinity(world.cluster)
    incoming = pod("p", WEB, affinity=shy)
    assert verdicts(world, plugin, incoming) == ANYWHERE
    world.put(namespace("other", {"team": "z"}))
    assert verdicts(world, plugin, incoming) == {**ANYWHERE, "a1": NOT_APART}
    world.put(namespace("default", {"team": "z"}))
    assert verdicts(world, plugin, incoming) == {**ANYWHERE, "a1": NOT_APART, "b1": SHUNNED}
    world.drop(world.namespaces["other"])
    assert verdicts(world, plugin, incoming) == {**ANYWHERE, "b1": SHUNNED}


WAITING = pod("p", {"me": "1"}, affinity=near(term()) | apart(term(DB, HOST)))


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, pod("w", WEB, on="a1"), True, id="a pod it wants came"),
        pytest.param(None, pod("w", WEB), False, id="but has no node"),
        pytest.param(None, pod("w", DB, on="a1"), False, id="a pod it avoids came"),
        pytest.param(pod("w", DB, on="a1"), None, True, id="a pod it avoids left"),
        pytest.param(pod("w", WEB, on="a1"), None, False, id="a pod it wants left"),
        pytest.param(pod("w", on="a1", affinity=apart(term({"me": "1"}))), None, True, id="a pod that avoids it left"),
        pytest.param(pod("w", DB, on="a1"), pod("w", WEB, on="a1"), True, id="a pod changed for the better"),
        pytest.param(pod("w", DB, on="a1"), pod("w", {}, on="a1"), True, id="a pod ceased to be in the way"),
        pytest.param(pod("w", WEB, on="a1"), pod("w", DB, on="a1"), False, id="a pod changed for the worse"),
        pytest.param(WAITING, pod("p", {"me": "2"}, affinity=near(term())), True, id="it changed itself"),
    ],
)
def test_pod_events(old: Pod | None, new: Pod | None, helps: bool) -> None:
    hint = InterPodAffinity(World().cluster).events()[0]
    change = Change(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), old, new)
    assert hint.event.covers(change.event)
    assert hint.helps is not None
    assert hint.helps(WAITING, change) is helps


@pytest.mark.parametrize(
    ("affinity", "old", "new", "helps"),
    [
        pytest.param(near(term()), None, zoned("n", "a"), True, id="near: a node with the key came"),
        pytest.param(near(term()), None, node("n"), False, id="near: one without it"),
        pytest.param(near(term()), zoned("n", None), zoned("n", "a"), True, id="near: a node got the key"),
        pytest.param(near(term()), zoned("n", "a"), zoned("n", "b"), True, id="near: a node moved"),
        pytest.param(near(term()), zoned("n", "a"), zoned("n", None), False, id="near: a node lost the key"),
        pytest.param(apart(term()), None, node("n"), True, id="apart: any node came"),
        pytest.param(apart(term()), zoned("n", "a"), zoned("n", None), True, id="apart: a node lost the key"),
        pytest.param(apart(term()), zoned("n", "a"), zoned("n", "b"), True, id="apart: a node moved"),
        pytest.param(apart(term()), zoned("n", None), zoned("n", "a"), False, id="apart: a node got the key"),
    ],
)
def test_node_events(affinity: Json, old: Any, new: Any, helps: bool) -> None:
    hint = InterPodAffinity(World().cluster).events()[1]
    assert hint.helps is not None
    change = Change(ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL), old, new)
    assert hint.helps(pod("p", affinity=affinity), change) is helps


# -- agreement with the loop -------------------------------------------------------------------------------------------

WHERE = st.sampled_from(
    [
        {},
        {},
        {"namespaces": ["other"]},
        {"namespaces": ["default", "unknown"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": {"matchLabels": {"team": "x"}}},
        {"namespaceSelector": {"matchLabels": {"team": "x"}}, "namespaces": ["default"]},
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
    ]
)
TERMS = st.builds(
    lambda key, selector, where: {"topologyKey": key, "labelSelector": selector, **where},
    st.sampled_from([ZONE, HOST, "rack"]),
    SELECTORS | st.none(),
    WHERE,
)
WEIGHTED = st.fixed_dictionaries({"weight": st.integers(1, 9), "podAffinityTerm": TERMS})
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
FILLERS = [term({"app": f"x{number}"}, HOST) for number in range(MANY_TERMS)]
"""Terms that mean nobody: whoever has them has so many that they are counted together."""
SIDES = st.fixed_dictionaries(
    {}, optional={REQUIRED: st.lists(TERMS, max_size=2), PREFERRED: st.lists(WEIGHTED, max_size=2)}
)
CROWDED = st.fixed_dictionaries(
    {},
    optional={
        REQUIRED: st.lists(TERMS, min_size=1, max_size=2).map(lambda terms: [*FILLERS, *terms]),
        PREFERRED: st.lists(WEIGHTED, min_size=1, max_size=2).map(
            lambda terms: [*({**terms[0], "podAffinityTerm": each} for each in FILLERS), *terms]
        ),
    },
)
AFFINITIES = st.fixed_dictionaries({"podAffinity": SIDES, "podAntiAffinity": SIDES | CROWDED})
PLACED = st.builds(
    pod,
    st.integers(0, 30).map(str),
    LABELS,
    on=st.sampled_from(NAMES),
    namespace=st.sampled_from(["default", "other", "unknown"]),
    affinity=AFFINITIES | st.none(),
    terminating=st.sampled_from([False, False, False, True]),
)
INCOMING = st.builds(
    pod,
    st.just("incoming"),
    LABELS,
    namespace=st.sampled_from(["default", "other", "unknown"]),
    affinity=AFFINITIES | st.none(),
)
SPACE = st.builds(
    namespace,
    st.sampled_from(["default", "other"]),
    st.fixed_dictionaries({}, optional={"team": st.sampled_from("xy")}),
)


@given(
    start=st.tuples(*(random_nodes([name]) for name in NAMES)),
    crowd=st.lists(PLACED, max_size=10),
    steps=st.lists(st.one_of(random_nodes(), PLACED, SPACE, st.integers(0, 20)), min_size=5, max_size=20),
    pods=st.tuples(INCOMING, INCOMING),
    hard_weight=st.integers(0, 3),
    ignores_others=st.booleans(),
    data=st.data(),
)
def test_agrees_with_a_naive_loop(
    start: tuple[Node, ...],
    crowd: list[Pod],
    steps: list[Any],
    pods: tuple[Pod, ...],
    hard_weight: int,
    ignores_others: bool,
    data: st.DataObject,
) -> None:
    world = World([*start, *crowd])
    args = InterPodAffinityArgs(
        hard_pod_affinity_weight=hard_weight, ignore_preferred_terms_of_existing_pods=ignores_others
    )
    plugin = InterPodAffinity(world.cluster, args)
    for step in [*steps, 0]:
        if isinstance(step, int):  # take something away
            everything = [*world.pods.values(), *world.nodes.values(), *world.namespaces.values()]
            if step < len(everything):
                world.drop(everything[step])
        else:
            world.put(step)
        for incoming in pods:
            expected = naive_verdicts(world, incoming)
            assert verdicts(world, plugin, incoming) == expected
            feasible = [name for name in world.nodes if not (expected or {}).get(name)]
            if feasible:
                wanted = naive_scores(world, incoming, feasible, hard_weight, ignores_others)
                assert scores(world, plugin, incoming, feasible) == wanted
    _compare_what_if(world, plugin, pods[0], data)


NOBODY = [term({f"x{number}": "x"}, HOST) for number in range(HUGE)]
"""Terms that mean nobody, and are so many that they are not compiled."""


def _crowded(affinity: Json | None, repeats: bool) -> Json | None:
    """The same, said with very many words. To be near, all terms have to be met: there one is repeated if need be."""
    found: Json = {}
    for side, kinds in (affinity or {}).items():
        found[side] = {}
        for kind, terms in kinds.items():
            if terms and kind == REQUIRED:
                more = terms[:1] * HUGE if repeats and side == "podAffinity" else NOBODY
                found[side][kind] = [*more, *terms]
            elif terms:
                found[side][kind] = [*({"weight": 3, "podAffinityTerm": each} for each in NOBODY), *terms]
    return found if affinity is not None else None


@settings(max_examples=40)
@given(
    start=st.tuples(*(random_nodes([name]) for name in NAMES)),
    crowd=st.lists(st.tuples(LABELS, st.sampled_from(NAMES), AFFINITIES), max_size=6),
    labels=LABELS,
    affinity=AFFINITIES,
    space=SPACE,
    data=st.data(),
)
def test_terms_that_mean_nobody_change_nothing(
    start: tuple[Node, ...],
    crowd: list[tuple[Json, str, Json]],
    labels: Json,
    affinity: Json,
    space: Namespace,
    data: st.DataObject,
) -> None:
    plain, crowded = World([*start]), World([*start])
    plugin, other_plugin = InterPodAffinity(plain.cluster), InterPodAffinity(crowded.cluster)
    incoming = pod("incoming", labels, affinity=affinity)
    other_incoming = pod("incoming", labels, affinity=_crowded(affinity, repeats=True))
    steps: list[tuple[Any, Any]] = [(space, space)]
    for number, (own, place, terms) in enumerate(crowd):
        named = f"p{number}", own
        steps.append((pod(*named, on=place, affinity=terms), pod(*named, on=place, affinity=_crowded(terms, False))))
    for step, other_step in data.draw(st.permutations(steps)):
        plain.put(step)
        crowded.put(other_step)
        expected = verdicts(plain, plugin, incoming)
        assert verdicts(crowded, other_plugin, other_incoming) == expected
        feasible = [name for name in plain.nodes if not (expected or {}).get(name)]
        if feasible:
            wanted = scores(plain, plugin, incoming, feasible)
            assert scores(crowded, other_plugin, other_incoming, feasible) == wanted
    _compare_what_if(crowded, other_plugin, other_incoming, data)


def _compare_what_if(world: World, plugin: InterPodAffinity, incoming: Pod, data: st.DataObject) -> None:
    mine = world.classify(incoming)
    state = plugin.pre_filter(mine, world.cluster.view())
    if state is SKIP or not world.nodes:
        return
    place = data.draw(st.sampled_from(sorted(world.nodes)))
    row = world.cluster.nodes.row_of[place]
    gone: list[Pod] = []
    come: list[tuple[Pod, str]] = []
    for other in world.on(place):
        plugin.remove_pod(mine, state, other, world.cluster.classify(other, bound=True), row)
        gone.append(other)
        assert verdicts(world, plugin, incoming, state) == naive_verdicts(world, incoming, placement(world, gone))
    for other in data.draw(st.lists(PLACED, max_size=3)):
        plugin.add_pod(mine, state, other, world.cluster.classify(other, bound=True), row)
        come.append((other, place))
        supposed = placement(world, gone, come)
        assert verdicts(world, plugin, incoming, state) == naive_verdicts(world, incoming, supposed)
    for other, _ in come:
        plugin.remove_pod(mine, state, other, world.cluster.classify(other, bound=True), row)
    for other in gone:
        plugin.add_pod(mine, state, other, world.cluster.classify(other, bound=True), row)
    assert verdicts(world, plugin, incoming, state) == naive_verdicts(world, incoming)
