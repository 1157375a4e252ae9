"""What the command line changes in a scenario: other nodes, another workload, policy, seed or end.

In: a `ScenarioFile` and `Overrides`. Out: the file as if it had been written so. Paths given here begin where the
user is, not where the scenario is; what a file is (manifests, SWF, openb) is told by its name. Called by
`Scenario.with_overrides`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from fairway.config.fields import shown
from fairway.scenario.fields import Problem, ScenarioError, read_duration
from fairway.scenario.paths import absolute_cluster, absolute_source
from fairway.scenario.scenario_file import (
    MAX_COUNT,
    ClusterSource,
    GeneratedNodes,
    OpenbNodes,
    OpenbPods,
    ScenarioFile,
    ScenarioSpec,
    SchedulerSpec,
    SwfLog,
    WorkloadSource,
)

__all__ = ["Overrides", "overridden"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Each takes the place of what the scenario says; None leaves it."""

    nodes: int | Paths | None = None
    """So many of the scenario's own nodes, in its proportions; or files (manifests, a snapshot, an openb node list)."""
    prices: str | os.PathLike[str] | None = None
    """A file: what an hour of a node costs, by its name or instance type."""
    workload: Paths | None = None
    """Files: manifests, an SWF log, or an openb pod list."""
    kinds: Paths | None = None
    """Files: tables of kinds that make pods."""
    policy: str | None = None
    """The policy of the first scheduler."""
    seed: int | None = None
    until: float | str | None = None
    """When to stop: seconds, or text such as 12h."""
    strict: bool | None = None
    plugin_times: bool | None = None
    """Measure what each plugin uses, and record it."""
    schedulers: tuple[SchedulerSpec, ...] | None = None


def overridden(file: ScenarioFile, wanted: Overrides) -> ScenarioFile:
    """The scenario as if it had been written so; `ScenarioError` names the option that makes no sense."""
    changes: dict[str, Any] = {}
    if wanted.nodes is not None:
        changes["cluster"] = _cluster(file.spec, wanted.nodes)
    if wanted.prices is not None:
        path = os.path.abspath(wanted.prices)  # noqa: PTH100 - links stay, as elsewhere
        changes["cluster"] = msgspec.structs.replace(changes.get("cluster", file.spec.cluster), prices=path)
    if wanted.workload is not None:
        changes["workload"] = _workload(wanted.workload)
    if wanted.kinds is not None:
        changes["kinds"] = tuple(os.path.abspath(path) for path in _texts(wanted.kinds))  # noqa: PTH100 - as above
    if wanted.seed is not None:
        if not 0 <= wanted.seed < 2**63:
            raise _wrong("seed", f"{wanted.seed} is out of range; allowed: 0 to {2**63 - 1}")
        changes["seed"] = wanted.seed
    if wanted.until is not None:
        try:
            changes["end"] = read_duration(wanted.until)
        except ValueError as error:
            allowed = 'seconds, or text such as "90s", "1h30m" or "2d"'
            raise _wrong("until", f"{shown(wanted.until)} is no time; allowed: {allowed}") from error
        if changes["end"] <= 0:
            raise _wrong("until", "it ends before it begins; allowed: more than 0s")
    if wanted.strict is not None:
        changes["strict"] = wanted.strict
    if wanted.plugin_times is not None:
        changes["record"] = msgspec.structs.replace(file.spec.record, plugin_times=wanted.plugin_times)
    if wanted.schedulers is not None:
        changes["schedulers"] = wanted.schedulers
    return msgspec.structs.replace(file, spec=msgspec.structs.replace(file.spec, **changes))


def _cluster(spec: ScenarioSpec, nodes: int | Paths) -> ClusterSource:
    cluster = spec.cluster
    if isinstance(nodes, str) and nodes.isdecimal():
        nodes = int(nodes)
    if isinstance(nodes, int):
        if not 1 <= nodes <= MAX_COUNT:
            raise _wrong("nodes", f"{shown(nodes)} is out of range; allowed: 1 to {MAX_COUNT}, or a file of nodes")
        if not sum(group.count for group in cluster.nodes):
            raise _wrong("nodes", "the scenario generates no nodes (spec.cluster.nodes) that could be more or fewer")
        return msgspec.structs.replace(cluster, nodes=_scaled(cluster.nodes, nodes))
    files = _texts(nodes)
    tables = [file for file in files if _is_like(file, ".csv")]
    if len(tables) > 1:
        raise _wrong("nodes", f"{len(tables)} openb node lists; allowed: one")
    others = tuple(file for file in files if file not in tables)
    openb = OpenbNodes(nodes=tables[0]) if tables else None
    given = absolute_cluster(ClusterSource(files=others, openb=openb, racks=cluster.racks), "")
    return msgspec.structs.replace(given, prices=cluster.prices)


def _scaled(groups: tuple[GeneratedNodes, ...], total: int) -> tuple[GeneratedNodes, ...]:
    """The groups with `total` nodes in all, in the same proportions; a group may vanish."""
    before = sum(group.count for group in groups)
    scaled = []
    seen = taken = 0
    for group in groups:
        seen += group.count
        count = seen * total // before - taken
        taken += count
        if count:
            scaled.append(msgspec.structs.replace(group, count=count))
    return tuple(scaled)


def _workload(paths: Paths) -> tuple[WorkloadSource, ...]:
    files = _texts(paths)
    manifests = tuple(file for file in files if not _is_like(file, ".csv", ".swf", ".swf.txt"))
    sources = [WorkloadSource(files=manifests)] if manifests else []
    for file in files:
        if _is_like(file, ".csv"):
            sources.append(WorkloadSource(openb=OpenbPods(pods=file)))
        elif file not in manifests:
            sources.append(WorkloadSource(swf=SwfLog(file=file)))
    return tuple(absolute_source(source, "") for source in sources)


def _texts(paths: Paths) -> list[str]:
    return [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]


def _is_like(file: str, *suffixes: str) -> bool:
    return file.lower().removesuffix(".gz").endswith(suffixes)


def _wrong(option: str, text: str) -> ScenarioError:
    return ScenarioError(f"--{option}", [Problem("", text)])
