"""GPU devices of random runs against a naive reckoning: an instant, a node, a device, a kind of pod at a time.

The rules, as the paper on fragmentation has them: to a typical pod that needs no device, may not have the model, or
finds too little CPU or too few devices with enough left, all that is idle on a node is lost; to one that fits, only the
devices with less left than it needs. Typical pods are the most frequent shapes, until they stand for 95 % of all.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cause
from fairway.model import Node, Pod
from fairway.model.device_need import GPU_COUNT, GPU_MILLI, GPU_MODEL
from fairway.model.node import NodeCondition
from fairway.record import Run
from fairway.record.gpu_history import GpuHistory, gpu_history, gpu_metrics
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, writer

END = 16.0
WHOLE = 1000


@dataclass(frozen=True)
class Server:
    """A node with devices; not ready from `broken` on for two seconds, if it breaks."""

    name: str
    cpu: int
    devices: int
    model: str
    broken: float | None
    gone: float | None

    def is_ready(self, at: float) -> bool:
        """There, and not broken."""
        is_broken = self.broken is not None and self.broken <= at < self.broken + 2
        return not is_broken and (self.gone is None or at < self.gone)

    def as_node(self, is_ready: bool = True) -> Node:
        """The API object."""
        return node(
            self.name,
            cpu=self.cpu,
            resources={GPU_COUNT: self.devices} if self.devices else {},
            labels={GPU_MODEL: self.model},
            conditions=(NodeCondition(type="Ready", status="True" if is_ready else "False"),),
        )


@dataclass(frozen=True)
class Task:
    """A pod: `milli` of each of its devices, `count` of them; where and when it runs."""

    name: str
    cpu: int
    milli: int
    count: int
    models: str
    server: str | None
    indices: tuple[int, ...]
    begin: float
    end: float | None

    @property
    def shape(self) -> tuple[int, int, int, str]:
        """What typical pods are told apart by."""
        return self.cpu * WHOLE, self.milli, self.count, self.models

    def runs(self, at: float) -> bool:
        """Is it on its node at that instant?"""
        return self.server is not None and self.begin <= at and (self.end is None or at < self.end)

    def as_pod(self) -> Pod:
        """The API object."""
        said = {GPU_COUNT: str(self.count), GPU_MILLI: str(self.milli)} if self.count else {}
        return pod(
            self.name, cpu=self.cpu, annotations=said | ({GPU_MODEL: self.models} if self.count and self.models else {})
        )


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Server], list[Task]]:
    """Up to three nodes; pods that get devices which nobody has, or none and no node."""
    servers = []
    for number in range(draw(st.integers(1, 3))):
        broken = draw(st.sampled_from([None, None, 3.0]))
        gone = draw(st.sampled_from([None, None, 12.0]))
        model = draw(st.sampled_from(["T4", "A100"]))
        servers.append(Server(f"n{number}", draw(st.integers(2, 8)), draw(st.integers(0, 3)), model, broken, gone))
    tasks: list[Task] = []
    for number in range(draw(st.integers(1, 7))):
        milli, count = draw(st.sampled_from([(300, 1), (700, 1), (WHOLE, 1), (WHOLE, 2), (0, 0)]))
        models = draw(st.sampled_from(["", "T4", "A100|V100"])) if count else ""
        cpu, begin = draw(st.integers(1, 3)), float(draw(st.integers(0, 10)))
        server = draw(st.sampled_from(servers))
        end = draw(st.sampled_from([None, begin + 1, begin + 4]))
        if server.gone is not None:
            end = server.gone if end is None else min(end, server.gone)
        indices = tuple(
            device
            for device in range(server.devices)
            if sum(one.milli for one in tasks if one.server == server.name and device in one.indices) + milli <= WHOLE
        )[:count]
        where = server.name if len(indices) == count and (end is None or begin < end) else None
        tasks.append(Task(f"p{number}", cpu, milli, count, models, where, indices if where else (), begin, end))
    return servers, tasks


def tell(servers: list[Server], tasks: list[Task], path: Path) -> Run:
    """Write it down."""
    steps: list[tuple[float, int, str]] = [(0.0, 0, server.name) for server in servers]
    steps += [(server.broken, 1, server.name) for server in servers if server.broken is not None]
    steps += [(server.broken + 2, 2, server.name) for server in servers if server.broken is not None]
    steps += [(server.gone, 6, server.name) for server in servers if server.gone is not None]
    steps += [(task.begin, 4, task.name) for task in tasks]
    steps += [(task.end, 5, task.name) for task in tasks if task.end is not None]
    by_name = {server.name: server for server in servers}
    work = {task.name: task for task in tasks}
    with writer(path) as made:
        for time, what, name in sorted(steps):
            match what:
                case 0:
                    made.node_added(time, by_name[name].as_node())
                case 1:
                    made.node_changed(time, by_name[name].as_node(is_ready=False), NodeChange.NOT_READY)
                case 2:
                    made.node_changed(time, by_name[name].as_node(), NodeChange.READY)
                case 6:
                    made.node_gone(time, name, NodeEnd.DELETED)
                case 4:
                    task = work[name]
                    made.pod_created(time, task.as_pod(), SCHEDULER)
                    if task.server is not None:
                        index = "-".join(map(str, task.indices)) if task.indices else None
                        made.bound(time, task.as_pod().metadata.uid, task.server, index)
                case _:
                    made.ended(time, work[name].as_pod().metadata.uid, PodEnd.SUCCEEDED)
        made.close(END)
    return Run.open(path)


def typical(tasks: list[Task]) -> dict[tuple[int, int, int, str], float]:
    """Shapes from the most frequent on, of equals the larger first, until 95 % of all pods are of one of them."""
    counts = Counter(task.shape for task in tasks)
    kept: dict[tuple[int, int, int, str], int] = {}
    for shape in sorted(counts, key=lambda shape: (counts[shape], shape), reverse=True):
        if sum(kept.values()) < 0.95 * len(tasks):
            kept[shape] = counts[shape]
    return {shape: count / sum(kept.values()) for shape, count in kept.items()}


def left(server: Server, tasks: list[Task], at: float) -> tuple[int, list[int]]:
    """CPU and what each device has left."""
    here = [task for task in tasks if task.server == server.name and task.runs(at)]
    cpu = server.cpu * WHOLE - sum(task.cpu * WHOLE for task in here)
    return cpu, [WHOLE - sum(task.milli for task in here if device in task.indices) for device in range(server.devices)]


def reckon(server: Server, tasks: list[Task], at: float) -> dict[Cause, float]:
    """Idle devices of a node by what becomes of them, in devices."""
    cpu, devices = left(server, tasks, at)
    total = sum(devices)
    amounts = dict.fromkeys(Cause, 0.0)
    for (need_cpu, milli, count, models), share in typical(tasks).items():
        enough = [amount for amount in devices if amount >= milli]
        if not count:
            amounts[Cause.NO_GPU_TASK if cpu >= need_cpu else Cause.NO_GPU_TASK_LACKS_CPU] += share * total
        elif models and server.model not in models.split("|"):
            amounts[Cause.NO_ACCESS] += share * total
        elif cpu >= need_cpu and len(enough) >= count:
            amounts[Cause.USABLE] += share * sum(enough)
            amounts[Cause.LACKS_GPU] += share * (total - sum(enough))
        elif cpu >= need_cpu:
            amounts[Cause.LACKS_GPU] += share * total
        else:
            amounts[Cause.LACKS_CPU if len(enough) >= count else Cause.LACKS_BOTH] += share * total
    return {cause: amount / WHOLE for cause, amount in amounts.items()}


def state_at(history: GpuHistory, name: str, at: float) -> int | None:
    """The place of a node's state at an instant; None if there is none."""
    number = history.nodes.index(name)
    there = [
        place
        for place in range(len(history.node))
        if history.node[place] == number and history.begin[place] <= at < history.end[place]
    ]
    assert len(there) <= 1
    return there[0] if there else None


