from typing import Any

import numpy as np
import pytest

from fairway.model import Node, ObjectMeta
from fairway.scenario.scenario import Scenario, ScenarioError, decode_scenario
from fairway.scenario.scenario_file import API_VERSION, KIND
from fairway.sim.simulation import Fault


def node(name: str, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=labels))


NODES = [node("a-1", zone="x"), node("a-2", zone="y"), node("b-1", zone="x")]


def scenario(**spec: Any) -> Scenario:
    return decode_scenario({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, "s.yaml")


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        pytest.param({"node": "a-1"}, ["a-1"], id="name"),
        pytest.param({"node": "a-*"}, ["a-1", "a-2"], id="pattern"),
        pytest.param({"labels": {"zone": "x"}}, ["a-1", "b-1"], id="labels"),
        pytest.param({"node": "a-?", "labels": {"zone": "x"}}, ["a-1"], id="both"),
    ],
)
def test_faults_concern_the_nodes_they_name(fault: dict[str, Any], names: list[str]) -> None:
    drawn = scenario(faults=[{"at": "1h", "action": "drain", "for": "10m", **fault}]).faults(NODES)
    assert drawn == [Fault(3600.0, name, "drain", 600.0) for name in names]


def test_faults_come_in_order_of_time_and_otherwise_as_written() -> None:
    faults = [
        {"at": 20, "node": "a-1", "action": "uncordon"},
        {"at": 10, "node": "b-1", "action": "lose"},
        {"at": 10, "node": "a-1", "action": "cordon"},
    ]
    assert scenario(faults=faults).faults(NODES) == [
        Fault(10.0, "b-1", "lose"),
        Fault(10.0, "a-1", "cordon"),
        Fault(20.0, "a-1", "uncordon"),
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"faults": [{"at": 1, "action": "lose", "node": "c-*"}]},
            's.yaml: spec.faults[0].node: no node is called "c-*"; there are 3, such as a-1, a-2, b-1',
            id="name",
        ),
        pytest.param(
            {"faults": [{"at": 1, "action": "lose", "labels": {"zone": "z"}}]},
            "s.yaml: spec.faults[0].labels: no node has the labels zone=z",
            id="labels",
        ),
        pytest.param(
            {"randomFaults": [{"mtbf": "1h", "mttr": 60, "until": "1h", "node": "b-*", "labels": {"zone": "y"}}]},
            "s.yaml: spec.randomFaults[0].labels: no node of that name has the labels zone=y",
            id="both",
        ),
    ],
)
def test_faults_that_concern_no_node_are_errors(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(**spec).faults(NODES)
    assert str(caught.value) == message


MANY = [node(f"n-{number}") for number in range(2000)]


def test_random_faults_have_the_means_they_should() -> None:
    made = scenario(seed=1, end="1000h", randomFaults=[{"mtbf": "100h", "mttr": "10h"}])
    drawn = made.faults(MANY)
    assert len(drawn) == pytest.approx(2000 * 1000 / 110, rel=0.03)
    assert np.mean([fault.seconds for fault in drawn if fault.seconds is not None]) == pytest.approx(36000, rel=0.03)
    assert [fault.at for fault in drawn] == sorted(fault.at for fault in drawn)
    assert drawn[-1].at < 3_600_000


def test_a_node_fails_again_only_after_it_was_back() -> None:
    drawn = scenario(end="100h", randomFaults=[{"mtbf": "1h", "mttr": "5h"}]).faults(MANY[:5])
    back = dict.fromkeys((fault.node for fault in drawn), 0.0)
    assert len(drawn) > 50
    for fault in drawn:
        assert fault.seconds is not None
        assert fault.at > back[fault.node]
        back[fault.node] = fault.at + fault.seconds


def test_random_faults_follow_from_the_seed_and_each_node_has_its_own() -> None:
    def drawn(seed: int, nodes: list[Node]) -> list[Fault]:
        return scenario(seed=seed, end="100h", randomFaults=[{"mtbf": "10h", "mttr": "1h"}]).faults(nodes)

    assert drawn(1, MANY[:9]) == drawn(1, MANY[:9])
    assert drawn(1, MANY[:9]) != drawn(2, MANY[:9])
    fewer = [fault for fault in drawn(1, MANY[:9]) if fault.node != "n-3"]
    assert fewer == drawn(1, MANY[:3] + MANY[4:9])
    times = {fault.node: fault.at for fault in reversed(drawn(1, MANY[:9]))}
    assert len(set(times.values())) == len(times) == 9
