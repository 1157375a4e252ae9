"""By which objects an owner speaks for a job: its group's object, its controller, or its pods.

In: a job. Out: `Speaker`s, the first that count for the desk (`fairway.batch.job_sayings`); and annotations written to
them, with what they said before, so that it can be taken back. Needs the right to patch these objects, as their owner
has it, and not the record. Used where the record may not be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairway.batch.wishes import KUEUE_QUEUE, QUEUE
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.found_job import FoundJob
from fairway.model.group import WITH_OBJECT, Spelling

__all__ = ["Speaker", "say", "speakers", "take_back"]

PLURALS: Final = {"Job": "jobs", "JobSet": "jobsets", "LeaderWorkerSet": "leaderworkersets", "PodGroup": "podgroups"}


class Speaker(NamedTuple):
    """An object that says something of a job."""

    title: str  # for people: Job train
    path: str
    annotations: dict[str, str]


async def speakers(caller: Caller, job: FoundJob) -> list[Speaker]:
    """Those that count first; empty: none of them is there."""
    group, namespace = job.record.group, job.thing.metadata.namespace
    for owner in job.thing.metadata.owner_references:
        plural = PLURALS.get(owner.kind)
        if plural is None:
            continue
        path = f"/apis/{owner.api_version}/namespaces/{namespace}/{plural}/{owner.name}"
        tree = await caller.read(path)
        is_group = group is not None and (group.spelling in WITH_OBJECT or group.spelling is Spelling.CONTROLLER)
        if tree is not None and (is_group or _names_queue(tree)):
            return [_speaker(owner.kind, path, tree)]
    found = []
    for pod in job.record.members:
        path = f"/api/v1/namespaces/{namespace}/pods/{pod.metadata.name}"
        if (tree := await caller.read(path)) is not None:
            found.append(_speaker("Pod", path, tree))
    return found


def _speaker(kind: str, path: str, tree: Tree) -> Speaker:
    meta = tree["metadata"]
    return Speaker(f"{kind} {meta['name']}", path, meta.get("annotations") or {})


def _names_queue(tree: Tree) -> bool:
    meta = tree["metadata"]
    return any(key in (meta.get(said) or {}) for said in ("annotations", "labels") for key in (QUEUE, KUEUE_QUEUE))


async def say(caller: Caller, them: Sequence[Speaker], key: str, value: str | None) -> None:
    """All of them say this from now on; None: nothing, as before."""
    for each in them:
        await caller.change(each.path, {"metadata": {"annotations": {key: value}}})


async def take_back(caller: Caller, them: Sequence[Speaker], key: str) -> None:
    """All of them say of this what they said before."""
    for each in them:
        await caller.change(each.path, {"metadata": {"annotations": {key: each.annotations.get(key)}}})