@given(situations())
@settings(max_examples=25)
def test_any_instant_is_as_reckoned(situation: tuple[list[Server], list[Task]]) -> None:
    servers, tasks = situation
    with tempfile.TemporaryDirectory() as folder, tell(servers, tasks, Path(folder) / "run") as run:
        history = gpu_history(run)
        metrics = gpu_metrics(run)
    if not any(server.devices for server in servers):
        assert history is None
        assert metrics is None
        return
    assert history is not None
    assert history.nodes == [server.name for server in servers]
    instants = [number / 2 for number in range(int(END * 2))]
    sums = dict.fromkeys(("there", "idle", "lost"), 0.0)
    causes = dict.fromkeys(Cause, 0.0)
    peak = 0.0
    for at in instants:
        there = used = 0.0
        for server in servers:
            place = state_at(history, server.name, at)
            assert (place is not None) == (server.is_ready(at) and server.devices > 0)
            if place is None:
                continue
            idle = sum(left(server, tasks, at)[1]) / WHOLE
            expected = reckon(server, tasks, at)
            assert (history.there[place], history.idle[place]) == (server.devices, pytest.approx(idle))
            assert dict(zip(Cause, history.by_cause[place], strict=True)) == pytest.approx(expected)
            assert history.fragmented[place] == pytest.approx(idle - expected[Cause.USABLE])
            there, used = there + server.devices, used + server.devices - idle
            for cause, amount in expected.items():
                causes[cause] += amount / 2
            sums["idle"] += idle / 2
            sums["lost"] += (idle - expected[Cause.USABLE]) / 2
        sums["there"] += there / 2
        peak = max(peak, used / there if there else 0.0)
    assert metrics is not None
    length = history.end.max() - history.begin.min()
    assert metrics.total == pytest.approx(sums["there"] / length)
    assert metrics.allocated == pytest.approx(1 - sums["idle"] / sums["there"])
    assert metrics.allocated_peak == pytest.approx(peak)
    assert metrics.fragmentation_amount == pytest.approx(sums["lost"] / length)
    assert metrics.fragmentation_rate == pytest.approx(sums["lost"] / sums["there"])
    assert metrics.fragmentation_ratio == pytest.approx(sums["lost"] / sums["idle"] if sums["idle"] else 0.0)
    for cause, amount in causes.items():
        assert metrics.idle[cause.name.lower()] == pytest.approx(amount / sums["there"])
    check_states(history)


def check_states(history: GpuHistory) -> None:
    """States of a node follow each other; means by node and the curve of all are sums over states."""
    assert (history.end > history.begin).all()
    for number, name in enumerate(history.nodes):
        own = [place for place in range(len(history.node)) if history.node[place] == number]
        assert all(history.end[one] <= history.begin[two] for one, two in pairwise(own))
        seconds = sum(history.end[place] - history.begin[place] for place in own)
        for value, amounts in zip(history.by_node()[name], (history.idle, history.fragmented), strict=True):
            total = sum(amounts[place] * (history.end[place] - history.begin[place]) for place in own)
            assert value == pytest.approx(total / seconds if seconds else 0.0)
    curve = history.curve(history.idle)
    for time, value in zip(curve.times, curve.values, strict=True):
        there = (history.begin <= time) & (time < history.end)
        assert value == pytest.approx(history.idle[there].sum(), abs=1e-9)
