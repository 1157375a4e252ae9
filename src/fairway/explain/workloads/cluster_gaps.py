"""What the files of a cluster leave out, and what is taken for it.

In: the objects of a trial and what wants pods. Out: the objects, completed where an answer would otherwise be about
the files and not about the cluster: storage classes that claims ask for, priorities of running pods. A note says each
time what was taken, or what is missing. Nothing is taken for granted about a cluster that was read directly. Called by
`manifest_files`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from fairway.explain.workloads.assumed_classes import assumed_classes
from fairway.kinds.controllers import Wanted
from fairway.model import (
    SYSTEM_PRIORITIES,
    Loaded,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
)
from fairway.model.owned import ephemeral_claims

__all__ = ["complete_cluster"]

NAMED: Final = 4


def complete_cluster(
    objects: Sequence[Loaded], wanted: Sequence[Wanted], notes: list[str], *, is_all: bool
) -> list[Loaded]:
    """The objects, with what had to be taken for granted; `is_all`: they are all that there is."""
    complete = _with_priorities(objects, notes)
    if is_all:
        return complete
    claims = {one.object.metadata.name: one.object for one in objects if isinstance(one.object, PersistentVolumeClaim)}
    needed: list[PersistentVolumeClaim] = []
    missing: dict[str, None] = {}
    for one in wanted:
        if one.num_pods or one.num_there:
            pod, made = one.make(0)
            own = {claim.metadata.name for claim in made}
            needed += [*made, *ephemeral_claims(pod)]
            for name in _claim_names(pod):
                if name in claims:
                    needed.append(claims[name])
                elif name not in own:
                    missing[name] = None
    if missing and not claims:
        names = ", ".join(list(missing)[:NAMED])
        notes.append(f"no PersistentVolumeClaim in the files, and pods use some: {names}")
    return [*complete, *assumed_classes(needed, complete, notes)]


def _claim_names(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def _with_priorities(objects: Iterable[Loaded], notes: list[str]) -> list[Loaded]:
    """Running pods of a priority class that is not in the files count as if they had none."""
    objects = list(objects)
    known = {one.object.metadata.name for one in objects if isinstance(one.object, PriorityClass)}
    unknown: Counter[str] = Counter()
    result = []
    for one in objects:
        thing = one.object
        if isinstance(thing, Pod) and thing.spec.priority is None:
            name = thing.spec.priority_class_name
            if name and name not in known and name not in SYSTEM_PRIORITIES:
                unknown[name] += 1
                spec = msgspec.structs.replace(thing.spec, priority=0)
                one = Loaded(msgspec.structs.replace(thing, spec=spec), one.source)  # noqa: PLW2901
        result.append(one)
    for name, number in sorted(unknown.items()):
        pods = "1 pod of the cluster counts" if number == 1 else f"{number} pods of the cluster count"
        notes.append(f"no PriorityClass {name} in the files: {pods} with priority 0")
    return result
