"""How fast the simulated controllers are, and how much they remember.

In: the `controllers` section of a scenario, or nothing. Out: `ControllerSettings` for all controllers. The defaults
are those of kube-controller-manager 1.36, except that controllers react at once: what matters to a schedule is the
time that pods wait, not the milliseconds of a work queue.
"""

from __future__ import annotations

import msgspec

__all__ = ["ControllerSettings"]


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Seconds of virtual time, and numbers of objects."""

    reconcile_latency: float = 0.0  # from an event to what a controller does about it
    same_instant_latency: float = 1.0  # for a pod that ended the instant it was made; else time would stand still
    provision_latency: float = 1.0  # from a claim that needs a volume to the volume that was made for it
    job_backoff: float = 10.0  # after a job's first failure; doubled with each further one
    job_backoff_limit: float = 600.0
    daemon_backoff: float = 1.0  # after a daemon's first failure on a node; doubled with each further one
    daemon_backoff_limit: float = 900.0
    pod_groups: bool = False  # do Jobs whose pods all run at once make PodGroups of them (gate WorkloadWithJob)?
    finished_jobs: int = 1000  # that nobody removes stay; of more, the oldest are removed
