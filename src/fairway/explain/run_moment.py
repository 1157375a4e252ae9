"""The cluster of a run as a scheduler saw it at one moment.

In: a run and a `Moment`: a time, or the attempt that was made then. Out: the objects that were there. Several
decisions may fall on one instant, so an attempt sees what was decided before it and nothing that was decided after it:
pods that are chosen a node for but not bound yet hold it, victims that are on their way out are still there. With a
late view, what others did is seen late. Called by `run_trial`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import msgspec

from fairway.model import ApiObject, CronJob, DaemonSet, Deployment, Job, Pod
from fairway.model.disruption import PREEMPTED
from fairway.model.group import START_TOGETHER
from fairway.model.meta import EPOCH
from fairway.model.tenant import EXCLUSIVE
from fairway.record import Run
from fairway.record.schedulers import RecordedScheduler
from fairway.record.snapshot import nodes_at, objects_at, pods_at

__all__ = ["Moment", "objects_seen"]

MAKERS = Deployment | DaemonSet | Job | CronJob
"""They matter to no decision, as what they make is there; but for Jobs that say something for all their pods."""

ROUNDING = 1e-7
"""Seconds: more than sums of times are off by, less than lies between any two things that happen."""
STILL_LEAVING = "not eligible due to a terminating pod"
"""Whoever is refused in these words keeps the node it was nominated to."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time of a run; with the row of `decisions` that is looked at, if it is one."""

    at: float
    decision: dict[str, Any] | None = None

    @property
    def number(self) -> int | None:
        """The decision's number."""
        return None if self.decision is None else int(self.decision["decision_id"])


def objects_seen(run: Run, moment: Moment, scheduler: RecordedScheduler | None = None) -> list[ApiObject]:
    """Everything but what no decision depends on; pods that wait are among it, without a node."""
    seen = moment.at
    if moment.decision is not None and scheduler is not None and scheduler.view_delay > 0:
        seen = max(seen - scheduler.view_delay + ROUNDING, 0.0)  # it hears of a thing exactly so late
    objects: list[ApiObject] = [*nodes_at(run, seen)]
    objects += [thing for thing in objects_at(run, seen) if not isinstance(thing, MAKERS) or _speaks_for_pods(thing)]
    pods = {pod.metadata.uid: pod for pod in pods_at(run, seen)}
    if moment.decision is not None:
        _unbind_later(run, moment, pods)
        _revive(run, moment, pods)
        if scheduler is not None:
            _assume_earlier(run, moment, scheduler, pods)
    _nominate(run, moment, pods)
    _terminate(run, moment, pods)
    return [*objects, *pods.values()]


def _speaks_for_pods(thing: ApiObject) -> bool:
    """A Job that says how many pods start together, or that they want nodes to themselves: its pods do not."""
    if not isinstance(thing, Job):
        return False
    if EXCLUSIVE in thing.metadata.annotations:
        return True
    said = (thing.metadata.annotations, thing.spec.template.metadata.annotations)
    return any(annotations.get(START_TOGETHER) == "true" for annotations in said)


def _unbind_later(run: Run, moment: Moment, pods: dict[str, Pod]) -> None:
    """Pods that were bound at this very time, by decisions that had not been made yet."""
    later = run.sql(
        "SELECT uid FROM pods JOIN decisions d USING (pod_id)"
        " WHERE bound_seconds = ? AND d.outcome = 'scheduled' AND d.decision_id >= ?",
        moment.at,
        moment.number,
    )
    for row in later:
        if row["uid"] in pods:
            pods[row["uid"]] = _on_node(pods[row["uid"]], "")


