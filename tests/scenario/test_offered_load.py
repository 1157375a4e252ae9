"""What a workload asks of the GPUs in time, and how to make it more."""

from pathlib import Path

import pytest

from fairway.model import DecodeError
from fairway.scenario.offered_load import load_note, num_gpus, offered_load, scaled_to, smaller
from fairway.scenario.scenario import decode_scenario
from fairway.trace import Workload, read_openb
from fairway.trace.openb_lookalike import write_lookalike

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,8,G2\nn1,64000,262144,2,T4\n"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""{HEADER}
p0,1000,1024,1,500,,LS,Running,0,100,0
p1,1000,1024,1,1000,,LS,Failed,50,150,50
p2,1000,1024,0,0,,LS,Running,60,1000,60
p3,1000,1024,2,1000,,LS,Running,100,200,100
"""


@pytest.fixture
def trace(tmp_path: Path) -> Workload:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    return read_openb(tmp_path / "nodes.csv", tmp_path / "pods.csv")


def test_peak_and_mean(trace: Workload) -> None:
    load = offered_load(trace.nodes, trace.arrivals)
    assert load.gpus == 10
    assert load.peak == 3.0  # p1 and p3; p0 has just ended
    assert load.mean() == pytest.approx((100 * 0.5 + 50 * 1) / 100)


def test_a_workload_that_hardly_touches_the_cluster_is_told(trace: Workload) -> None:
    assert load_note(trace.nodes, trace.arrivals) is None
    first = trace.limited(1)
    note = load_note(trace.nodes, first.arrivals)
    assert note is not None
    assert "never ask for more than 0.5 of the 10 GPUs at once (5.0%)" in note


@pytest.mark.parametrize("share", [0.02, 0.05, 0.08])
def test_load_is_scaled(trace: Workload, share: float) -> None:
    scaled = scaled_to(trace, trace.nodes, share)
    assert offered_load(trace.nodes, scaled.arrivals).mean() == pytest.approx(share * 10, rel=1e-3)


def test_loads_that_cannot_be_reached(trace: Workload) -> None:
    with pytest.raises(DecodeError, match=r"5 cannot be reached: the pods ask for 0.1 of the GPUs at most"):
        scaled_to(trace, trace.nodes, 5)
    with pytest.raises(DecodeError, match="no node with GPUs"):
        scaled_to(trace, [], 0.5)


def test_a_smaller_cluster_has_every_kind_of_node(tmp_path: Path) -> None:
    write_lookalike(tmp_path, num_nodes=100)
    nodes = read_openb(tmp_path / "openb_node_list_gpu_node.csv").nodes
    part = smaller(nodes, 0.25)
    label = "alibabacloud.com/gpu-card-model"
    assert {node.metadata.labels[label] for node in part} == {node.metadata.labels[label] for node in nodes}
    assert num_gpus(part) == pytest.approx(num_gpus(nodes) / 4, rel=0.1)
    assert smaller(nodes, 1.0) == nodes


def test_scenarios_tell_and_scale(tmp_path: Path) -> None:
    write_lookalike(tmp_path, num_nodes=100)

    def made(**openb: object) -> Workload:
        cluster = {"openb": {"nodes": "openb_node_list_gpu_node.csv", "share": 0.5}}
        workload = {"openb": {"pods": "openb_pod_list_default.csv", **openb}}
        file = {
            "apiVersion": "fairway.dev/v1alpha1",
            "kind": "Scenario",
            "spec": {"cluster": cluster, "workload": workload},
        }
        return decode_scenario(file, str(tmp_path / "scenario.yaml")).workload()

    (note,) = made().notes
    assert "policies will hardly differ" in note
    loaded = made(load=0.5)
    assert loaded.notes == []
    load = offered_load(loaded.nodes, loaded.arrivals)
    assert load.mean() == pytest.approx(load.gpus / 2, rel=1e-3)
    assert made(times="order").notes == []
