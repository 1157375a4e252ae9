"""Which nodes are scored, in which order they are looked at, and who wins among equals."""

from __future__ import annotations

import numpy as np
import pytest

from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Profile
from fairway.cycle.sampling import Sampler, num_feasible_to_find
from fairway.model import Node, Pod
from fairway.testing import cluster, node, pod
from tests.cycle.profiles import profile, refusing, scoring

FLAT = scoring("Flat", {})


@pytest.mark.parametrize(
    ("num_nodes", "percentage", "expected"),
    [
        pytest.param(0, 0, 0, id="no nodes"),
        pytest.param(99, 0, 99, id="a small cluster: all"),
        pytest.param(99, 1, 99, id="a small cluster, whatever the percentage"),
        pytest.param(100, 0, 100, id="at least a hundred"),
        pytest.param(250, 0, 120, id="48 of a hundred"),
        pytest.param(1000, 0, 420, id="42 of a hundred"),
        pytest.param(5000, 0, 500, id="10 of a hundred"),
        pytest.param(5625, 0, 281, id="the last step above the floor"),
        pytest.param(6000, 0, 300, id="never less than 5 of a hundred"),
        pytest.param(15000, 0, 750, id="nor in the largest cluster"),
        pytest.param(1000, 30, 300, id="as configured"),
        pytest.param(1000, 1, 100, id="as configured, but at least a hundred nodes"),
        pytest.param(1000, 100, 1000, id="all, as configured"),
        pytest.param(1999, 10, 199, id="cut"),
    ],
)
def test_how_many_are_enough(num_nodes: int, percentage: int, expected: int) -> None:
    assert num_feasible_to_find(num_nodes, percentage) == expected


# -- as kube-scheduler -------------------------------------------------------------------------------------------------


def names(what: Cluster, sampler: Sampler, mask: list[bool] | None = None) -> list[str]:
    feasible = np.ones(what.nodes.num_rows, bool) if mask is None else np.array(mask)
    return [what.nodes.names[row] for row in np.flatnonzero(sampler.reduce(feasible, what.nodes.num_alive))]


def kube(what: Cluster, percentage: int = 50) -> Sampler:
    return profile(what, FLAT, sampling="kube", percentage=percentage).sampler


def numbered(*ranges: range) -> list[str]:
    return [f"n{number:03}" for numbers in ranges for number in numbers]


def test_a_scan_begins_where_the_last_one_ended() -> None:
    what = cluster([node(name) for name in numbered(range(250))])
    sampler = kube(what)
    assert not sampler.takes_all
    assert names(what, sampler) == numbered(range(125))
    assert names(what, sampler) == numbered(range(125, 250))
    assert names(what, sampler) == numbered(range(125))


def test_refused_nodes_are_passed_over_and_count_as_looked_at() -> None:
    what = cluster([node(name) for name in numbered(range(200))])
    sampler = kube(what)
    mask = [number >= 50 for number in range(200)]
    assert names(what, sampler, mask) == numbered(range(50, 150))
    assert names(what, sampler, mask) == numbered(range(50, 100), range(150, 200))  # from 150, round to 99
    assert names(what, sampler, mask) == numbered(range(100, 200))


def test_if_no_more_than_enough_fit_all_are_scored_and_the_start_stays() -> None:
    what = cluster([node(name) for name in numbered(range(200))])
    sampler = kube(what)
    assert names(what, sampler) == numbered(range(100))
    few = [number % 2 == 0 for number in range(200)]
    assert len(names(what, sampler, few)) == 100
    assert names(what, sampler, [False] * 200) == []
    assert names(what, sampler) == numbered(range(100, 200))


def test_a_confined_pod_is_looked_for_among_few() -> None:
    what = cluster([node(name) for name in numbered(range(400))])
    sampler = kube(what)
    mask = np.arange(400) < 150
    assert np.count_nonzero(sampler.reduce(mask, 150)) == 100  # of 150 nodes: at least a hundred
    assert np.count_nonzero(kube(what).reduce(mask, 400)) == 150  # of 400: half of them would do


