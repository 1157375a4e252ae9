"""A run's cluster at one time: what is there, what is held, who waits and for what.

In: a run and a time. Out: a `Status`: amounts by resource, pods that wait by reason, and rows of nodes, each alone or
those of one label together; as a document, too. Called by `status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairway.explain.jobs.waiting_jobs import waiting_jobs
from fairway.explain.queues.date_record import date_record, jobs_line
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.model import Node
from fairway.record import Run
from fairway.record.snapshot import nodes_at

__all__ = ["NodeLoad", "ResourceLoad", "Status", "WaitingPods", "load_sums", "read_status", "waiting_pods"]

NOT_TRIED = "not tried yet"


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """What there is of a resource on ready nodes, and what is held of it."""

    resource: str
    used: int
    allocatable: int
    most_free: int  # on any one node that takes pods

    @property
    def free(self) -> int:
        """What is left, over all ready nodes."""
        return self.allocatable - self.used

    @property
    def utilisation(self) -> float | None:
        """The share that is held; None if there is nothing."""
        return self.used / self.allocatable if self.allocatable else None


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """One node; amounts by resource, `pods` among them."""

    node: Node
    is_ready: bool
    is_unschedulable: bool
    used: dict[str, int]
    allocatable: dict[str, int]

    @property
    def state(self) -> str:
        """In a word or two, as `kubectl get nodes` says it."""
        words = "Ready" if self.is_ready else "NotReady"
        return f"{words}, cordoned" if self.is_unschedulable else words


@dataclass(frozen=True, slots=True)
class WaitingPods:
    """Pods that wait for the same reason: the one that refused most nodes at their last attempt."""

    reason: str
    num_pods: int
    longest: float  # seconds that the first of them waits
    pod: str  # that one
    job: str = ""  # that all of them belong to; "": to none
    numbers: tuple[int, ...] = ()  # of the pods, in a run


@dataclass(frozen=True, slots=True)
class Status:
    """Everything at one time."""

    at: float
    nodes: tuple[NodeLoad, ...]
    resources: tuple[ResourceLoad, ...]
    waiting: tuple[WaitingPods, ...]
    num_running: int  # pods that hold something
    jobs: str = ""  # how many jobs run and wait in queues, and how dates held; "": there are no queues

    @property
    def num_waiting(self) -> int:
        """How many pods have no node."""
        return sum(one.num_pods for one in self.waiting)

    def groups(self, label: str) -> dict[str | None, list[NodeLoad]]:
        """Nodes by their value of a label; those without it last, under None."""
        found: dict[str | None, list[NodeLoad]] = {}
        for one in self.nodes:
            found.setdefault(one.node.metadata.labels.get(label), []).append(one)
        return dict(sorted(found.items(), key=lambda item: (item[0] is None, item[0] or "")))


def read_status(run: Run, at: float) -> Status:
    """How it stood then."""
    objects = {node.metadata.name: node for node in nodes_at(run, at)}
    nodes = tuple(
        NodeLoad(
            objects[row["node"]],
            row["is_ready"],
            row["is_unschedulable"],
            {"pods": row["num_pods"]} | {name: row[column] for name, column in run.resources.items()},
            {"pods": row["allocatable_pods"]}
            | {name: row[f"allocatable_{column}"] for name, column in run.resources.items()},
        )
        for row in run.node_load(at)
    )
    num_running = sum(one.used["pods"] for one in nodes)
    jobs = queue_jobs(run, at) if run.knows_queues else []
    line = jobs_line(jobs, date_record(run, at, jobs).summary()) if jobs else ""
    return Status(at, nodes, load_sums(nodes, ("pods", *run.resources)), waiting_pods(run, at, jobs), num_running, line)


def load_sums(nodes: Iterable[NodeLoad], resources: Sequence[str]) -> tuple[ResourceLoad, ...]:
    """What these nodes come to; resources that none of them has are left out."""
    ready = [one for one in nodes if one.is_ready]
    open_ = [one for one in ready if not one.is_unschedulable]
    sums = (
        ResourceLoad(
            name,
            sum(one.used[name] for one in ready),
            sum(one.allocatable[name] for one in ready),
            max((one.allocatable[name] - one.used[name] for one in open_), default=0),
        )
        for name in resources
    )
    return tuple(one for one in sums if one.allocatable or one.used)


def waiting_pods(run: Run, at: float, queued: Sequence[QueueJob]) -> tuple[WaitingPods, ...]:
    """Each waiting pod once; the reason that most of them have first."""
    number, join = "NULL", ""
    if run.knows_queues:
        number, join = "coalesce(p.job_id, j.job_id)", " LEFT JOIN jobs j ON j.pod_id = p.pod_id"
    rows = run.sql(
        f"""
        WITH waiting AS (
            SELECT p.pod_id, p.pod, p.created_seconds, {number} AS job_id FROM pods p{join}
            WHERE p.created_seconds <= $1 AND (p.bound_seconds IS NULL OR $1 < p.bound_seconds)
              AND (p.ended_seconds IS NULL OR $1 < p.ended_seconds)
        ), latest AS (
            SELECT pod_id, max(decision_id) AS decision_id FROM decisions JOIN waiting USING (pod_id)
            WHERE time_seconds <= $1 GROUP BY pod_id
        ), refused AS (
            SELECT decision_id, arg_max(reason, (num_nodes, -number)) AS reason FROM (
                SELECT decision_id, plugin || ': ' || reason AS reason, sum(num_nodes) AS num_nodes,
                    min(number) AS number
                FROM filter_counts JOIN latest USING (decision_id) GROUP BY ALL
            ) GROUP BY decision_id
        )
        SELECT w.pod_id, w.pod, w.created_seconds, w.job_id, d.outcome, d.nominated_node, d.message, r.reason
        FROM waiting w LEFT JOIN latest USING (pod_id) LEFT JOIN decisions d USING (decision_id)
        LEFT JOIN refused r USING (decision_id) ORDER BY w.created_seconds, w.pod_id
        """,
        at,
    )
    jobs = waiting_jobs(run, at)
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}  # pods by their job, or by the reason they wait for
    reasons: dict[str, str] = {}  # by job: that of the member that came first, where it has none of its own
    standing = {job.number: job for job in queued if not job.runs}
    for row in rows:
        if (known := standing.get(row["job_id"])) is not None:
            words = known.reason or known.state.value
            alike.setdefault(("", f"queue {known.queue}: {words}"), []).append(row)
            continue
        job, words = jobs.get(row["pod_id"], ("", ""))
        reason = f"job {job}: {reasons.setdefault(job, words or _reason(row))}" if job else _reason(row)
        alike.setdefault((job, reason), []).append(row)
    groups = (
        WaitingPods(
            reason,
            len(pods),
            at - pods[0]["created_seconds"],
            pods[0]["pod"],
            job,
            tuple(pod["pod_id"] for pod in pods),
        )
        for (job, reason), pods in alike.items()
    )
    return tuple(sorted(groups, key=lambda group: (-group.num_pods, group.reason)))


def _reason(row: dict[str, Any]) -> str:
    if row["outcome"] is None:
        return NOT_TRIED
    if row["outcome"] == "scheduled":
        return "has a node, is not bound yet"
    if row["nominated_node"]:
        return "waits for pods it evicts to go"
    if row["outcome"] == "unschedulable" and row["reason"]:
        plugin, _, words = row["reason"].partition(": ")
        return f"{plugin}: {words.replace('node(s) ', '')}"
    return f"{row['outcome']}: {row['message']}" if row["message"] else str(row["outcome"])
