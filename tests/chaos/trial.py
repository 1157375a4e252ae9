"""A trial: one kind of chaos, some rounds of it, and the verdict.

In: a control plane, a `Kind`, a size and a seed. Out: a `Verdict`: what was done, and the violations of each invariant.
After each round the cluster comes to rest and the scheduler's view is compared with the API; after the last, all room
that is left is filled to the brim, so that room held for a pod that is no more would show; then the scheduler is
stopped and a fresh one, kube-scheduler itself, may try: it must not find a place for anybody who waits. Called by
`__main__` and `test_chaos`.
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.chaos import judge
from tests.chaos.history import accepted_bindings
from tests.chaos.load import Size
from tests.chaos.pod_state import Amounts, PodState
from tests.chaos.scheduler_view import NOT_ANSWERING, read_view
from tests.chaos.stage import BACKOFF, Stage
from tests.chaos.volumes import volume_states
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import Program, wait_until

__all__ = ["INVARIANTS", "Kind", "Verdict", "try_kind"]

INVARIANTS: Final = ("bound once", "within room", "none forgotten", "cache", "memory", "alive")
SYNC_SECONDS: Final = 20.0
FILL_SECONDS: Final = 60.0
FRESH_SECONDS: Final = 120.0
PENDING: Final = 'scheduler_pending_pods{queue="%s"}'


@dataclass(frozen=True)
class Kind:
    """A kind of chaos: its name, what it does in a round, and how much of the load it takes."""

    name: str
    disturb: Callable[[Stage], None]
    deed: str  # what it counts; without any it was no chaos
    share: float = 0.2  # of the pods of a full run, in all rounds together
    num_rounds: int = 3  # by the same process, where it lives that long: its memory is compared


@dataclass
class Verdict:
    """What came of a trial."""

    kind: str
    seed: int
    deeds: dict[str, int] = field(default_factory=dict)
    violations: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unjudged: set[str] = field(default_factory=set)
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        """Every invariant holds."""
        return not any(self.violations.values())


def try_kind(control_plane: ControlPlane, kind: Kind, size: Size, seed: int, log: Path) -> Verdict:
    """Let a kind of chaos loose, and judge; `log`: where the API server writes accepted bindings."""
    begun = time.monotonic()
    verdict = Verdict(kind.name, seed)
    offset = log.stat().st_size if log.exists() else 0
    with Stage(control_plane, kind.name, size, seed) as stage:
        memory: dict[Program, list[int]] = defaultdict(list)
        for number in range(size.num_rounds):
            if number:
                stage.delete_pods()
            kind.disturb(stage)
            if not stage.deeds[kind.deed]:
                raise AssertionError(f"{kind.name} has disturbed nothing: no {kind.deed}")
            stage.top_up()
            _judge_round(stage, verdict)
            for scheduler in stage.schedulers:
                if scheduler.is_running:
                    memory[scheduler].append(scheduler.resident_bytes())
        _fill(stage, verdict)
        _judge_end(stage, verdict)
        _let_a_fresh_one_try(stage, verdict)
        _judge_history(stage, verdict, log, offset)
        samples = [values for values in memory.values() if len(values) > 1]
        for values in samples:
            verdict.violations["memory"] += judge.memory_growth(values)
        if not samples:
            verdict.unjudged.add("memory")  # no process lived through two rounds
        verdict.deeds = dict(stage.deeds)
    verdict.seconds = time.monotonic() - begun
    return verdict


def _judge_round(stage: Stage, verdict: Verdict) -> None:
    """Comes the cluster to rest, and does the scheduler know it as it is?"""
    unrest = stage.settle()
    if unrest:
        verdict.violations["none forgotten"].append(unrest)
    differences = ["nobody leads, so nobody can be asked"]

    def is_equal() -> bool:
        leader = stage.leader()
        if leader is not None:
            pods = stage.history.catch_up()
            try:
                differences[:] = judge.cache_differences(read_view(leader), pods, len(stage.nodes))
            except NOT_ANSWERING as error:
                differences[:] = [f"the scheduler does not answer: {error}"]
        return not differences

    try:
        wait_until(is_equal, "the cache is equal to the API", SYNC_SECONDS, every=0.5)
    except TimeoutError:
        verdict.violations["cache"] += differences
    leader = stage.leader()
    if leader is not None:
        verdict.violations["cache"] += judge.mended_differences(_compare_itself(stage, leader))


def _compare_itself(stage: Stage, scheduler: Program) -> dict[str, float]:
    """Let a scheduler compare its cache with the API server; its metrics after that."""
    before = stage.control_plane.metrics(scheduler).get(judge.COMPARISONS, 0.0)
    os.kill(scheduler.pid, signal.SIGUSR2)
    metrics: dict[str, float] = {}

    def has_compared() -> bool:
        metrics.update(stage.control_plane.metrics(scheduler))
        return metrics.get(judge.COMPARISONS, 0.0) > before

    scheduler.wait_until(has_compared, "the scheduler has compared its cache with the API server", FRESH_SECONDS)
    return metrics


def _fill(stage: Stage, verdict: Verdict) -> None:
    """Fill the nodes to the brim: every filler fits, unless room is held that nobody has."""
    before = stage.history.catch_up()
    left = stage.offered
    for pod in before:
        if pod.holds_room and pod.node in left:
            left[pod.node] = left[pod.node].minus(pod.amounts)
    fillers = {node: _filler(stage, node, amounts) for node, amounts in left.items() if amounts.pods > 0}
    stage.api.create_all(fillers.values())
    keys = {f"{stage.namespace}/{pod['metadata']['name']}": node for node, pod in fillers.items()}

    def unplaced() -> dict[str, str]:
        placed = {pod.key for pod in stage.history.current() if pod.node}
        return {key: node for key, node in keys.items() if key not in placed}

    try:
        wait_until(lambda: not unplaced(), "all room is filled", FILL_SECONDS, every=0.1)
    except TimeoutError:
        verdict.violations["cache"] += [
            f"room is lost: {left[node]} is left on {node}, and {key} does not get it"
            for key, node in unplaced().items()
        ]
    verdict.violations["none forgotten"] += judge.forgotten_pods(before, stage.history.current())


def _filler(stage: Stage, node: str, amounts: Amounts) -> Json:
    """A pod that takes all that is left on a node, and can only go there."""
    requests = {"cpu": f"{max(0, amounts.cpu)}m", "memory": f"{max(0, amounts.memory)}Mi"}
    container = {"name": "main", "image": "example/image", "resources": {"requests": requests}}
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"filler-{node}", "namespace": stage.namespace, "labels": {"role": "filler"}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], "affinity": affinity},
    }


def _judge_end(stage: Stage, verdict: Verdict) -> None:
    """Nobody has died of it, and all end cleanly when asked."""
    found = verdict.violations["alive"]
    for scheduler in list(stage.schedulers):
        is_running = scheduler.is_running
        code = stage.dismiss(scheduler, Program.stop)
        if stage.has_lost_lease(scheduler):
            stage.deeds["leases lost"] += 1  # on a starved machine; ending is the right thing to do
        elif not is_running:
            found.append(f"a scheduler ended by itself, exit code {code}: {_last_line(scheduler)}")
        elif code:
            found.append(f"a scheduler that was asked to stop ended with exit code {code}: {_last_line(scheduler)}")
    for scheduler in stage.past:
        if "Traceback" in scheduler.output():
            found.append(f"a scheduler wrote a traceback: {scheduler.log.name}")


def _let_a_fresh_one_try(stage: Stage, verdict: Verdict) -> None:
    """kube-scheduler itself, on the final state without the fillers, may not find a place for anybody."""
    fillers = [pod for pod in stage.history.current() if pod.key.startswith(f"{stage.namespace}/filler-")]
    for pod in fillers:
        stage.delete_pod(pod)
    before = stage.history.catch_up()
    num_waiting = sum(pod.waits for pod in before)
    stage.deeds["left waiting"] = num_waiting
    if not num_waiting:
        return
    fresh = stage.control_plane.start_kube_scheduler(BACKOFF)

    def has_tried_all() -> bool:
        metrics = stage.control_plane.metrics(fresh)
        counts = {queue: metrics.get(PENDING % queue, 0.0) for queue in ("active", "backoff", "unschedulable")}
        num_placed = len(judge.forgotten_pods(before, stage.history.current()))
        return counts["unschedulable"] + num_placed >= num_waiting and not counts["active"] + counts["backoff"]

    try:
        fresh.wait_until(has_tried_all, "a fresh scheduler has tried all pods that wait", FRESH_SECONDS)
    except TimeoutError as error:
        verdict.violations["none forgotten"].append(str(error).splitlines()[0])
    fresh.stop()
    verdict.violations["none forgotten"] += judge.forgotten_pods(before, stage.history.catch_up())


def _judge_history(stage: Stage, verdict: Verdict, log: Path, offset: int) -> None:
    """All that happened, from the first pod to the last."""
    stage.history.catch_up()
    sightings = list(stage.history.sightings)
    verdict.violations["bound once"] += judge.double_bindings(sightings, accepted_bindings(log, offset))
    verdict.violations["within room"] += judge.overcommitments(sightings, stage.offered)
    pods: list[PodState] = stage.history.current()
    verdict.violations["within room"] += judge.volume_violations(pods, *volume_states(stage.api))
    if stage.history.num_gaps:
        stage.deeds["gaps in the history"] = stage.history.num_gaps


def _last_line(scheduler: Program) -> str:
    return (scheduler.output().splitlines() or [""])[-1][:300]
