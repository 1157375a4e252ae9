"""Another limit for a job, asked for and answered.

In: a job and the limit that it shall have. Out: a `LimitOutcome`: what the scheduler said, and the job as it is then.
Written to the record, as operators may; else by its owner, as the annotation `fairway.dev/time-limit`. What is refused
is taken back, so that nothing stands there that is not so, and whoever asks again is answered anew. Called by the
command `extend`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fairway.batch.order_answer import OrderAnswer
from fairway.batch.wishes import TIME_LIMIT
from fairway.live.api.problems import Forbidden
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.found_job import FoundJob, read_job
from fairway.live.orders.rights import neither
from fairway.live.orders.speakers import say, speakers, take_back
from fairway.model.seconds import span_text

__all__ = ["LimitOutcome", "ask_limit"]


class LimitOutcome(NamedTuple):
    """What came of it."""

    job: FoundJob  # as it is now, as far as is known
    answer: OrderAnswer | None  # None: none came
    by_owner: bool = False


async def ask_limit(caller: Caller, job: FoundJob, seconds: float) -> LimitOutcome:
    """Ask, and wait for the answer."""
    try:
        return await _as_operator(caller, job, seconds)
    except Forbidden as refused:
        return await _as_owner(caller, job, seconds, refused)


async def _as_operator(caller: Caller, job: FoundJob, seconds: float) -> LimitOutcome:
    former = job.thing.spec.get("timeLimit") or None
    if job.record.orders.time_limit == seconds:  # it was asked before, and refused: else its limit were that
        await caller.change(job.path, {"spec": {"timeLimit": None}})
        former = None
    changed = await caller.change(job.path, {"spec": {"timeLimit": span_text(seconds)}})
    outcome = await _heard(caller, job, seconds, changed, by_owner=False)
    if outcome.answer is not None and not outcome.answer.is_granted:
        await caller.change(job.path, {"spec": {"timeLimit": former}})
    return outcome


async def _as_owner(caller: Caller, job: FoundJob, seconds: float, refused: Forbidden) -> LimitOutcome:
    try:
        them = await speakers(caller, job)
        await say(caller, them, TIME_LIMIT, span_text(seconds))
    except Forbidden as problem:
        raise neither(refused, problem) from None
    outcome = await _heard(caller, job, seconds, None, by_owner=True)
    if outcome.answer is not None and not outcome.answer.is_granted:
        await take_back(caller, them, TIME_LIMIT)
    return outcome


async def _heard(
    caller: Caller, job: FoundJob, seconds: float, changed: Tree | None, *, by_owner: bool
) -> LimitOutcome:
    """The answer to this question, not to one before."""
    former = job.record.ledger.answer
    asked_at = -math.inf if former is None else former.time
    latest = job

    def tell(verb: str, tree: Tree) -> LimitOutcome | None:
        nonlocal latest
        found = read_job(tree)
        if verb == "DELETED" or found is None:
            return LimitOutcome(latest, None, by_owner) if verb == "DELETED" else None
        latest = found
        answer = found.record.ledger.answer
        if answer is not None and answer.about == "timeLimit" and answer.time > asked_at and _is_for(answer, seconds):
            return LimitOutcome(found, answer, by_owner)
        wishes, waits = found.record.wishes, found.record.ledger.released is None
        if by_owner and waits and wishes is not None and wishes.limit == found.limit == seconds:
            return LimitOutcome(found, OrderAnswer("timeLimit", seconds, True, 0.0, by_owner=True), by_owner)
        return LimitOutcome(found, None, by_owner) if found.is_over else None

    version = job.thing.metadata.resource_version if changed is None else changed["metadata"]["resourceVersion"]
    heard = await caller.hear(job.folder, job.thing.metadata.name, version, tell)
    return LimitOutcome(latest, None, by_owner) if heard is None else heard


def _is_for(answer: OrderAnswer, seconds: float) -> bool:
    return math.isclose(answer.asked, seconds, abs_tol=0.001)