@pytest.mark.parametrize(
    ("num_nodes", "percentage", "expected"),
    [
        pytest.param(99, 5, True, id="a small cluster"),
        pytest.param(100, 0, True, id="a hundred nodes: all of them are enough"),
        pytest.param(101, 0, False, id="a hundred and one"),
        pytest.param(101, 100, True, id="as configured"),
    ],
)
def test_when_all_nodes_are_scored_anyway(num_nodes: int, percentage: int, expected: bool) -> None:
    assert kube(cluster(num_nodes), percentage).takes_all is expected


def test_the_decision_is_made_among_the_nodes_found() -> None:
    best = scoring("Best", {"n150": 100})
    made = profile(cluster([node(name) for name in numbered(range(200))]), best, sampling="kube", percentage=50)
    first, second = made.decide(pod()), made.decide(pod())
    assert (first.node, first.num_feasible) == ("n000", 100)
    assert (second.node, second.num_feasible, second.score) == ("n150", 100, 100)


# -- the order of nodes: without plugins that score, each scan finds exactly one ---------------------------------------

OLD_ZONE, NEW_ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
OLD_REGION, NEW_REGION = "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"


def scanned(made: Profile, number: int) -> list[str]:
    return [made.decide(pod(f"p{turn}")).node for turn in range(number)]


def one_by_one(*nodes: Node) -> list[str]:
    return scanned(profile(cluster(nodes), "NodeName", sampling="kube"), len(nodes))


def test_zones_take_turns() -> None:
    zones = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "n1": "", "c1": "c", "c2": "c"}
    found = one_by_one(*(node(name, zone=zone) for name, zone in zones.items()))
    assert found == ["a1", "b1", "n1", "c1", "a2", "c2", "a3"]


@pytest.mark.parametrize(
    ("first", "second", "is_same_zone"),
    [
        pytest.param({NEW_ZONE: "a"}, {NEW_ZONE: "a"}, True, id="zones"),
        pytest.param({NEW_ZONE: "a"}, {NEW_ZONE: "a", NEW_REGION: "r"}, False, id="zones of regions"),
        pytest.param({NEW_ZONE: "a"}, {NEW_REGION: "a"}, False, id="a zone and a region"),
        pytest.param({NEW_ZONE: "a"}, {OLD_ZONE: "a"}, True, id="by the old label"),
        pytest.param({OLD_ZONE: "a", NEW_ZONE: "b"}, {NEW_ZONE: "a"}, True, id="the old label comes first"),
        pytest.param({OLD_ZONE: "", NEW_ZONE: "b"}, {}, True, id="even if it is empty"),
        pytest.param({OLD_REGION: "r", NEW_ZONE: "a"}, {NEW_REGION: "r", OLD_ZONE: "a"}, True, id="old and new mixed"),
    ],
)
def test_what_a_zone_is(first: dict[str, str], second: dict[str, str], is_same_zone: bool) -> None:
    found = one_by_one(node("x", labels=first), node("y", labels=second), node("z", labels={NEW_ZONE: "other"}))
    assert found == (["x", "z", "y"] if is_same_zone else ["x", "y", "z"])


def test_without_scores_the_first_that_fits_is_taken() -> None:
    made = profile(cluster(4), refusing("R", {}), "NodeName", sampling="kube")
    decision = made.decide(pod())
    assert (decision.node, decision.via, decision.num_feasible) == ("node-1", "single", 1)
    assert scanned(made, 4) == ["node-2", "node-3", "node-4", "node-1"]


def test_nodes_that_come_and_go_change_the_order() -> None:
    what = cluster(3)
    made = profile(what, "NodeName", sampling="kube")
    assert scanned(made, 3) == ["node-1", "node-2", "node-3"]
    what.apply(Event(Verb.DELETED, node("node-2")))
    what.apply(Event(Verb.ADDED, node("node-4")))
    assert scanned(made, 3) == ["node-1", "node-3", "node-4"]


