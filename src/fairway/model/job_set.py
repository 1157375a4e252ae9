"""JobSets, as far as the number of their pods goes.

In: an object of jobset.x-k8s.io, converted by who reads it (`fairway.model.convert`); it is no kind that a scheduler
looks at unless somebody asked that the pods start together. Out: how many pods it makes. Read by `group_reading`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.controllers import JobSpec
from fairway.model.meta import Int32, ObjectMeta, Value

__all__ = ["JobSet", "JobSetSpec", "JobTemplate", "ReplicatedJob"]


class JobTemplate(Value, frozen=True, kw_only=True):
    """The Job that copies are made of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class ReplicatedJob(Value, frozen=True, kw_only=True):
    """So many equal Jobs."""

    name: str = ""
    replicas: Int32 = 1
    template: JobTemplate = JobTemplate()


class JobSetSpec(Value, frozen=True, kw_only=True):
    """All its Jobs."""

    replicated_jobs: tuple[ReplicatedJob, ...] = ()


class JobSet(Value, frozen=True, kw_only=True):
    """Several Jobs that are one piece of work."""

    api_version: Literal["jobset.x-k8s.io/v1alpha2"] = msgspec.field(default_factory=lambda: "jobset.x-k8s.io/v1alpha2")
    kind: Literal["JobSet"] = msgspec.field(default_factory=lambda: "JobSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSetSpec = JobSetSpec()

    @property
    def num_pods(self) -> int:
        """How many pods run at once."""
        return sum(
            each.replicas * (1 if each.template.spec.parallelism is None else each.template.spec.parallelism)
            for each in self.spec.replicated_jobs
        )
