"""Which nodes a pod fits on: filters near and far, restrictions, and pods that wait for a node."""

from __future__ import annotations

import pytest

from fairway.cluster import Cluster
from fairway.cycle import Profile
from fairway.cycle.feasibility import feasible_mask, nominated_rows, restricted_rows, rivals
from fairway.model import Pod
from fairway.plugin import Refusal, Restriction
from fairway.testing import cluster, near, node, pod
from tests.cycle.profiles import pre_filtering, profile, refusing

NO = Refusal(("no",))
NODES = (node("a", cpu=2), node("b", cpu=2), node("c", cpu=2))
WAITING = pod("waiting", cpu=2, priority=5, uid="waiting")


def feasible(made: Profile, incoming: Pod) -> tuple[set[str], dict[str, str]]:
    """(names that fit, and by whom the others are refused that only pods waiting for them keep it from)."""
    answers = made.answers(made.classify(incoming))
    mask, refusals = feasible_mask(made, incoming, answers, nominated_rows(made, incoming))
    names = made.cluster.nodes.names
    return (
        {name for name, fits in zip(names, mask, strict=True) if fits},
        {names[row]: plugin for row, (plugin, _) in refusals.items()},
    )


def nominated(node_name: str = "a", waiting: Pod = WAITING) -> Cluster:
    what = cluster(NODES)
    what.nominations.add(waiting, node_name)
    return what


@pytest.mark.parametrize(
    ("incoming", "fitting", "refused"),
    [
        pytest.param(pod(cpu=1, priority=4), "bc", {"a": "NodeResourcesFit"}, id="a less important pod leaves room"),
        pytest.param(pod(cpu=1, priority=5), "bc", {"a": "NodeResourcesFit"}, id="so does an equal"),
        pytest.param(pod(cpu=1, priority=6), "abc", {}, id="a more important one does not"),
        pytest.param(pod(priority=0), "abc", {}, id="nor one that does not compete"),
        pytest.param(WAITING, "abc", {}, id="nor the pod itself"),
    ],
)
def test_pods_that_wait_for_a_node_are_imagined_there(incoming: Pod, fitting: str, refused: dict[str, str]) -> None:
    assert feasible(profile(nominated(), "NodeResourcesFit"), incoming) == (set(fitting), refused)


def test_who_is_a_rival() -> None:
    what = nominated()
    for name, priority in (("lower", 1), ("higher", 9)):
        what.nominations.add(pod(name, priority=priority), "a")
    made = profile(what, "NodeResourcesFit")
    assert [other.metadata.name for other in rivals(made, pod(priority=5), "a")] == ["waiting", "higher"]
    assert [other.metadata.name for other in rivals(made, WAITING, "a")] == ["higher"]
    assert rivals(made, pod(priority=5), "b") == []


@pytest.mark.parametrize(
    ("node_name", "priority", "expected"),
    [
        pytest.param("b", 5, [1], id="a node that somebody waits for"),
        pytest.param("b", 6, [], id="somebody less important"),
        pytest.param("gone", 5, [], id="a node that is gone"),
    ],
)
def test_nodes_that_somebody_waits_for(node_name: str, priority: int, expected: list[int]) -> None:
    made = profile(nominated(node_name), "NodeResourcesFit")
    assert nominated_rows(made, pod(priority=priority)) == expected


def test_waiting_pods_must_not_be_needed() -> None:
    """A pod that waits for a node may end up elsewhere: to be near it is not enough."""
    database = pod("db", labels={"app": "db"}, priority=5)
    made = profile(nominated("a", database), "InterPodAffinity")
    assert feasible(made, pod(affinity=near("app=db")))[0] == set()
    made.cluster.assume(database, made.classify(database), 0)
    assert feasible(made, pod(affinity=near("app=db")))[0] == {"a"}


def test_filters_that_look_further_are_asked_too() -> None:
    what = cluster(
        [node("a", zone="x"), node("b", zone="x"), node("c", zone="y")], pod("w", node="a", labels={"k": "v"})
    )
    made = profile(what, "InterPodAffinity", refusing("R", {"c": NO}))
    assert feasible(made, pod(affinity=near("k=v", "zone")))[0] == {"a", "b"}
    assert feasible(made, pod(anti_affinity=near("k=v", "zone")))[0] == set()
    assert feasible(made, pod(anti_affinity=near("k=v", "node")))[0] == {"b"}


def test_a_restriction_confines() -> None:
    made = profile(
        cluster(NODES), pre_filtering("P", Restriction(frozenset({"b", "c", "gone"}))), refusing("R", {"c": NO})
    )
    answers = made.answers(made.classify(pod()))
    assert restricted_rows(made, answers).tolist() == [False, True, True]
    assert feasible(made, pod())[0] == {"b"}


# -- one node ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(cpu=2, priority=6), True, id="fits"),
        pytest.param(pod(cpu=3, priority=6), False, id="does not fit"),
        pytest.param(pod(cpu=1, priority=5), False, id="somebody waits for it"),
        pytest.param(WAITING, True, id="who waits for it"),
    ],
)
def test_fits_on_one_node(incoming: Pod, expected: bool) -> None:
    assert profile(nominated(), "NodeResourcesFit").fits_on(incoming, 0) is expected


def test_fits_on_one_node_whatever_a_pre_filter_says_of_others() -> None:
    made = profile(cluster(NODES), pre_filtering("P", Restriction(frozenset({"b"}))))
    assert made.fits_on(pod(), 0)
    assert not profile(cluster(NODES), pre_filtering("P", NO)).fits_on(pod(), 0)
