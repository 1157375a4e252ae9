"""`fairway queue NAME open|pause|drain|close`: what happens in a queue from now on.

In: a queue of a cluster, the state that it shall have, and until when. Out: what is true then. Called by the command
`queue`; `live.orders` writes and waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import click

from fairway.cli.output import Column, emit, is_structured, say
from fairway.cli.queues.options import QueueCluster
from fairway.cli.queues.ordering import clock, command_words, now, on_cluster, tell_silence
from fairway.exit_codes import NO, UNREACHABLE
from fairway.words import length_text

if TYPE_CHECKING:
    from fairway.live.orders.caller import Caller
    from fairway.live.orders.queue_orders import QueueOutcome
    from fairway.model.batch.queue import QueueState

__all__ = ["STATES", "change_queue"]

STATES: Final = {"open": "Open", "pause": "Paused", "drain": "Draining", "close": "Closed"}
"""By the word that people say."""
COLUMNS: Final = tuple(Column(key, key) for key in ("queue", "state", "until", "heard", "waiting", "running"))


def change_queue(name: str, verb: str, until: float | None, cluster: QueueCluster, output: str) -> int:
    """Let it be so; returns the exit code."""
    state = cast("QueueState", STATES[verb])
    if until is not None and state == "Open":
        raise click.UsageError("--until is when it opens again; leave it out with open", click.get_current_context())
    if until is not None and until <= now():
        words = f"--until {clock(until)} is over: leave it out, or name a time to come"
        raise click.UsageError(words, click.get_current_context())

    async def order(caller: Caller) -> QueueOutcome:
        from fairway.live.orders.queue_orders import set_state

        return await set_state(caller, name, state, until, command_words())

    outcome = on_cluster(cluster, order)
    if is_structured(output):
        document = _document(outcome)
        emit([document], COLUMNS, output, document, "queue")
    elif outcome.problem:
        say(f"{name} counts as not there: {outcome.problem}")
    elif not outcome.is_heard:
        tell_silence(f"{name} shall be {state}", f"the scheduler {outcome.scheduler}")
    else:
        say(f"{name} is {state}{' already' if outcome.was_so else ''}{_until(until)}: {_meaning(outcome)}")
    return NO if outcome.problem else 0 if outcome.is_heard else UNREACHABLE


def _until(until: float | None) -> str:
    return "" if until is None else f" until {clock(until)}, for {length_text(until - now())}"


def _meaning(outcome: QueueOutcome) -> str:
    waiting, running = (f"{number} job{'' if number == 1 else 's'}" for number in (outcome.waiting, outcome.running))
    runs = f"what runs goes on ({running})"
    match outcome.state:
        case "Open":
            return f"jobs are taken, and start in their turn ({waiting} wait{'s' if outcome.waiting == 1 else ''})"
        case "Paused":
            return f"nothing starts; jobs are taken, and wait ({waiting} now); {runs}"
        case "Draining":
            return f"nothing new is taken; who waits starts in turn ({waiting}); {runs}"
        case _:
            return (
                f"nothing new is taken and nothing starts ({waiting} wait{'s' if outcome.waiting == 1 else ''}); {runs}"
            )


def _document(outcome: QueueOutcome) -> dict[str, Any]:
    return {
        "queue": outcome.name,
        "state": outcome.state,
        "until": outcome.until,
        "heard": outcome.is_heard,
        "wasSo": outcome.was_so,
        "waiting": outcome.waiting,
        "running": outcome.running,
        "problem": outcome.problem,
    }
