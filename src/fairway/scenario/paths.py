"""The files that a scenario speaks of, by their absolute paths.

In: a `ScenarioSpec` and the folder its relative paths begin at. Out: the same with absolute paths, which means the
same wherever it is written. Called by `complete` and for paths given on the command line, which begin where one is.
"""

from __future__ import annotations

import os

import msgspec

from fairway.scenario.scenario_file import ClusterSource, ScenarioSpec, WorkloadSource

__all__ = ["absolute_cluster", "absolute_source", "with_absolute_paths"]

STDIN = "-"


def with_absolute_paths(spec: ScenarioSpec, folder: str) -> ScenarioSpec:
    """The spec with all paths of the cluster, the workload and the tables of kinds absolute."""
    workload = tuple(absolute_source(source, folder) for source in spec.workloads)
    cluster, kinds = absolute_cluster(spec.cluster, folder), _all(spec.kinds, folder)
    return msgspec.structs.replace(spec, cluster=cluster, workload=workload, kinds=kinds)


def absolute_cluster(cluster: ClusterSource, folder: str) -> ClusterSource:
    """The cluster with absolute paths."""
    openb = cluster.openb
    if openb is not None:
        openb = msgspec.structs.replace(openb, nodes=_absolute(openb.nodes, folder))
    prices = _absolute(cluster.prices, folder) if isinstance(cluster.prices, str) else cluster.prices
    files, snapshot = _all(cluster.files, folder), _all(cluster.snapshot, folder)
    return msgspec.structs.replace(cluster, files=files, snapshot=snapshot, openb=openb, prices=prices)


def absolute_source(source: WorkloadSource, folder: str) -> WorkloadSource:
    """What arrives, with absolute paths."""
    swf, openb = source.swf, source.openb
    if swf is not None:
        swf = msgspec.structs.replace(swf, file=_absolute(swf.file, folder))
    if openb is not None:
        openb = msgspec.structs.replace(openb, pods=_absolute(openb.pods, folder))
    return msgspec.structs.replace(source, files=_all(source.files, folder), swf=swf, openb=openb)


def _all(paths: tuple[str, ...], folder: str) -> tuple[str, ...]:
    return tuple(_absolute(path, folder) for path in paths)


def _absolute(path: str, folder: str) -> str:
    # Symbolic links stay: what they point at may change, and the scenario means the link.
    return path if path == STDIN else os.path.abspath(os.path.join(folder, path))  # noqa: PTH100, PTH118
