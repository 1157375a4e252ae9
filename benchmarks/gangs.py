"""What it costs to start pods together: one attempt for a job of mode `fairway` on 5,000 nodes, and what others pay.

Each figure is the median of several attempts in one process, in CPU time; a target is what we want, a floor what fails
the run on a busy machine. `gangs-of-16` and `lone-pods` are ratios, of the scheduler's speed with whole gangs against
the same pods alone, and with `gangs: {}` against without for pods that are in none; both are given the pods in turn, so
that whatever else the machine does happens to both, and of several rounds the best counts. `day` is a scenario.

    $ python benchmarks/gangs.py [NAME...]
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fairway.bench.workloads import make_workload
from fairway.cluster import Cluster, Event, Verb
from fairway.config import decode_configuration
from fairway.config.gangs import Gangs, complete_gangs
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.job_cycle import decide_job
from fairway.model import Pod, decode_object
from fairway.model.group import GroupSpec
from fairway.plugins.registry import REGISTRY
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate
from fairway.scheduler import Scheduler
from fairway.testing.builders import node, pod
from fairway.testing.group_builders import member, members, pod_group
from fairway.world import GroupBinding

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{}]}
NUM_NODES = 5000
RACK = "example.com/rack"
DAY = Path(__file__).parents[1] / "examples" / "scenarios" / "gangs" / "day.yaml"
SLACK = 2.0
"""How far over its target a time may be before the run fails: the machine may be doing other things."""


class Figure(NamedTuple):
    """What was measured, and what we want."""

    value: float
    target: float
    unit: str  # "ms" or "s": at most the target; "": a ratio, at least the target

    @property
    def is_far_off(self) -> bool:
        """Is it worse than a busy machine explains?"""
        return self.value > SLACK * self.target if self.unit else self.value < self.target - 0.1


def main(names: Sequence[str]) -> int:
    """Print a line for each; 1 if one is far off."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or BENCHMARKS:
        figure = BENCHMARKS[name]()
        failed += figure.is_far_off
        mark = "  far off" if figure.is_far_off else ""
        bound = "at most" if figure.unit else "at least"
        print(f"{name:<18} {figure.value:8.2f} {figure.unit:<3} ({bound} {figure.target:g}){mark}", flush=True)
    gc.unfreeze()
    return int(failed > 0)


# -- clusters ----------------------------------------------------------------------------------------------------------


def _nodes(num_racks: int = 250, **settings: Any) -> Iterable[Any]:
    for number in range(NUM_NODES):
        labels = {RACK: f"r{number % num_racks:03}"}
        yield node(f"node-{number:04}", cpu=32, memory="128Gi", zone=f"z{number % 3}", labels=labels, **settings)


def _profile(objects: Iterable[Any], gangs: Gangs | None) -> Profile:
    config = decode_configuration(HEADER, "benchmark", REGISTRY).profiles[0]
    cluster = Cluster()
    profile = Profile(
        replace(config, gangs=None if gangs is None else complete_gangs(gangs)), cluster, sampling="all", seed=1
    )
    cluster.load(list(objects))
    gc.freeze()  # as in a process that runs for long
    return profile


def _attempt(profile: Profile, pods: Sequence[Pod]) -> GroupDecision:
    groups = profile.cluster.groups
    group = groups.of(pods[0].metadata.uid)
    assert group is not None
    spec = groups.spec_of(group)
    assert isinstance(spec, GroupSpec)
    return decide_job(profile, group, spec, pods)


def _milliseconds(profile: Profile, pods: Sequence[Pod], expected: GroupOutcome, num_runs: int = 15) -> float:
    for each in pods:
        profile.cluster.groups.observe(each)
    seconds = []
    for _ in range(num_runs):
        begun = process_time()
        decision = _attempt(profile, pods)
        seconds.append(process_time() - begun)
        assert decision.outcome is expected, decision.message
    return float(np.median(seconds)) * 1000


# -- attempts ----------------------------------------------------------------------------------------------------------


def _equal(number: int, target: float) -> Figure:
    profile = _profile([*_nodes(), pod_group("train", number)], Gangs())
    return Figure(_milliseconds(profile, members(number, cpu=4), GroupOutcome.SCHEDULED), target, "ms")


def _quick_no() -> Figure:
    full = [pod(f"p{number}", node=f"node-{number:04}", cpu=30) for number in range(NUM_NODES)]
    profile = _profile([*_nodes(), *full, pod_group("train", 64)], Gangs())
    return Figure(_milliseconds(profile, members(64, cpu=4), GroupOutcome.UNSCHEDULABLE), 1, "ms")


def _backtracks() -> Figure:
    """By amounts there is room for all; but the ports that half of them want are free on too few nodes."""
    busy = [pod(f"p{number}", node=f"node-{number:04}", cpu=30) for number in range(28, NUM_NODES)]
    profile = _profile([*_nodes(), *busy, pod_group("train", 64)], Gangs())
    wishes: list[dict[str, Any]] = [
        {"cpu": 10, "ports": 80},
        {"cpu": 9, "ports": 81},
        {"cpu": 8, "ports": (80, 81)},
        {"cpu": 6},
    ]
    pods = [member(f"train-{number}", **wishes[number % len(wishes)]) for number in range(64)]
    return Figure(_milliseconds(profile, pods, GroupOutcome.UNSCHEDULABLE), 60, "ms")