# -- two choices -------------------------------------------------------------------------------------------------------


def two_choices(what: Cluster, seed: int = 0) -> Sampler:
    return profile(what, FLAT, sampling="two-choices", seed=seed).sampler


def test_two_choices_draws_two_of_the_feasible_nodes() -> None:
    what = cluster(6)
    sampler = two_choices(what)
    mask = [True, True, False, True, True, True]
    draws = [names(what, sampler, mask) for _ in range(200)]
    assert {len(draw) for draw in draws} == {2}
    assert {name for draw in draws for name in draw} == {"node-1", "node-2", "node-4", "node-5", "node-6"}
    assert len({tuple(draw) for draw in draws}) == 10  # all pairs


@pytest.mark.parametrize("number", [0, 1, 2])
def test_two_choices_of_no_more_than_two(number: int) -> None:
    what = cluster(4)
    mask = [row < number for row in range(4)]
    assert names(what, two_choices(what), mask) == [f"node-{row + 1}" for row in range(number)]


def test_two_choices_are_repeated_by_the_same_seed() -> None:
    what = cluster(20)

    def draws(seed: int) -> list[list[str]]:
        sampler = two_choices(what, seed)
        return [names(what, sampler) for _ in range(10)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)


# -- ties --------------------------------------------------------------------------------------------------------------


def test_the_first_by_name_in_the_order_of_bytes() -> None:
    made = profile(cluster([node(name) for name in ("b", "a10", "a9", "Z")]), FLAT)
    assert made.decide(pod()).node == "Z"
    rows = made.cluster.nodes.row_of
    assert made.tie_breaker.choose(np.array([rows["b"], rows["a9"], rows["a10"]])) == rows["a10"]


def choices(seed: int | None, number: int = 60) -> list[str]:
    made = profile(
        cluster(4), scoring("S", {"node-4": 0, "node-1": 9, "node-2": 9, "node-3": 9}), tie_break="random", seed=seed
    )
    return [made.decide(pod(f"p{turn}")).node for turn in range(number)]


def test_a_random_choice_is_among_the_best_and_repeated_by_the_same_seed() -> None:
    assert set(choices(1)) == {"node-1", "node-2", "node-3"}
    assert choices(1) == choices(1)
    assert choices(1) != choices(2)


def test_without_a_seed_the_configuration_s_is_taken() -> None:
    assert choices(None) == choices(0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cpus", [pytest.param(4, id="crowded"), pytest.param(16, id="roomy")])
def test_who_looks_at_some_rows_only_decides_as_who_looks_at_all(seed: int, cpus: int) -> None:
    """Pods of several classes come and go; answers are caught up on the rows of a scan, or on all of them."""
    what = cluster([node(name, cpu=cpus, memory="16Gi") for name in numbered(range(130))])
    lazy, eager = (profile(what, defaults=True, sampling="kube", caching=caching) for caching in (True, False))
    draws = np.random.default_rng(seed)
    running: list[Pod] = []
    for number in range(220):
        if running and draws.random() < 0.3:
            gone = running.pop(int(draws.integers(len(running))))
            what.apply(Event(Verb.DELETED, gone))
        wanted = pod(f"p{number}", cpu=int(draws.integers(1, 4)), memory=f"{draws.integers(1, 3)}Gi")
        one, other = lazy.decide(wanted), eager.decide(wanted)
        assert (one.outcome, one.row, one.score, one.num_feasible, one.num_best) == (
            other.outcome,
            other.row,
            other.score,
            other.num_feasible,
            other.num_best,
        )
        if number % 20 == 0:
            assert lazy.inspect(wanted).totals == eager.inspect(wanted).totals
        if one.row >= 0:
            assert lazy.assume(one) is None
            running.append(wanted)
