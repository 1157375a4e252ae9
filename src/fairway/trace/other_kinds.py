"""Objects of kinds that Fairway does not decode, in a workload: as much of them as the table of kinds can read.

In: what files of a workload hold besides known kinds, users' tables, and the pods that are in the files already. Out:
`OtherKinds`: objects of known kinds written in an old version or inside others, the pods (with their claims) that are
missing of what the table knows, what was not counted, and notes. Nobody replaces such pods when they are gone: their
operators are not simulated. Called by `manifests`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairway.kinds.controllers import Wanted
from fairway.kinds.expansion import Expansion, expand
from fairway.kinds.kind_table import KindTable, open_table
from fairway.model import DecodeError, Loaded, Pod, Skipped, skipped_notes
from fairway.trace.annotations import ARRIVAL
from fairway.trace.problems import Problems
from fairway.words import pods_text

__all__ = ["OtherKinds", "read_others"]

NAMED = 4


@dataclass(frozen=True, slots=True)
class OtherKinds:
    """What came of the objects."""

    loaded: list[Loaded] = field(default_factory=list)
    not_counted: list[str] = field(default_factory=list)  # which may make pods, and why nobody knows
    notes: list[str] = field(default_factory=list)


def read_others(
    skipped: Sequence[Skipped],
    in_cluster: Sequence[Skipped],
    pods: Sequence[Pod],
    kind_files: Sequence[str],
    problems: Problems,
) -> OtherKinds:
    """Sort the objects of a workload; what is `in_cluster` has made its pods already, and may be pointed at."""
    table = open_table(kind_files, [*in_cluster, *skipped])
    there = expand(in_cluster, table, is_cluster=True)
    expansion, made = _expanded(list(skipped), in_cluster, table, pods, problems)
    notes = []
    if old := there.old + expansion.old:
        parts = ", ".join(f"{number} {title}" for title, number in sorted(old.items()))
        notes.append(f"of an API version that is gone, read as the present one: {parts}")
    if made:
        counts = [f"{len(ours)} of {title}" for title, ours in made.items()]
        more = f" and {len(counts) - NAMED} more" if len(counts) > NAMED else ""
        total = pods_text(sum(map(len, made.values())))
        notes.append(f"made {total}, which nobody replaces: {', '.join(counts[:NAMED])}{more}")
    notes += skipped_notes(Counter(one.title for one in (*there.others, *expansion.others)))
    return OtherKinds(
        [*there.loaded, *expansion.loaded, *(each for ours in made.values() for one in ours for each in one)],
        [f"{one.title} ({one.reason})" for one in expansion.not_counted],
        notes,
    )


Made = dict[str, list[list[Loaded]]]
"""By title of what wants them: pods, each with its claims."""


def _expanded(
    skipped: list[Skipped], elsewhere: Sequence[Skipped], table: KindTable, pods: Sequence[Pod], problems: Problems
) -> tuple[Expansion, Made]:
    """Of all that an API server would take; the rest are problems."""
    arrivals = {str(one.source): _arrival(one) for one in skipped}
    while True:
        try:
            expansion = expand(skipped, table, elsewhere)
            made = {one.title: list(_missing(one, pods, arrivals.get(str(one.source), ""))) for one in expansion.wanted}
        except DecodeError as error:
            problems.add(error)
            usable = [one for one in skipped if str(one.source) != str(error.source)]
            if len(usable) == len(skipped):
                raise
            skipped = usable
        else:
            return expansion, {title: ours for title, ours in made.items() if ours}


def _missing(wanted: Wanted, pods: Sequence[Pod], arrival: str) -> Iterator[list[Loaded]]:
    """Those of its pods that are not in the files, as many as it wants in all."""
    ours = [pod for pod in pods if pod.metadata.namespace == wanted.namespace]
    names = {pod.metadata.name for pod in ours}
    marks = wanted.marks.items()
    num_missing = wanted.num_pods - sum(bool(marks) and marks <= pod.metadata.labels.items() for pod in ours)
    for number in range(wanted.num_pods):
        if num_missing <= 0:
            return
        pod, claims = wanted.make(number)
        if pod.metadata.name in names:
            continue
        num_missing -= 1
        meta = pod.metadata
        if arrival and ARRIVAL not in meta.annotations:
            meta = msgspec.structs.replace(meta, annotations={**meta.annotations, ARRIVAL: arrival})
            pod = msgspec.structs.replace(pod, metadata=meta)
        yield [Loaded(pod, wanted.source), *(Loaded(claim, wanted.source) for claim in claims)]


def _arrival(one: Skipped) -> str:
    """When it arrives, as it is written."""
    tree: Any = one.tree
    for key in ("metadata", "annotations"):
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    value = tree.get(ARRIVAL) if isinstance(tree, Mapping) else None
    return value if isinstance(value, str) else ""