def _topology() -> Figure:
    profile = _profile([*_nodes(), pod_group("train", 64, topology=RACK)], Gangs())
    return Figure(_milliseconds(profile, members(64, cpu=4), GroupOutcome.SCHEDULED), 25, "ms")


def _preemption() -> Figure:
    """Every node has one less important pod, and the job needs 64 of them."""
    full = [pod(f"p{number}", node=f"node-{number:04}", cpu=30) for number in range(NUM_NODES)]
    profile = _profile([*_nodes(), *full, pod_group("train", 64)], Gangs())
    pods = members(64, cpu=20, priority=100)
    return Figure(_milliseconds(profile, pods, GroupOutcome.PREEMPTING, 5), 400, "ms")


# -- against the same pods alone ---------------------------------------------------------------------------------------


class _Nowhere:
    """A world in which every binding succeeds, and nobody listens."""

    def __init__(self) -> None:
        self.scheduler: Scheduler

    def now(self) -> float:
        return 0.0

    def bind(self, pod: Pod, node: str, before: object) -> None:
        bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))
        self.scheduler.observe(Event(Verb.MODIFIED, bound))

    def bind_group(self, bindings: Sequence[GroupBinding]) -> None:
        for binding in bindings:
            self.bind(*binding)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def _scheduler(objects: Iterable[Any], gangs: dict[str, Any] | None) -> Scheduler:
    """With `gangs: {}`, or, for None, without a word of gangs."""
    fairway: dict[str, Any] = {"sampling": "all"} if gangs is None else {"sampling": "all", "gangs": gangs}
    world: Any = _Nowhere()
    made = Scheduler(decode_configuration({**HEADER, "profiles": [{"fairway": fairway}]}, "benchmark", REGISTRY), world)
    world.scheduler = made
    for thing in objects:
        made.observe(Event(Verb.ADDED, thing))
    gc.freeze()
    return made


def _seconds(scheduler: Scheduler, pods: Sequence[Pod]) -> float:
    """How long it takes from the pods' coming to their being bound."""
    begun = process_time()
    for each in pods:
        scheduler.observe(Event(Verb.ADDED, each))
    while scheduler.step() is not None:
        pass
    taken = process_time() - begun
    assert all(each.metadata.uid in scheduler.cluster.pods.by_uid for each in pods)
    return taken


def _ratio(objects: Sequence[Any], batches: Sequence[Sequence[Pod]], num_rounds: int = 4) -> float:
    """How much of the speed without a word of gangs is left with `gangs: {}`, each batch given to both.

    In every round both begin anew, the other one first; of a batch the best round counts. Where in memory things happen
    to lie is worth more than what there is to measure.
    """
    choices: tuple[dict[str, Any] | None, ...] = (None, {})
    seconds = np.zeros((2, num_rounds, len(batches)))  # (num_schedulers, num_rounds, num_batches)
    for turn in range(num_rounds):
        made = {index: _scheduler(objects, choices[index]) for index in ((0, 1) if turn % 2 else (1, 0))}
        for number, pods in enumerate(batches):
            for index in (0, 1) if number % 2 else (1, 0):
                seconds[index, turn, number] = _seconds(made[index], pods)
        del made
        gc.unfreeze()
        gc.collect()
    without, with_gangs = seconds.min(axis=1).sum(axis=1)
    return float(without / with_gangs)


def _gangs_of_16() -> Figure:
    num_gangs, size = 200, 16
    objects = [*_nodes(), *(pod_group(f"g{number}", size) for number in range(num_gangs))]
    batches = [members(size, f"g{number}", cpu=1, labels={"app": f"app{number % 20}"}) for number in range(num_gangs)]
    return Figure(_ratio(objects, batches, num_rounds=2), 0.7, "")


def _lone_pods() -> Figure:
    workload = make_workload(NUM_NODES, 4000, "plain")
    things = [decode_object(item, "plain") for item in workload.objects]
    pods = [each for item in workload.pods if isinstance(each := decode_object(item, "plain"), Pod)]
    batches = [pods[start : start + 10] for start in range(0, len(pods), 10)]
    return Figure(_ratio(things, batches), 0.97, "")


# -- a day -------------------------------------------------------------------------------------------------------------


def _day() -> Figure:
    """All 24 hours of the scenario, 20,000 members, recorded."""
    scenario = load_scenario(DAY)
    with tempfile.TemporaryDirectory() as folder:
        begun = process_time()
        simulate(scenario, record=Path(folder) / "day.duckdb", policy="fairway")
        return Figure(process_time() - begun, 40, "s")


BENCHMARKS: dict[str, Callable[[], Figure]] = {
    "members-8": lambda: _equal(8, 3),
    "members-64": lambda: _equal(64, 15),
    "members-512": lambda: _equal(512, 120),
    "quick-no": _quick_no,
    "backtracks-32": _backtracks,
    "topology-250": _topology,
    "preemption-5000": _preemption,
    "gangs-of-16": _gangs_of_16,
    "lone-pods": _lone_pods,
    "day": _day,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
