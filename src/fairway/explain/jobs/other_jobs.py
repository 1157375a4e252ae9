"""What other jobs are to a job, asked without a queue: who keeps it waiting, and who starts with it.

In: a cluster whose books of jobs know who waits, and what became of jobs that are over, as far as that is known: the
pods that have ended, or a run. Out: `hindrance`, why a job is not even tried; `companions`, the jobs that are tried
with it. A profile in mode `fairway` decides so; the other modes know jobs one by one. Called by `job_trial`,
`job_explanation` and `job_answer`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.cluster import Cluster
from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.gangs.connections import Connections
from fairway.gangs.job_rules import scheduler_problem
from fairway.model import Pod
from fairway.model.group import GroupSpec
from fairway.record import Run

__all__ = ["OtherJobs", "of_run"]


class OtherJobs:
    """Jobs of one cluster, to each other."""

    def __init__(self, cluster: Cluster, ended: Iterable[Pod] = ()) -> None:
        self._groups = cluster.groups
        self.connections = Connections(cluster)
        for pod in ended:
            if (found := self._groups.membership(pod)) is not None:
                self.connections.ended(found.key, pod, gone=False)
        for group in self._groups:
            self.saw(group)
        for group in self._groups:  # each hears of those that name it, wherever it stands
            self._reason(group)

    def saw(self, group: GroupBook) -> None:
        """Members of the job may have a node by now."""
        spec = self._groups.spec_of(group)
        if isinstance(spec, GroupSpec) and group.num_scheduled >= max(spec.min_count, 1):
            self.connections.start(group.key)

    def hindrance(self, profile: Profile, group: GroupBook) -> str:
        """Why the job is not tried now, complete as it may be; "" if it is."""
        if profile.gangs is None or profile.gangs.mode != "fairway":
            return ""
        holder = self._groups.object_of(group.key)
        if holder is not None and holder.metadata.deletion_timestamp is not None:
            return f"job {group.key} is incomplete: PodGroup {group.key} is being deleted"
        if (wrong := scheduler_problem(group)) is not None:
            return wrong.message
        return self._reason(group)

    def _reason(self, group: GroupBook) -> str:
        spec = self._groups.spec_of(group)
        return self.connections.reason(group, spec) if isinstance(spec, GroupSpec) and group.waiting else ""

    def companions(self, profile: Profile, group: GroupBook) -> list[GroupBook]:
        """The other jobs that wait and start with it; to be asked about a job that nothing hinders."""
        if profile.gangs is None or profile.gangs.mode != "fairway":
            return []
        return [other for other in self.connections.companions(group) if other.waiting and not self._has_started(other)]

    def _has_started(self, group: GroupBook) -> bool:
        spec = self._groups.spec_of(group)
        return isinstance(spec, GroupSpec) and group.num_scheduled >= spec.min_count


def of_run(run: Run, cluster: Cluster, at: float) -> OtherJobs:
    """The jobs of a run at a time: it knows what became of those that are over."""
    others = OtherJobs(cluster)
    rows = run.sql(
        """
        SELECT j.job, coalesce(j.min_count, 1) AS needed, coalesce(j.started_seconds <= $1, FALSE) AS has_started,
               count(p.pod_id) FILTER (p.reason = 'Succeeded') AS good,
               count(p.pod_id) FILTER (p.reason <> 'Succeeded' AND p.bound_seconds IS NOT NULL) AS bad
        FROM jobs j LEFT JOIN pods p ON p.job_id = j.job_id AND p.ended_seconds <= $1
        WHERE j.created_seconds <= $1 AND j.spelling <> 'pod'
        GROUP BY j.job_id, j.job, j.min_count, j.started_seconds ORDER BY j.job_id
        """,
        at,
    )
    for row in rows:
        num_needed, has_started = max(row["needed"], 1), bool(row["has_started"])
        others.connections.recall(row["job"], num_needed, row["good"], row["bad"], has_started=has_started)
    return others
