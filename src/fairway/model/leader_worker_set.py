"""LeaderWorkerSets, as far as it matters how their pods come to be.

In: an object of leaderworkerset.x-k8s.io, converted by who reads it (`fairway.model.convert`); it is no kind that a
scheduler looks at unless somebody asked that a leader starts with its workers. Out: whether all pods of a group are
made at once; how many they are, pods say themselves. Read by `group_reading`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.meta import ObjectMeta, Value
from fairway.model.pod import PodTemplateSpec

__all__ = ["LeaderWorkerSet", "LeaderWorkerSetSpec", "LeaderWorkerTemplate"]


class LeaderWorkerTemplate(Value, frozen=True, kw_only=True):
    """A leader and its workers; without a template of its own, the leader is made of the workers'."""

    leader_template: PodTemplateSpec | None = None
    worker_template: PodTemplateSpec = PodTemplateSpec()


class LeaderWorkerSetSpec(Value, frozen=True, kw_only=True):
    """Its groups."""

    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = ""  # LeaderCreated, or LeaderReady: workers are made when their leader is ready


class LeaderWorkerSet(Value, frozen=True, kw_only=True):
    """Groups of pods with a leader each."""

    api_version: Literal["leaderworkerset.x-k8s.io/v1"] = msgspec.field(
        default_factory=lambda: "leaderworkerset.x-k8s.io/v1"
    )
    kind: Literal["LeaderWorkerSet"] = msgspec.field(default_factory=lambda: "LeaderWorkerSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
