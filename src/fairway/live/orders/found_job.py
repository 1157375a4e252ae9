"""The job that is meant: its record, by the name that people know it by.

In: a namespace and a name, of the job or of the controller that makes its pods; and the command, for hints. Out: a
`FoundJob`, the record as the server has it; of several of that name the one that is not over, else the last.
`UserError` names what there is. Used by all orders about jobs.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fairway.batch.job import JobRecord
from fairway.exit_codes import USAGE
from fairway.live.batch.objects import JobRecordObject, QueueObject, object_path
from fairway.live.batch.record_codec import read_record
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.own_kinds import no_queues
from fairway.live.orders.own_objects import is_plain
from fairway.model import UserError
from fairway.model.named import few, unknown

__all__ = ["FoundJob", "find_job", "read_job"]


class FoundJob(NamedTuple):
    """A job as it is written down, and where."""

    thing: JobRecordObject
    record: JobRecord

    @property
    def key(self) -> str:
        """Namespace and name, for people."""
        return self.record.key

    @property
    def folder(self) -> str:
        """Where its record is among others."""
        return object_path(JobRecordObject, namespace=self.thing.metadata.namespace)

    @property
    def path(self) -> str:
        """Where its record is."""
        return f"{self.folder}/{self.thing.metadata.name}"

    @property
    def is_over(self) -> bool:
        """Is nothing to be changed about it any more?"""
        return self.record.ledger.is_final

    @property
    def limit(self) -> float:
        """How long it may run, as it is told."""
        return shown_seconds(self.thing.status.get("limit"))


def shown_seconds(text: object) -> float:
    """A span of time of a status: `28800s`; none: for ever."""
    return float(str(text).removesuffix("s")) if text else float("inf")


def read_job(tree: Tree) -> FoundJob | None:
    """The job of a record; None: nothing is written of it yet, or by another version."""
    try:
        thing = msgspec.convert(tree, JobRecordObject)
        record = read_record(thing)
    except (msgspec.ValidationError, ValueError):
        return None
    return None if record is None else FoundJob(thing, record)


async def find_job(caller: Caller, namespace: str, name: str, command: str) -> FoundJob:
    """The job of that name; `command`: what is written before it."""
    folder = object_path(JobRecordObject, namespace=namespace)
    tree = await caller.read(f"{folder}/{name}") if is_plain(name) else None
    found = None if tree is None else read_job(tree)
    if found is not None and found.key == f"{namespace}/{name}" and not found.is_over:
        return found
    listed = await caller.items(folder)
    if listed is None or (not listed[0] and await caller.items(object_path(QueueObject)) is None):
        raise no_queues()
    jobs = [job for each in listed[0] if (job := read_job(each)) is not None]
    if meant := [job for job in jobs if job.key == f"{namespace}/{name}"]:
        return max(meant, key=lambda job: (not job.is_over, job.record.number))
    made = [job for job in jobs if not job.is_over and name in _owners(job)]
    if len(made) > 1:
        names = sorted(job.key.partition("/")[2] for job in made)
        raise UserError(f"the pods of {name} are {len(made)} jobs: {few(names)}", "name one of them", USAGE)
    if made:
        return made[0]
    raise unknown("job", f"{namespace}/{name}", [job.key for job in jobs if not job.is_over], command)


def _owners(job: FoundJob) -> set[str]:
    return {each.name for each in job.thing.metadata.owner_references}
