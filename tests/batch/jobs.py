"""Jobs for tests of this room."""

import math
from collections.abc import Iterable
from typing import Any

from fairway.batch.job import BatchJob, JobLedger, JobWishes, RunInterval
from fairway.model import Pod
from fairway.model.group import GroupKey, Spelling
from fairway.testing import pod


def interval(start: float, end: float = math.inf, nodes: Iterable[str] = (), rate: float = 1.0) -> RunInterval:
    """A stretch in which the job ran."""
    return RunInterval(start, end, rate, tuple(nodes))


def job_of(
    *intervals: RunInterval,
    key: str = "ml/train",
    limit: float | None = None,
    granted: float | None = None,
    members: Iterable[Pod] = (),
    queue: str = "batch",
    **wishes: Any,
) -> BatchJob:
    """A job of a queue, that ran so far as is said."""
    return BatchJob(
        key=key,
        uid=f"uid-{key}",
        group=None,
        wishes=JobWishes(queue=queue, user="ada", limit=limit, **wishes),
        ledger=JobLedger(0.0, granted_limit=granted, intervals=intervals),
        members={member.metadata.uid: member for member in members},
    )


def members(count: int, **changes: Any) -> list[Pod]:
    """Pods of one job."""
    return [pod(f"m{number}", **changes) for number in range(count)]


def gang(
    min_count: int = 2, *, restarts: int = 0, requeues: int = 0, owner: str = "Job/train", **wishes: Any
) -> BatchJob:
    """Three members on n0, n1, n2, of which so many have to run."""
    pods = [pod(f"m{number}", node=f"n{number}", owner=owner or None) for number in range(3)]
    job = job_of(members=pods, **wishes)
    job.group = GroupKey(Spelling.FAIRWAY, "ml", "train")
    job.min_count = min_count
    job.ledger.num_restarts, job.ledger.num_requeues = restarts, requeues
    return job
