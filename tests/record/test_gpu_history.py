"""GPU devices of a recorded run: what was allocated, what was stranded, and why."""

from pathlib import Path

import numpy as np
import pytest

from fairway.cluster import Cause, Cluster, TypicalPods
from fairway.record import Run
from fairway.record.gpu_history import GpuHistory, gpu_history
from fairway.record.metric_definitions import DEFINITIONS, definition_of
from fairway.record.snapshot import nodes_at, pods_at
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.trace.openb_lookalike import write_lookalike

CONFIG = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "GpuShare"}, {"name": "FGD"}]},
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "FGD"}]},
            }
        }
    ]
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("gpu")
    write_lookalike(folder, num_nodes=6, num_pods=60)
    spec = {
        "cluster": {"openb": {"nodes": "openb_node_list_gpu_node.csv"}},
        "workload": {"openb": {"pods": "openb_pod_list_gpuspec33.csv", "load": 0.6}},
        "schedulers": [{"config": CONFIG}],
        "faults": [{"at": "10m", "node": "openb-node-0001", "action": "remove", "for": "10m"}],
    }
    file = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    scenario = decode_scenario(file, str(folder / "scenario.yaml"))
    return simulate(scenario, record=folder / "run.duckdb").open()


@pytest.fixture(scope="module")
def history(run: Run) -> GpuHistory:
    found = gpu_history(run)
    assert found is not None
    return found


def at(curve_times: np.ndarray, values: np.ndarray, moment: float) -> float:
    return float(values[np.searchsorted(curve_times, moment, "right") - 1])


@pytest.mark.parametrize("minute", [1, 5, 9, 12, 19, 30])
def test_any_moment_is_as_the_cluster_was(run: Run, history: GpuHistory, minute: int) -> None:
    """The engine itself, loaded with who was there then, measures the same."""
    moment = minute * 60.0 + 0.5
    cluster = Cluster()
    cluster.load([*nodes_at(run, moment), *(pod for pod in pods_at(run, moment) if pod.spec.node_name)])
    times = np.unique(run.pods.numpy("created_seconds")["created_seconds"])
    everybody = [pod for time in times for pod in pods_at(run, time)]
    typical = TypicalPods.of_pods({pod.metadata.uid: pod for pod in everybody}.values())
    measured = cluster.fragmentation(typical)
    idle, lost = history.curve(history.idle), history.curve(history.fragmented)
    assert at(idle.times, idle.values, moment) == pytest.approx(cluster.devices.left.sum() / 1000)
    assert at(lost.times, lost.values, moment) == pytest.approx(measured.total / 1000)


def test_causes_add_up(history: GpuHistory) -> None:
    assert history.by_cause.sum(axis=1) == pytest.approx(history.idle)
    assert (history.by_cause >= -1e-9).all()
    assert history.by_cause[:, Cause.NO_ACCESS].any()
    assert (history.end > history.begin).all()


def test_metrics(run: Run, history: GpuHistory) -> None:
    found = history.metrics()
    assert found is not None
    assert 0 < found.allocated < found.allocated_peak <= 1
    assert found.fragmentation_ratio == pytest.approx(found.fragmentation_rate / (1 - found.allocated))
    assert sum(found.idle.values()) == pytest.approx(1 - found.allocated)
    flat = run.metrics().flat()
    assert flat["gpu_allocated"] == pytest.approx(found.allocated)
    assert flat["gpu_idle_lacks_cpu"] == pytest.approx(found.idle["lacks_cpu"])
    defined = {definition for name in flat if (definition := definition_of(name)) and name.startswith("gpu_")}
    assert defined == {each for each in DEFINITIONS if each.name.startswith("gpu_")}


def test_by_node(history: GpuHistory) -> None:
    nodes = history.by_node()
    assert all(0 <= lost <= idle + 1e-9 for idle, lost in nodes.values())
    assert "openb-node-0001" in nodes


def test_runs_without_devices_have_no_such_metrics(tmp_path: Path) -> None:
    spec = {"cluster": {"nodes": [{"count": 2, "cpu": 4, "memory": "8Gi"}]}, "workload": []}
    scenario = decode_scenario({"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}, "none")
    with simulate(scenario, record=tmp_path / "run.duckdb").open() as empty:
        assert gpu_history(empty) is None
        assert not any(name.startswith("gpu_") for name in empty.metrics().flat())
