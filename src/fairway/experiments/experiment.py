"""The runs of an experiment: policies × traces × seeds, each made once and kept in a folder.

In: the scenario, its data, and the folder. Out: the runs that the folder has already, those that are left, and these,
made in several processes; so an interrupted experiment goes on where it was. Called by the command `compare`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from time import process_time  # what a run takes is told; it decides nothing
from typing import NamedTuple

from fairway.cluster.gpus.typical_pods import TypicalPods
from fairway.experiments.openb_check import cost
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.order_scenario import OrderScenario
from fairway.experiments.ordered_cluster import OrderedCluster, RunKey
from fairway.experiments.stored_runs import (
    StoredRun,
    check_run_place,
    fingerprint,
    read_run,
    remove_leftovers,
    run_path,
    write_run,
)
from fairway.pool import run_all
from fairway.sim.defragment import defragment

__all__ = ["PendingRun", "make_runs", "plan_runs"]


class PendingRun(NamedTuple):
    """A run to make, in another process."""

    scenario: OrderScenario
    data: str
    key: RunKey
    path: str
    made_from: str


def plan_runs(
    scenario: OrderScenario, data: OpenbData, folder: Path
) -> tuple[dict[RunKey, StoredRun], list[PendingRun]]:
    """The runs that are there, and those that are left, the longest first; what is missing or wrong is raised."""
    remove_leftovers(folder)
    runs: dict[RunKey, StoredRun] = {}
    pending = []
    for trace in scenario.spec.traces:
        data.files(trace)  # what is missing is told before anything runs
    keys = scenario.keys()
    for key in keys:
        made_from, path = fingerprint(scenario, data, key), run_path(folder, key)
        stored = read_run(path, made_from)
        if stored is not None:
            runs[key] = stored
        else:
            scenario.profile(key.policy)
            check_run_place(path)
            pending.append(PendingRun(scenario, str(data.folder), key, str(path), made_from))
    pending.sort(key=lambda piece: (-cost(piece.key.policy), piece.key.trace, piece.key.seed))
    return runs, pending


def make_runs(pending: Sequence[PendingRun], num_processes: int) -> Iterator[tuple[RunKey, StoredRun]]:
    """Make and keep each, as they come."""
    for number, stored in run_all(_make, pending, num_processes):
        yield pending[number].key, stored


@lru_cache(maxsize=1)
def _data(folder: str, node_list: str) -> OpenbData:
    return OpenbData(folder, node_list)


@lru_cache(maxsize=4)
def _typical(folder: str, node_list: str, trace: str, threshold: float, step: int) -> TypicalPods:
    return TypicalPods.of_pods(_data(folder, node_list).pods(trace), threshold=threshold, step=step)


def _make(piece: PendingRun) -> StoredRun:
    scenario, key, spec = piece.scenario, piece.key, piece.scenario.spec
    data = _data(piece.data, spec.nodes)
    begun = process_time()
    workload = scenario.workload(data, key.trace, key.seed)
    rule = spec.typical_pods
    typical = _typical(piece.data, spec.nodes, key.trace, rule.threshold, rule.step)
    ordered = OrderedCluster(workload, scenario.profile(key.policy, key.seed), typical, key.seed)
    run = ordered.fill()
    seconds = process_time() - begun
    moved = None
    if spec.defragment is not None:
        moved = defragment(ordered.cluster, ordered.place, spec.defragment.share, spec.defragment.per_node).document()
    write_run(Path(piece.path), piece.made_from, run, seconds, moved)
    return StoredRun(run.columns, run.causes, run.capacity, len(run.rows), run.num_failed, seconds, moved)
