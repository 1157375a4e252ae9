"""Small simulations, and a diary of what happened in them.

In: nodes, arrivals, and whatever else a `Plan` takes. Out: the simulation after its end, and its `Diary`, from which
tests read when which pod was bound, started and ended, was tried, and moved in the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairway.config import Configuration, decode_configuration
from fairway.cycle import Decision
from fairway.model import Node, Pod
from fairway.plugins.registry import REGISTRY
from fairway.queue import Place
from fairway.record import NullRecorder, Scored
from fairway.record.vocabulary import PodEnd
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Plan, SchedulerPlan, Simulation
from fairway.testing import pod
from fairway.trace.workload import Arrival


class Diary(NullRecorder):
    """Keeps what happened, as (time, what, pod); attempts, moves and events on pages of their own."""

    is_recording = True

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[float, str, str]] = []
        self.attempts: list[tuple[float, str, str]] = []  # time, pod, outcome
        self.moves: list[tuple[float, str, str, str]] = []  # time, pod, place, event
        self.events: list[tuple[float, str, str, str]] = []  # time, subject, reason, message

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        self.attempts.append((t, decision.pod.metadata.name, decision.outcome.name))

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        self.moves.append((t, _name(uid), "" if place is None else place.name, event))

    def event(self, t: float, kind: str, subject: str, reason: str, message: str) -> None:
        self.events.append((t, subject, reason, message))

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        self.lines.append((t, f"bound to {node}", _name(uid)))

    def started(self, t: float, uid: str) -> None:
        self.lines.append((t, "started", _name(uid)))

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        self.lines.append((t, reason.value, _name(uid)))

    def tried(self, name: str) -> list[float]:
        """When a scheduler tried the pod."""
        return [time for time, who, _ in self.attempts if who == name]

    def of(self, name: str) -> list[tuple[float, str]]:
        return [(time, what) for time, what, who in self.lines if who == name]


def _name(uid: str) -> str:
    return uid.rsplit("/", 1)[-1]


def configuration(name: str = "default-scheduler", *plugins: str) -> Configuration:
    """kube-scheduler's defaults and these plugins, with every node looked at."""
    enabled = {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}
    profile = {"schedulerName": name, "fairway": {"sampling": "all"}, "plugins": enabled}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    return decode_configuration(config, "test", REGISTRY)


def simulate(
    nodes: Sequence[Node],
    arrivals: Iterable[tuple[float, Any]],
    schedulers: Sequence[SchedulerPlan] = (),
    objects: Sequence[Any] = (),
    **rest: Any,
) -> tuple[Simulation, Diary]:
    """Run it: pods start within a second, and end two seconds after they are asked to."""
    diary = Diary()
    plan = Plan(
        nodes,
        objects,
        [Arrival(time, thing) for time, thing in arrivals],
        schedulers or [SchedulerPlan("default-scheduler", configuration())],
        kubelet=KubeletSettings(start_latency=1, termination_latency=2),
        **rest,
    )
    simulation = Simulation(plan, diary)
    simulation.run()
    return simulation, diary


def lasting(name: str, seconds: float, **spec: Any) -> Pod:
    """A pod that runs for so long."""
    return pod(name, annotations={"fairway.dev/duration": str(seconds), **spec.pop("annotations", {})}, **spec)
