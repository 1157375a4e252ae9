"""Which pods wait as members of a job, and what for: in a run at a time, and among the pods of a live cluster.

In: a run and a time, or pods. Out: by pod the name of its job and a reason for all of them. In a run only jobs of
schedulers that treat them as such count. Called by `run_status` and `live_cluster`, for `fairway status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairway.cluster import Cluster
from fairway.model import Pod
from fairway.model.group import GroupReading
from fairway.record import Run

__all__ = ["job_names", "waiting_jobs"]


def waiting_jobs(run: Run, at: float) -> dict[int, tuple[str, str]]:
    """By number of the pod: its job, and why the job waits; "" where its members were tried one by one."""
    names = list(_following(run))
    if not run.knows_jobs or not names:
        return {}
    marks = ", ".join("?" * len(names))
    rows = run.sql(
        f"""
        WITH waiting AS (
            SELECT pod_id, job_id FROM pods
            WHERE job_id IS NOT NULL AND created_seconds <= ? AND (bound_seconds IS NULL OR ? < bound_seconds)
              AND (ended_seconds IS NULL OR ? < ended_seconds) AND scheduler IN ({marks})
        ), latest AS (
            SELECT job_id, max(job_decision_id) AS job_decision_id FROM job_decisions
            WHERE time_seconds <= ? GROUP BY job_id
        )
        SELECT w.pod_id, j.job, j.complete_seconds, d.outcome, d.num_members, d.missing, d.resource, d.num_victims
        FROM waiting w JOIN jobs j USING (job_id) LEFT JOIN latest USING (job_id)
        LEFT JOIN job_decisions d USING (job_decision_id)
        """,
        *(at, at, at, *names, at),
    )
    return {row["pod_id"]: (row["job"], _words(row, at)) for row in rows}


def _words(row: dict[str, Any], at: float) -> str:
    if row["complete_seconds"] is None or at < row["complete_seconds"]:
        return "waits for more members"
    match row["outcome"]:
        case None:
            return ""
        case "scheduled":
            return "has started, these do not fit or are not bound yet"
        case "preempting":
            return f"waits for {row['num_victims']} pods it evicts to go"
        case "unschedulable" if row["missing"]:
            lack = f", short of {row['resource']}" if row["resource"] else ""
            return f"{row['missing']} too few fit{lack}"
    return str(row["outcome"])


def _following(run: Run) -> Iterator[str]:
    """Names of profiles that treat jobs as such; a run is a stranger's, and may say anything."""
    for scheduler in run.schedulers or ():
        for profile in scheduler.config.get("profiles") or ():
            section = profile.get("fairway") if isinstance(profile, Mapping) else None
            if isinstance(section, Mapping) and section.get("gangs") is not None:
                yield str(profile.get("schedulerName", "default-scheduler"))


def job_names(pods: Iterable[Pod]) -> dict[str, str]:
    """By uid, or by name where there is none: the jobs of pods that say so themselves."""
    groups = Cluster().groups
    groups.follow(GroupReading())
    found = ((pod, groups.membership(pod)) for pod in pods)
    return {pod.metadata.uid or pod.key: str(membership.key) for pod, membership in found if membership is not None}
