"""The judge finds guilty who is guilty: histories with one thing wrong each, and the same without it."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.judge import (
    MIB,
    SchedulerView,
    VolumeState,
    cache_differences,
    double_bindings,
    forgotten_pods,
    memory_growth,
    mended_differences,
    overcommitments,
    volume_violations,
)
from tests.chaos.pod_state import Amounts, Binding, PodState, Sighting, pod_state

OFFERED = {"n1": Amounts(1000, 1024, 3), "n2": Amounts(1000, 1024, 3)}


def pod(name: str = "p", node: str = "", cpu: int = 100, **fields: Any) -> PodState:
    values: dict[str, Any] = {
        "uid": f"uid-{name}",
        "key": f"ns/{name}",
        "node": node,
        "phase": "Pending",
        "is_leaving": False,
        "amounts": Amounts(cpu, 64, 1),
        "ports": frozenset(),
        "claims": (),
        "version": 1,
    }
    return PodState(**(values | fields))


def seen(*states: PodState, verb: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED") -> list[Sighting]:
    return [Sighting(verb, state) for state in states]


def gone(state: PodState) -> list[Sighting]:
    return seen(state, verb="DELETED")


# -- bound once --------------------------------------------------------------------------------------------------------


def test_one_binding_and_one_node_are_in_order() -> None:
    history = seen(pod(), pod(node="n1"), pod(node="n1", phase="Running")) + gone(pod(node="n1"))
    assert double_bindings(history, [Binding("ns/p", "uid-p", "n1")]) == []


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    again = pod(node="n2", uid="uid-again")
    history = seen(pod(node="n1")) + gone(pod(node="n1")) + seen(again)
    assert double_bindings(history, [Binding("ns/p", "uid-p", "n1"), Binding("ns/p", "uid-again", "n2")]) == []


@pytest.mark.parametrize(
    ("history", "bindings", "words"),
    [
        (seen(pod(node="n1"), pod(node="n2")), [], "pod ns/p moved from n1 to n2"),
        (seen(pod(node="n1"), pod()), [], "pod ns/p moved from n1 to no node"),
        ([], [Binding("ns/p", "uid-p", "n1")] * 2, "ns/p (uid-p) was bound more than once"),
        (seen(pod(node="n1")), [Binding("ns/p", "uid-p", "n2")], "was to be bound to n2 and is on n1"),
        ([], [Binding("ns/p", "", "n1")], "bound without its uid"),
    ],
    ids=["moved", "lost its node", "two bindings", "another node", "no uid"],
)
def test_a_double_binding_is_found(history: list[Sighting], bindings: list[Binding], words: str) -> None:
    (violation,) = double_bindings(history, bindings)
    assert words in violation


# -- within room -------------------------------------------------------------------------------------------------------


def test_full_is_not_too_full() -> None:
    history = seen(pod("a", "n1", 500), pod("b", "n1", 500), pod("c", "n2", 1000))
    assert overcommitments(history, OFFERED) == []


def test_room_is_free_again_once_a_pod_is_gone_or_done() -> None:
    done = pod("b", "n1", 1000, phase="Succeeded")
    history = seen(pod("a", "n1", 1000)) + gone(pod("a", "n1", 1000)) + seen(pod("b", "n1", 1000), done)
    assert overcommitments(history + seen(pod("c", "n1", 1000)), OFFERED) == []


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (seen(pod("a", "n1", 600), pod("b", "n1", 500)), "pod ns/b overfills n1"),
        (seen(pod("a", "n1", amounts=Amounts(1, 1025, 1))), "pod ns/a overfills n1"),
        (seen(*(pod(name, "n1", 1) for name in "abcd")), "pod ns/d overfills n1"),
        (seen(pod("a", "n1", 1000), pod("b", "n1", 1)) + gone(pod("a", "n1", 1000)), "pod ns/b overfills n1"),
        (seen(*(pod(name, "n1", 1, ports=frozenset({80})) for name in "ab")), "ns/b gets port 80 of n1"),
        (seen(pod("a", "n9")), "a node that never was"),
    ],
    ids=["cpu", "memory", "pods", "only for a while", "port", "node"],
)
def test_a_node_with_too_much_is_found(history: list[Sighting], words: str) -> None:
    (violation,) = overcommitments(history, OFFERED)
    assert words in violation


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["bind", "go"]), st.integers(1, 700))))
def test_overcommitment_is_what_a_naive_sum_says(deeds: list[tuple[str, str, int]]) -> None:
    history: list[Sighting] = []
    there: dict[str, PodState] = {}
    is_over = False
    for name, deed, cpu in deeds:
        if deed == "bind" and name not in there:
            there[name] = pod(name, "n1", cpu)
            history += seen(there[name])
            amounts = [state.amounts for state in there.values()]
            is_over |= sum(each.cpu for each in amounts) > 1000 or len(amounts) > 3
        elif deed == "go" and name in there:
            history += gone(there.pop(name))
    assert bool(overcommitments(history, OFFERED)) is is_over


def test_volumes_out_of_reach_and_too_many_are_found() -> None:
    volumes = [VolumeState(f"pv-{name}", f"ns/{name}", frozenset({"n1"})) for name in "abc"]
    pods = [pod(name, "n1", claims=(f"ns/{name}",)) for name in "abc"]
    assert volume_violations(pods, volumes, {"n1": 3}) == []
    assert volume_violations(pods, volumes, {"n1": 2}) == ["n1 has 3 volumes and can attach 2"]
    (violation,) = volume_violations([pod("a", "n2", claims=("ns/a",))], volumes, {})
    assert violation == "pod ns/a on n2 cannot reach volume pv-a"


# -- nobody forgotten, the cache, memory -------------------------------------------------------------------------------


def test_who_is_placed_by_a_fresh_scheduler_was_forgotten() -> None:
    before = [pod("a"), pod("b"), pod("c", "n1"), pod("d", is_leaving=True)]
    after = [pod("a"), pod("b", "n2"), pod("c", "n1"), pod("new", "n1")]
    assert forgotten_pods(before, after) == ["pod ns/b waited, and a fresh scheduler placed it on n2"]


VIEW = SchedulerView(2, 1, 0, 1, {"ns/a": "n1", "ns/b": ""})
PODS = [pod("a", "n1"), pod("b"), pod("c", "n1", phase="Succeeded")]


def test_a_cache_like_the_api_is_in_order() -> None:
    assert cache_differences(VIEW, PODS, 2) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_placed": 2}, "2 pods on nodes are known, 1 are there"),
        ({"num_assumed": 1}, "1 assumed pods are known, 0 are there"),
        ({"num_waiting": 0}, "0 waiting pods are known, 1 are there"),
        ({"num_nodes": 3}, "3 nodes are known, 2 are there"),
        ({"pods": {"ns/a": "n2", "ns/b": ""}}, "pod ns/a: known on n2, really on n1"),
        ({"pods": {"ns/a": "n1"}}, "pod ns/b: known not there, really waiting"),
        ({"pods": {**VIEW.pods, "ns/ghost": "n1"}}, "pod ns/ghost: known on n1, really not there"),
    ],
    ids=["a ghost", "assumed for ever", "not in the queue", "a node", "elsewhere", "unknown", "a ghost by name"],
)
def test_a_cache_that_differs_is_found(changes: dict[str, Any], words: str) -> None:
    assert cache_differences(VIEW._replace(**changes), PODS, 2) == [words]


def test_what_a_scheduler_had_to_mend_is_found() -> None:
    name = 'fairway_cache_differences_total{difference="pod unknown"}'
    assert mended_differences({name: 0.0, "fairway_cache_comparisons_total": 3.0}) == []
    assert mended_differences({name: 2.0}) == [f"the scheduler has found its cache wrong: {name} is 2"]


def test_memory_that_grows_is_found() -> None:
    assert memory_growth([100 * MIB]) == []
    assert memory_growth([100 * MIB, 90 * MIB, 114 * MIB]) == []
    assert memory_growth([100 * MIB, 120 * MIB, 140 * MIB]) == ["memory grew with every round: 100, 120, 140 MiB"]


# -- reading -----------------------------------------------------------------------------------------------------------


def test_a_pod_is_read() -> None:
    requests = {"cpu": "150m", "memory": "1Gi"}
    container = {"name": "c", "resources": {"requests": requests}, "ports": [{"hostPort": 80}, {"containerPort": 1}]}
    item = {
        "metadata": {"uid": "u", "namespace": "ns", "name": "p", "resourceVersion": "7"},
        "spec": {
            "nodeName": "n1",
            "containers": [container, {"name": "d"}],
            "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}, {"emptyDir": {}}],
        },
        "status": {"phase": "Running"},
    }
    assert pod_state(item) == PodState(
        "u", "ns/p", "n1", "Running", False, Amounts(150, 1024, 1), frozenset({80}), ("ns/data",), 7
    )
    requests["memory"] = "1e3"
    with pytest.raises(ValueError, match="'1e3' is a memory quantity"):
        pod_state(item)
