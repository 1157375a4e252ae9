"""Datasets that a scenario makes up, on nodes drawn from its seed.

In: groups of datasets (`spec.cluster.datasets`), the nodes, the seed. Out: `Dataset` and `DatasetInternal` objects, as
Datashim would fill them, ready and placed. Each dataset has its own stream of chance: one more of them leaves the
others where they are. Called when a scenario's workload is built, and by the checks of scenarios.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from fairway.model import Dataset, DatasetInternal, Node, ObjectMeta, dns_label_problem, dns_subdomain_problem
from fairway.model.dataset import (
    SIZE,
    CachingPlacements,
    DataPlacement,
    DatasetInternalCaching,
    DatasetInternalStatus,
    DatasetStatus,
    DataState,
)
from fairway.scenario.data_parts import DatasetGroup
from fairway.scenario.fields import Problem
from fairway.sim.data_changes import placement_of

__all__ = ["dataset_problems", "make_datasets"]

READY = DatasetStatus(caching=DataState(status="OK"), provision=DataState(status="OK"))
PATH = "spec.cluster.datasets"


def make_datasets(
    groups: Sequence[DatasetGroup], nodes: Sequence[Node], seed: int, problems: list[Problem]
) -> list[Dataset | DatasetInternal]:
    """All objects; a group that wants more nodes than there are is a problem."""
    made: list[Dataset | DatasetInternal] = []
    for index, group in enumerate(groups):
        fit = [node for node in nodes if group.labels.items() <= node.metadata.labels.items()]
        if len(fit) < group.copies:
            such = " with these labels" if group.labels else ""
            problems.append(Problem(f"{PATH}[{index}].copies", f"{group.copies}, but there are {len(fit)} nodes{such}"))
            continue
        for number in range(group.count):
            made += _dataset(group, f"{group.name}-{number}", fit, seed)
    return made


def _dataset(group: DatasetGroup, name: str, nodes: Sequence[Node], seed: int) -> tuple[Dataset, DatasetInternal]:
    key = f"{group.namespace}/{name}".encode()
    chance = np.random.default_rng((zlib.crc32(b"datasets"), seed, zlib.crc32(key)))
    rows = chance.choice(len(nodes), group.copies, replace=False).tolist() if group.copies else []
    placed: tuple[DataPlacement, ...] = tuple(placement_of(nodes[row]) for row in rows)
    gateways = placed[: group.gateways]
    meta = ObjectMeta(
        name=name,
        namespace=group.namespace,
        annotations={} if group.size is None else {SIZE: group.size.text},
    )
    placements = CachingPlacements(gateways=gateways, data_locations=placed)
    status = DatasetInternalStatus(caching=DatasetInternalCaching(placements=placements))
    return Dataset(metadata=meta, status=READY), DatasetInternal(metadata=meta, status=status)


def dataset_problems(groups: Sequence[DatasetGroup]) -> Iterator[Problem]:
    """What is wrong with groups that their types allow."""
    names: dict[tuple[str, str], str] = {}
    for index, group in enumerate(groups):
        path = f"{PATH}[{index}]"
        if wrong := dns_subdomain_problem(group.name):
            yield Problem(f"{path}.name", wrong)
        if wrong := dns_label_problem(group.namespace):
            yield Problem(f"{path}.namespace", wrong)
        if group.size is not None and group.size.nanos <= 0:
            yield Problem(f"{path}.size", f"must be more than 0: {group.size}")
        if group.gateways is not None and group.gateways > group.copies:
            yield Problem(f"{path}.gateways", f"{group.gateways} of {group.copies} copies; allowed: as many, or fewer")
        other = names.setdefault((group.namespace, group.name), path)
        if other != path:
            yield Problem(f"{path}.name", f"{other} has datasets called {group.name}-0, ... already; give another")
