"""Jobs are held, released, requeued and cancelled.

In: a job. Out: a `JobOutcome`: was it done, and the job as it is then. Operators say so in its record; owners hold and
release by the annotation `fairway.dev/hold`, and cancel by deleting what is theirs. What is so already is not written.
Called by the commands of the same names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from fairway.batch.job import JobRecord
from fairway.batch.reasons import JobOutcome, JobState
from fairway.live.api.problems import Forbidden, LiveProblem
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.found_job import FoundJob, read_job
from fairway.live.orders.rights import neither
from fairway.live.orders.speakers import say, speakers

__all__ = ["Done", "cancel_job", "hold_job", "release_job", "requeue_job"]

HOLD: Final = "fairway.dev/hold"


class Done(NamedTuple):
    """What came of an order."""

    job: FoundJob  # as it is now, as far as is known
    is_done: bool | None  # None: no answer came
    was_so: bool = False  # nothing had to be done
    waits_for_turn: bool = False  # it counts when the job waits again


async def hold_job(caller: Caller, job: FoundJob) -> Done:
    """It does not start, or not again, until it is released."""
    record = job.record
    if record.ledger.hold or _is_held_by_owner(record):
        return Done(job, True, was_so=True)
    try:
        return await _order(caller, job, {"hold": True}, lambda record: bool(record.ledger.hold))
    except Forbidden as refused:
        await _say(caller, job, "true", refused)
    if record.ledger.released is not None:  # what owners say is read when it waits
        return Done(job, True, waits_for_turn=True)
    return await _heard(caller, job, "", _is_held_by_owner)


async def release_job(caller: Caller, job: FoundJob) -> Done:
    """Nobody holds it any more."""
    record = job.record
    is_ordered = bool(record.ledger.hold or record.orders.hold)
    if not is_ordered and not _is_held_by_owner(record):
        return Done(job, True, was_so=True)
    done = Done(job, True)
    if is_ordered:
        done = await _order(caller, job, {"hold": None}, lambda record: not record.ledger.hold)
    if _is_held_by_owner(record) and done.is_done is not None:
        await _say(caller, job, "false", None)
        if record.ledger.released is None:
            done = await _heard(caller, done.job, "", lambda record: not _is_held_by_owner(record))
    return done


async def requeue_job(caller: Caller, job: FoundJob) -> Done:
    """It ends, and waits again."""
    released = job.record.ledger.released
    if released is None:
        return Done(job, True, was_so=True)
    before = dt.datetime.fromtimestamp(released, dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    former = job.record.ledger.answer

    def is_answered(record: JobRecord) -> bool:
        answer = record.ledger.answer
        is_new = answer is not None and answer != former and answer.about == "requeueBefore"
        return is_new or record.ledger.released != released

    if job.thing.spec.get("requeueBefore") == before:  # it was asked before, and refused
        await caller.change(job.path, {"spec": {"requeueBefore": None}})
    done = await _order(caller, job, {"requeueBefore": before}, is_answered)
    answer = done.job.record.ledger.answer
    if done.is_done and answer is not None and answer.about == "requeueBefore" and not answer.is_granted:
        await caller.change(job.path, {"spec": {"requeueBefore": None}})
        return done._replace(is_done=False)
    return done


async def cancel_job(caller: Caller, job: FoundJob) -> Done:
    """It is over, whatever it did."""
    try:
        return await _order(caller, job, {"cancel": True}, _ends)
    except Forbidden as refused:
        raise LiveProblem(refused.what, refused.why, f"its owner deletes it: kubectl delete {_owned(job)}") from None


def _ends(record: JobRecord) -> bool:
    is_ending = record.standing.state is JobState.ENDING and record.standing.reason is JobOutcome.CANCELLED
    return is_ending or record.ledger.is_final


def _owned(job: FoundJob) -> str:
    """What an owner deletes."""
    meta = job.thing.metadata
    kind, name = next(((each.kind.lower(), each.name) for each in meta.owner_references), ("pod", meta.name))
    return f"{kind} {name} -n {meta.namespace}"


def _is_held_by_owner(record: JobRecord) -> bool:
    return record.wishes is not None and record.wishes.is_held


async def _say(caller: Caller, job: FoundJob, value: str, refused: Forbidden | None) -> None:
    """As its owner."""
    try:
        await say(caller, await speakers(caller, job), HOLD, value)
    except Forbidden as problem:
        if refused is None:
            raise
        raise neither(refused, problem) from None


async def _order(caller: Caller, job: FoundJob, spec: dict[str, Any], is_so: Callable[[JobRecord], bool]) -> Done:
    """As an operator, in the job's record."""
    changed = await caller.change(job.path, {"spec": spec})
    version = "" if changed is None else changed["metadata"]["resourceVersion"]
    now = None if changed is None else read_job(changed)
    if now is not None and is_so(now.record):
        return Done(now, True)
    return await _heard(caller, job, version, is_so)


async def _heard(caller: Caller, job: FoundJob, version: str, is_so: Callable[[JobRecord], bool]) -> Done:
    latest = job

    def tell(verb: str, tree: Tree) -> Done | None:
        nonlocal latest
        found = read_job(tree)
        if verb == "DELETED":
            return Done(latest, True)
        if found is None:
            return None
        latest = found
        if is_so(found.record):
            return Done(found, True)
        return Done(found, False) if found.is_over else None

    version = version or job.thing.metadata.resource_version
    return await caller.hear(job.folder, job.thing.metadata.name, version, tell) or Done(latest, None)
