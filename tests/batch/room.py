"""Nodes, queues and jobs that come, in a small simulation: for tests of the desk and what it looks after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairway.batch.job import BatchJob
from fairway.batch.settings import BatchSettings
from fairway.config import Configuration, decode_configuration, default_configuration
from fairway.model import Pod
from fairway.model.batch import QueueLimits, QueueSpec, WeightSpec
from fairway.model.duration import Duration
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from fairway.trace.workload import Arrival

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)


def job(name: str, cpu: int = 1, run: float = 10.0, limit: float | None = 10.0, queue: str = "q", **said: str) -> Pod:
    annotations = {"fairway.dev/duration": str(run)} | {
        f"fairway.dev/{key.replace('_', '-')}": said[key] for key in said
    }
    if limit is not None:
        annotations["fairway.dev/time-limit"] = str(limit)
    return pod(name, cpu=cpu, labels={"fairway.dev/queue": queue}, annotations=annotations)


def _configuration(own: dict[str, Any]) -> Configuration:
    if not own:
        return default_configuration(REGISTRY)
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return decode_configuration({**kind, "profiles": [{"fairway": own}]}, "test", REGISTRY)


class Diary(NullRecorder):
    """Keeps events."""

    def __init__(self, told: list[tuple[float, str, str, str]]) -> None:
        super().__init__()
        self._told = told

    def event(self, t: float, kind: str, name: str, reason: str, message: str) -> None:
        self._told.append((t, name, reason, message))


class Room:
    """Nodes, a queue or several, and jobs that come."""

    def __init__(self, arrivals: Sequence[tuple[float, Any]], cpus: tuple[int, ...] = (4,), **settings: Any) -> None:
        queues = settings.pop("queues", {"q": {}})
        objects, faults = settings.pop("objects", ()), settings.pop("faults", ())
        latency, orders = settings.pop("latency", 0.0), settings.pop("orders", ())
        racks = settings.pop("racks", ())  # of each node, by its number
        recorder = settings.pop("recorder", None)
        own = settings.pop("own", {})  # of the profile, beside what it has by default
        limits = QueueLimits(max=Duration(1000), kill_grace=Duration(0))
        made = {
            name: QueueSpec(**{"weights": PLAIN, "limits": limits, **spec}).completed() for name, spec in queues.items()
        }
        batch = BatchSettings(made, **settings)
        scheduler = SchedulerPlan("default-scheduler", _configuration(own), batch=batch)
        labels = [{"rack": rack} for rack in racks] or [{}] * len(cpus)
        nodes = [node(f"n{number}", cpu=cpu, labels=labels[number]) for number, cpu in enumerate(cpus)]
        times = KubeletSettings(start_latency=latency, termination_latency=latency)
        came = [Arrival(time, each) for time, each in arrivals]
        plan = Plan(nodes, objects, came, [scheduler], faults=faults, kubelet=times, orders=orders)
        self.told: list[tuple[float, str, str, str]] = []  # events: when, about what, the reason, the words
        self.simulation = Simulation(plan, Diary(self.told) if recorder is None else recorder)
        sim = self.simulation.schedulers[0].queues
        assert sim is not None
        self.desk = sim.desk
        self.starts: dict[str, float] = {}
        self.simulation.api.watch(self._watch)

    def _watch(self, event: Any) -> None:
        if isinstance(event.object, Pod) and event.object.spec.node_name:
            self.starts.setdefault(event.object.metadata.name, self.simulation.timeline.now())

    def until(self, time: float) -> None:
        self.simulation.timeline.run(time)

    def find(self, name: str) -> BatchJob:
        found = self.desk.book.find(f"default/{name}")
        assert found is not None
        return found