def _revive(run: Run, moment: Moment, pods: dict[str, Pod]) -> None:
    """Pods that went, or were asked to, at this very time, because of decisions that had not been made yet."""
    victims = run.sql(
        "SELECT DISTINCT p.uid FROM preemptions v JOIN decisions d USING (decision_id)"
        " JOIN pods p ON p.pod_id = v.victim_id"
        " WHERE d.time_seconds = $1 AND decision_id >= $2 AND (p.ended_seconds IS NULL OR p.ended_seconds >= $1)",
        moment.at,
        moment.number,
    )
    there = {row["uid"] for row in victims}
    if there:
        for pod in pods_at(run, _just_before(moment.at)):
            if pod.metadata.uid in there:
                pods[pod.metadata.uid] = pod


def _assume_earlier(run: Run, moment: Moment, scheduler: RecordedScheduler, pods: dict[str, Pod]) -> None:
    """Pods this scheduler had chosen a node for, whether or not it saw them bound there."""
    delay = scheduler.decision_latency + scheduler.bind_latency
    if delay + scheduler.view_delay == 0:
        return
    assert moment.decision is not None
    own = run.sql(
        "SELECT p.uid, arg_max(d.node, d.decision_id) AS node FROM decisions d JOIN pods p USING (pod_id)"
        " WHERE d.scheduler = $1 AND d.decision_id < $2 AND d.outcome = 'scheduled'"
        " AND (p.bound_seconds <= $3 OR d.time_seconds + $4 > $3)"
        " AND (p.ended_seconds IS NULL OR p.ended_seconds > $3 - $5) GROUP BY p.uid",
        *(moment.decision["scheduler"], moment.number, moment.at, delay, scheduler.view_delay),
    )
    for row in own:
        pod = pods.get(row["uid"])
        if pod is not None and not pod.spec.node_name:
            pods[row["uid"]] = _on_node(pod, row["node"])


def _nominate(run: Run, moment: Moment, pods: dict[str, Pod]) -> None:
    """Waiting pods that others make room for."""
    latest = run.sql(
        "SELECT p.uid, arg_max(coalesce(d.nominated_node, ''), d.decision_id) AS node"
        " FROM decisions d JOIN pods p USING (pod_id)"
        " WHERE d.time_seconds <= $1 AND ($2::BIGINT IS NULL OR d.decision_id < $2)"
        " AND (p.ended_seconds IS NULL OR p.ended_seconds >= $1)"
        " AND (p.bound_seconds IS NULL OR p.bound_seconds >= $1) AND d.outcome = 'unschedulable'"
        " AND (d.nominated_node IS NOT NULL OR NOT contains(coalesce(d.message, ''), $3)) GROUP BY p.uid",
        moment.at,
        moment.number,
        STILL_LEAVING,
    )
    for row in latest:
        pod = pods.get(row["uid"])
        if pod is not None and row["node"] and not pod.spec.node_name:
            status = msgspec.structs.replace(pod.status, nominated_node_name=row["node"])
            pods[row["uid"]] = msgspec.structs.replace(pod, status=status)


def _terminate(run: Run, moment: Moment, pods: dict[str, Pod]) -> None:
    """Victims of earlier decisions that have not gone yet."""
    victims = run.sql(
        "SELECT p.uid, min(d.time_seconds) AS time FROM preemptions v JOIN decisions d USING (decision_id)"
        " JOIN pods p ON p.pod_id = v.victim_id"
        " WHERE d.time_seconds <= $1 AND ($2::BIGINT IS NULL OR d.decision_id < $2) GROUP BY p.uid",
        moment.at,
        moment.number,
    )
    for row in victims:
        pod = pods.get(row["uid"])
        if pod is not None:
            gone = EPOCH + dt.timedelta(seconds=row["time"])
            metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=gone)
            status = msgspec.structs.replace(pod.status, conditions=(*pod.status.conditions, PREEMPTED))
            pods[row["uid"]] = msgspec.structs.replace(pod, metadata=metadata, status=status)


def _just_before(at: float) -> float:
    return max(at - ROUNDING, 0.0)


def _on_node(pod: Pod, node: str) -> Pod:
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    status = pod.status if node else msgspec.structs.replace(pod.status, start_time=None, phase="Pending")
    return msgspec.structs.replace(pod, spec=spec, status=status)
