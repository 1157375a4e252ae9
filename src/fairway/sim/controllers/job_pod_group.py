"""The PodGroup of a Job whose pods all run at once, as the Job controller makes it with its gate WorkloadWithJob.

In: a Job, when its first pods are about to be made. Out: its PodGroup in the API server, of which the Job's pods are
members: as many start together as it has; None for a Job that runs otherwise, or had begun before. Kubernetes 1.36,
`shouldManageWorkloadForJob` and `ensureWorkloadAndPodGroup` in pkg/controller/job/job_scheduling_manager.go; the
Workload between the two, of which no scheduler reads anything, is left out, and the PodGroup has the Job's name. Called
by `JobController`.
"""

from __future__ import annotations

from fairway.model import Job, ObjectMeta, Pod, PodGroup
from fairway.model.meta import OwnerReference
from fairway.model.pod import PodSchedulingGroup
from fairway.model.pod_group import GangPolicy, PodGroupPolicy, PodGroupSpec
from fairway.plugin import with_spec
from fairway.sim.api_server import ApiServer

__all__ = ["ensure_pod_group", "in_group", "is_gang", "remove_pod_group"]

KIND = "PodGroup"


def is_gang(job: Job) -> bool:
    """Do all its pods run at once, each with an index of its own, and do they belong to no group yet?"""
    spec = job.spec
    parallelism = spec.parallelism or 0
    is_free = spec.template.spec.scheduling_group is None
    return spec.is_indexed and parallelism > 1 and spec.completions == parallelism and is_free


def ensure_pod_group(api: ApiServer, job: Job, is_new: bool) -> PodGroup | None:
    """The Job's PodGroup, made if the Job is new; None: its pods are scheduled one by one."""
    found = _find(api, job)
    if found is not None:
        owner = found.metadata.controller
        return found if owner is not None and owner.uid == job.metadata.uid else None
    if not is_new:
        return None
    owner = OwnerReference(
        api_version="batch/v1", kind="Job", name=job.metadata.name, uid=job.metadata.uid, controller=True
    )
    meta = ObjectMeta(name=job.metadata.name, namespace=job.metadata.namespace, generation=1, owner_references=(owner,))
    policy = PodGroupPolicy(gang=GangPolicy(min_count=job.spec.parallelism or 0))
    made: PodGroup = api.create(PodGroup(metadata=meta, spec=PodGroupSpec(scheduling_policy=policy)))
    return made


def in_group(pod: Pod, group: PodGroup) -> Pod:
    """The pod as a member."""
    return with_spec(pod, scheduling_group=PodSchedulingGroup(pod_group_name=group.metadata.name))


def remove_pod_group(api: ApiServer, job: Job) -> None:
    """The Job is gone, and so is what it made."""
    found = _find(api, job)
    owner = None if found is None else found.metadata.controller
    if owner is not None and owner.uid == job.metadata.uid:
        api.remove(found)


def _find(api: ApiServer, job: Job) -> PodGroup | None:
    found: PodGroup | None = api.find(KIND, job.metadata.namespace, job.metadata.name)
    return found
