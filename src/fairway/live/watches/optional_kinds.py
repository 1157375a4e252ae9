"""Kinds that a cluster may or may not serve, and who reads them.

In: a configuration. Out: `optional_kinds`, what `cluster_watch` has to look out for besides `WATCHED`: only what a
plugin of some profile reads. Recordings, which do not know who schedules, look out for all of them (`RECORDED`), and go
without those that they may not read.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.config import Configuration
from fairway.live.watches.watched_kinds import WatchedKind
from fairway.model import ApiObject, CoschedulingPodGroup, Dataset, DatasetInternal, Job, PodGroup, VolcanoPodGroup
from fairway.model.dataset import DATA_GROUPS
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet

__all__ = ["GROUPED", "OPTIONAL", "RECORDED", "OptionalKind", "optional_kinds"]


class OptionalKind(NamedTuple):
    """A kind of an API group that not every cluster has."""

    kind: type[ApiObject]
    api_version: str  # group/version
    plural: str
    readers: frozenset[str]  # names of plugins
    is_required: bool = True  # not to be allowed to read it is an error, where it is served
    older: tuple[str, ...] = ()  # versions that do as well, where the server does not have that one

    @property
    def api_versions(self) -> tuple[str, ...]:
        """Where it is looked for, one after the other."""
        return self.api_version, *self.older

    def watched(self, api_version: str) -> WatchedKind:
        """Its collection in that version, over all namespaces."""
        told = api_version if self.older else ""
        return WatchedKind(self.kind, f"/apis/{api_version}/{self.plural}", api_version=told)


DATA_READERS = frozenset(("DataLocality",))
GROUP_READERS = frozenset(("GangScheduling",))
EXCLUSIVE_READER = "ExclusiveNode"  # who reads what jobs say for their pods, as far as it may see their objects
OPTIONAL: tuple[OptionalKind, ...] = (
    *(
        OptionalKind(kind, f"{group}/v1alpha1", plural, DATA_READERS)
        for group in DATA_GROUPS
        for kind, plural in ((Dataset, "datasets"), (DatasetInternal, "datasetsinternal"))
    ),
    OptionalKind(
        PodGroup, "scheduling.k8s.io/v1beta1", "podgroups", GROUP_READERS, older=("scheduling.k8s.io/v1alpha2",)
    ),
    OptionalKind(CoschedulingPodGroup, "scheduling.x-k8s.io/v1alpha1", "podgroups", GROUP_READERS),
    OptionalKind(VolcanoPodGroup, "scheduling.volcano.sh/v1beta1", "podgroups", GROUP_READERS),
)

RECORDED = tuple(optional._replace(is_required=False) for optional in OPTIONAL)
"""For recordings."""


CONTROLLERS = (
    OptionalKind(Job, "batch/v1", "jobs", GROUP_READERS, is_required=False),
    OptionalKind(JobSet, "jobset.x-k8s.io/v1alpha2", "jobsets", GROUP_READERS, is_required=False),
    OptionalKind(LeaderWorkerSet, "leaderworkerset.x-k8s.io/v1", "leaderworkersets", GROUP_READERS, is_required=False),
)
"""They say how many pods start together; without the right to read them, pods have to say it themselves."""


GROUPED = tuple(kind._replace(is_required=False) for kind in (*OPTIONAL, *CONTROLLERS) if kind.readers & GROUP_READERS)
"""For commands that know no configuration: what says which pods belong together, as far as they may read it."""


def optional_kinds(configuration: Configuration) -> tuple[OptionalKind, ...]:
    """What the plugins of these profiles read, and those that start pods together without a plugin."""
    enabled = {plugin for profile in configuration.profiles for plugin in profile.entries}
    if any(profile.gangs is not None for profile in configuration.profiles):
        enabled |= GROUP_READERS
    found = tuple(optional for optional in (*OPTIONAL, *CONTROLLERS) if optional.readers & enabled)
    if EXCLUSIVE_READER not in enabled or enabled & GROUP_READERS:
        return found
    return (*found, *GROUPED)
