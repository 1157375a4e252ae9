"""What schedulers of a simulation take for usual: the pods of its workload, before the first has come."""

from pathlib import Path
from typing import Any

from fairway.cluster import TypicalPods
from fairway.experiments.openb_data import OpenbData
from fairway.model.device_need import GPU_MILLI
from fairway.record import NullRecorder
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.typical_workload import typical_of
from fairway.sim.simulation import Simulation
from fairway.testing import node, pod
from fairway.trace import Arrival, Workload
from fairway.trace.openb_lookalike import write_lookalike
from tests.plugins.gpu_world import gpu_node, gpu_pod


def shapes(typical: TypicalPods | None) -> Any:
    return None if typical is None else dict(zip(typical.shapes, typical.shares, strict=True))


def test_every_scheduler_knows_the_workload(tmp_path: Path) -> None:
    write_lookalike(tmp_path, seed=1, num_nodes=12, num_pods=80)
    data = OpenbData(tmp_path)
    plugins = {"multiPoint": {"enabled": [{"name": "GpuShare"}, {"name": "FGD"}]}}
    spec = {
        "cluster": {"openb": {"nodes": "openb_node_list_gpu_node.csv"}},
        "workload": {"openb": {"pods": "openb_pod_list_default.csv"}},
        "schedulers": [{"config": {"profiles": [{"plugins": plugins}]}}, {"name": "another"}],
    }
    document = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    plan = decode_scenario(document, str(tmp_path / "day.yaml")).plan()
    simulation = Simulation(plan, NullRecorder())
    expected = shapes(TypicalPods.of_pods(data.pods("default")))
    assert len(expected) > 3
    for each in simulation.schedulers:
        assert shapes(each.scheduler.cluster.typical_pods) == expected


def test_pods_of_the_start_count_and_wishes_without_sense_do_not() -> None:
    nonsense = pod("odd", annotations={GPU_MILLI: "many"})
    arrivals = [Arrival(1.0, gpu_pod("b", 500)), Arrival(2.0, gpu_pod("c", 500)), Arrival(3.0, nonsense)]
    workload = Workload(name="few", nodes=[gpu_node("n")], objects=[gpu_pod("a", count=1)], arrivals=arrivals)
    found = shapes(typical_of(workload, workload.nodes))
    assert {(shape.gpu_milli, shape.num_gpu): share for shape, share in found.items()} == {
        (500, 1): 2 / 3,
        (1000, 1): 1 / 3,
    }


def test_where_nobody_shares_gpus_there_is_nothing_typical() -> None:
    asked = Workload(name="asked", nodes=[node("n")], arrivals=[Arrival(1.0, gpu_pod("a", 500))])
    assert typical_of(asked, asked.nodes) is None
    unasked = Workload(name="unasked", nodes=[gpu_node("n")], arrivals=[Arrival(1.0, pod("a"))])
    assert typical_of(unasked, unasked.nodes) is None
