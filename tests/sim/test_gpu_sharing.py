"""Devices in a simulation: written on the pod with its node, kept by the recorder, free again when the pod ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairway.config import Configuration, decode_configuration
from fairway.model.device_need import GPU_INDEX, GPU_MILLI
from fairway.plugins.registry import REGISTRY
from fairway.record import Run, RunWriter
from fairway.record.snapshot import pods_at
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.trace.workload import Arrival
from tests.plugins.gpu_world import gpu_node, gpu_pod
from tests.sim.diary import lasting, simulate


def sharing(choice: str) -> Configuration:
    """The default plugins, and devices to share."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "GpuShare"}]}},
                "pluginConfig": [{"name": "GpuShare", "args": {"deviceChoice": choice}}],
            }
        ],
    }
    return decode_configuration(config, "test", REGISTRY)


def share(name: str, milli: int, seconds: float | None = None) -> Any:
    if seconds is None:
        return gpu_pod(name, milli)
    return lasting(name, seconds, annotations={GPU_MILLI: str(milli)})


def test_devices_are_written_on_pods_and_given_back_when_they_end() -> None:
    arrivals = [
        (0, share("a", 600, 100)),
        (1, share("b", 600, 200)),
        (2, share("c", 500, 50)),
        (3, gpu_pod("d", count=1)),
    ]
    schedulers = [SchedulerPlan("default-scheduler", sharing("best"))]
    simulation, diary = simulate([gpu_node("n", 2)], arrivals, schedulers)
    assert [time for time, what in diary.of("c") if what == "bound to n"] == [101]  # when `a` has left its device
    assert [time for time, what in diary.of("d") if what == "bound to n"] == [152]  # when nobody is left on it
    found = simulation.api.find("Pod", "default", "d")
    assert found is not None
    assert found.metadata.annotations[GPU_INDEX] == "0"


def test_the_recorder_keeps_the_devices(tmp_path: Path) -> None:
    pods = [share("a", 300), share("b", 300), gpu_pod("c", count=2)]
    plan = Plan(
        [gpu_node("n", 4)],
        (),
        [Arrival(float(number), one) for number, one in enumerate(pods)],
        [SchedulerPlan("default-scheduler", sharing("worst"))],
        kubelet=KubeletSettings(start_latency=1),
    )
    path = tmp_path / "run.duckdb"
    with RunWriter(path, scenario={}, seed=0) as writer:
        Simulation(plan, writer).run()
    with Run.open(path) as run:
        assert {row["pod"]: row["gpu_index"] for row in run.pods.rows()} == {
            "default/a": "0",
            "default/b": "1",
            "default/c": "2-3",
        }
        assert {one.metadata.name: one.metadata.annotations.get(GPU_INDEX) for one in pods_at(run, 1.5)} == {
            "a": "0",
            "b": "1",
        }
