"""Members of a drawn gang, as the users of one gang scheduler or another would write them.

In: a pod that says nothing of its group, the group's name and size, and a spelling. Out: the pod with what makes it a
member, and, where the spelling has one, the group's object, which arrives before its pods. Called by `synthetic`.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from fairway.model import AnyPodGroup, CoschedulingPodGroup, ObjectMeta, Pod, PodGroup, VolcanoPodGroup
from fairway.model.group import COSCHEDULING_LABEL, KOORDINATOR, VOLCANO_NAMES
from fairway.model.pod import PodSchedulingGroup
from fairway.model.pod_group import (
    CoschedulingPodGroupSpec,
    GangPolicy,
    PodGroupPolicy,
    PodGroupSpec,
    VolcanoPodGroupSpec,
)
from fairway.trace.annotations import GANG, GANG_SIZE

__all__ = ["WITH_OBJECT", "GangSpelling", "group_object", "spelled"]

GangSpelling = Literal["fairway", "kube", "coscheduling", "volcano", "koordinator", "pfnet"]

WITH_OBJECT: Final = ("kube", "coscheduling", "volcano")
"""Those in which an object says how many start together."""


def spelled(pod: Pod, name: str, size: int, spelling: GangSpelling, prefix: str) -> Pod:
    """The pod as a member of that group; `prefix` is what pfnet's annotations begin with."""
    meta = pod.metadata
    if spelling == "kube":
        group = PodSchedulingGroup(pod_group_name=name)
        return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_group=group))
    if spelling == "coscheduling":
        labels = {**meta.labels, COSCHEDULING_LABEL: name}
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(meta, labels=labels))
    said = {
        "fairway": {GANG: name, GANG_SIZE: str(size)},
        "volcano": {VOLCANO_NAMES[0]: name},
        "koordinator": {
            f"{KOORDINATOR}name": name,
            f"{KOORDINATOR}min-available": str(size),
            f"{KOORDINATOR}total-number": str(size),
        },
        "pfnet": {f"{prefix}-name": name, f"{prefix}-size": str(size)},
    }[spelling]
    annotations = {**meta.annotations, **said}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(meta, annotations=annotations))


def group_object(name: str, namespace: str, size: int, spelling: GangSpelling) -> AnyPodGroup | None:
    """What says that so many start together; None where the members say it themselves."""
    meta = ObjectMeta(name=name, namespace=namespace)
    if spelling == "kube":
        policy = PodGroupPolicy(gang=GangPolicy(min_count=size))
        return PodGroup(metadata=meta, spec=PodGroupSpec(scheduling_policy=policy))
    if spelling == "coscheduling":
        return CoschedulingPodGroup(metadata=meta, spec=CoschedulingPodGroupSpec(min_member=size))
    if spelling == "volcano":
        return VolcanoPodGroup(metadata=meta, spec=VolcanoPodGroupSpec(min_member=size))
    return None
