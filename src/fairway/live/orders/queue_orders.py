"""Queues are opened, paused, drained and closed.

In: a queue's name, the state that it shall have, and until when. Out: a `QueueOutcome`: the queue as it is then, and
whether its scheduler has taken it up, which says in the queue's status in which state it is. Called by the command
`queue`.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from fairway.live.batch.objects import QueueObject, object_path
from fairway.live.batch.record_codec import moment_text
from fairway.live.orders.caller import Caller, Tree
from fairway.live.orders.own_kinds import objection
from fairway.live.orders.own_objects import read_own
from fairway.model.batch.queue import QueueState
from fairway.model.named import unknown

__all__ = ["QueueOutcome", "set_state"]


class QueueOutcome(NamedTuple):
    """A queue as it is now."""

    name: str
    state: QueueState
    until: float | None  # seconds since 1970; None: until it is told otherwise
    is_heard: bool  # has a scheduler taken it up?
    was_so: bool
    waiting: int
    running: int
    scheduler: str  # who serves it
    problem: str = ""  # why the queue counts as not there


async def set_state(caller: Caller, name: str, state: QueueState, until: float | None, command: str) -> QueueOutcome:
    """Say so, and wait until it is so."""
    folder = object_path(QueueObject)
    tree = await read_own(caller, QueueObject, "queue", name, command)
    said = None if until is None else moment_text(until)
    if _is_so(tree, state, said) and (tree["spec"].get("state"), tree["spec"].get("stateUntil")) == (state, said):
        return _outcome(name, tree, state, until, is_heard=True, was_so=True)
    changed = await caller.change(f"{folder}/{name}", {"spec": {"state": state, "stateUntil": said}})
    if changed is None:
        raise unknown("queue", name, [], command)

    def tell(verb: str, tree: Tree) -> Tree | None:
        return tree if verb == "DELETED" or _is_so(tree, state, said) or objection(tree) else None

    heard = await caller.hear(folder, name, changed["metadata"]["resourceVersion"], tell)
    return _outcome(name, heard or changed, state, until, is_heard=heard is not None, was_so=False)


def _is_so(tree: Tree, state: QueueState, until: str | None) -> bool:
    """Does its scheduler say so?"""
    status = tree.get("status") or {}
    return status.get("state") == state and _moment(status.get("stateUntil")) == _moment(until)


def _moment(text: str | None) -> float | None:
    return dt.datetime.fromisoformat(text).timestamp() if text else None


def _outcome(
    name: str, tree: Tree, state: QueueState, until: float | None, *, is_heard: bool, was_so: bool
) -> QueueOutcome:
    status, spec = tree.get("status") or {}, tree.get("spec") or {}
    counts = int(status.get("waiting", 0)), int(status.get("running", 0))
    return QueueOutcome(
        name, state, until, is_heard, was_so, *counts, str(spec.get("schedulerName", "")), objection(tree)
    )
