"""JobSets, as far as the number of their pods goes.

In: an object of jobset.x-k8s.io, converted by who reads it (`fairway.model.convert`); it is no kind that a scheduler
looks at unless somebody asked that the pods start together. Out: how many pods it makes, and whether it makes them all
at once. Read by `group_reading`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.controllers import JobSpec
from fairway.model.meta import Int32, ObjectMeta, Value

__all__ = ["DependsOn", "JobSet", "JobSetSpec", "JobTemplate", "ReplicatedJob", "StartupPolicy"]


class JobTemplate(Value, frozen=True, kw_only=True):
    """The Job that copies are made of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class DependsOn(Value, frozen=True, kw_only=True):
    """Another of its Jobs that has to be there first."""

    name: str = ""


class StartupPolicy(Value, frozen=True, kw_only=True):
    """Whether its Jobs are made one after the other."""

    startup_policy_order: str = ""  # AnyOrder, or InOrder: each when the one before is ready


class ReplicatedJob(Value, frozen=True, kw_only=True):
    """So many equal Jobs."""

    name: str = ""
    replicas: Int32 = 1
    template: JobTemplate = JobTemplate()
    depends_on: tuple[DependsOn, ...] = ()


class JobSetSpec(Value, frozen=True, kw_only=True):
    """All its Jobs."""

    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    startup_policy: StartupPolicy | None = None


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

    @property
    def order(self) -> tuple[str, str] | None:
        """The field by which some Jobs are made only when others are there, and what it says; None: all at once."""
        policy = self.spec.startup_policy
        if policy is not None and policy.startup_policy_order == "InOrder":
            return "spec.startupPolicy.startupPolicyOrder", "is InOrder"
        for index, each in enumerate(self.spec.replicated_jobs):
            if each.depends_on:
                return f"spec.replicatedJobs[{index}].dependsOn", f"names {each.depends_on[0].name}"
        return None
