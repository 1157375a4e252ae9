"""Runs with jobs for tests: small simulations that are recorded, in any mode and spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairway.batch.settings import BatchSettings
from fairway.config import Configuration, decode_configuration
from fairway.model import Node
from fairway.plugins.registry import REGISTRY
from fairway.record import RecordOptions, Run, RunWriter
from fairway.record.schedulers import recorded_scheduler
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.trace.workload import Arrival

NAME = "default-scheduler"


def configuration(mode: str = "kube", **gangs: Any) -> Configuration:
    profile = {"schedulerName": NAME, "fairway": {"sampling": "all", "gangs": {"mode": mode, **gangs}}}
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return decode_configuration(tree, "test", REGISTRY)


def recorded(
    path: Path,
    nodes: Sequence[Node],
    arrivals: Iterable[tuple[float, Any]],
    objects: Sequence[Any] = (),
    *,
    config: Configuration | None = None,
    settings: SchedulerSettings | None = None,
    end: float = 100.0,
    anonymous: bool = False,
    batch: BatchSettings | None = None,
) -> Run:
    """Simulate it, and open what was recorded."""
    config = config or configuration()
    settings = settings or SchedulerSettings()
    plan = Plan(
        nodes,
        objects,
        [Arrival(time, thing) for time, thing in arrivals],
        [SchedulerPlan(NAME, config, settings, batch=batch)],
        kubelet=KubeletSettings(start_latency=1, termination_latency=2),
        end=end,
    )
    options = RecordOptions()
    known = recorded_scheduler(
        NAME,
        config,
        REGISTRY,
        decision_latency=settings.decision_latency,
        view_delay=settings.view_delay,
        bind_latency=settings.bind_latency,
    )
    with RunWriter(
        path, scenario={"name": "test"}, seed=0, schedulers=[known], options=options, anonymous=anonymous
    ) as writer:
        Simulation(plan, writer, options).run()
    return Run.open(path)
