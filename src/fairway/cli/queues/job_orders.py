"""`fairway hold`, `release`, `requeue` and `cancel`: what shall become of a job of a cluster.

In: a job. Out: what is true of it then. Called by `fairway.cli.main`; `live.orders` writes and waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say, word
from fairway.cli.queues.options import QueueCluster, cluster_options
from fairway.cli.queues.ordering import ORDER_CODES, on_job, tell_silence
from fairway.exit_codes import NO, UNREACHABLE

if TYPE_CHECKING:
    from fairway.live.orders.caller import Caller
    from fairway.live.orders.found_job import FoundJob
    from fairway.live.orders.job_orders import Done

__all__ = ["cancel", "hold", "release", "requeue"]

HOLD = f"""\b
Examples:
  fairway hold ml/train
  fairway hold train -n ml

Let a job of a cluster not start until it is released. One that runs goes on; it is held when it waits again. Operators
write to the job's record; owners to the annotation fairway.dev/hold of their Job or pod.

{ORDER_CODES}"""
RELEASE = f"""\b
Examples:
  fairway release ml/train
  fairway release train -n ml

Let a job of a cluster start when its turn comes: what holds it is taken back, an operator's order and its owner's wish.

{ORDER_CODES}"""
REQUEUE = f"""\b
Examples:
  fairway requeue ml/train
  fairway requeue train -n ml

End what runs of a job of a cluster, with grace, and let it wait again: its place in the queue and the time that it
used are kept. A job whose pods nobody would make anew, or that does not want it (fairway.dev/requeue: "false"), goes
on, and the answer is no. For operators.

{ORDER_CODES}"""
CANCEL = f"""\b
Examples:
  fairway cancel ml/train
  fairway cancel train -n ml

End a job of a cluster for good: its pods end with grace, a Job that makes them fails. What it used is charged. For
operators; owners delete what is theirs: kubectl delete job train -n ml.

{ORDER_CODES}"""
COLUMNS = tuple(Column(key, key) for key in ("job", "done", "state", "reason", "message"))


@click.command(name="hold", cls=Command, help=HOLD, context_settings=CONTEXT, short_help="Let a job not start.")
@click.argument("job", metavar="JOB")
@cluster_options
@output_option
def hold(job: str, *, cluster: QueueCluster, output: str) -> int:
    """See HOLD, which is what users read."""
    return _carry_out("hold", job, cluster, output, _held)


@click.command(name="release", cls=Command, help=RELEASE, context_settings=CONTEXT, short_help="Let a job start again.")
@click.argument("job", metavar="JOB")
@cluster_options
@output_option
def release(job: str, *, cluster: QueueCluster, output: str) -> int:
    """See RELEASE, which is what users read."""
    return _carry_out("release", job, cluster, output, _released)


@click.command(name="requeue", cls=Command, help=REQUEUE, context_settings=CONTEXT, short_help="Let a job wait again.")
@click.argument("job", metavar="JOB")
@cluster_options
@output_option
def requeue(job: str, *, cluster: QueueCluster, output: str) -> int:
    """See REQUEUE, which is what users read."""
    return _carry_out("requeue", job, cluster, output, _requeued)


@click.command(name="cancel", cls=Command, help=CANCEL, context_settings=CONTEXT, short_help="End a job for good.")
@click.argument("job", metavar="JOB")
@cluster_options
@output_option
def cancel(job: str, *, cluster: QueueCluster, output: str) -> int:
    """See CANCEL, which is what users read."""
    return _carry_out("cancel", job, cluster, output, _cancelled)


def _carry_out(verb: str, job: str, cluster: QueueCluster, output: str, words: Callable[[Done], str]) -> int:
    """Do it, and say what is true then."""

    async def order(caller: Caller, found: FoundJob) -> Done:
        from fairway.live.orders import job_orders

        if found.is_over:
            return job_orders.Done(found, False)
        act: Callable[[Caller, FoundJob], Awaitable[Done]] = getattr(job_orders, f"{verb}_job")
        return await act(caller, found)

    done = on_job(cluster, job, order)
    if is_structured(output):
        document = _document(verb, done)
        emit([document], COLUMNS, output, document)
    elif done.is_done is None:
        tell_silence(f"{done.job.key}: {verb}")
    elif done.is_done:
        say(f"{done.job.key} {words(done)}")
    else:
        say(f"refused: {_why_not(done)}")
    if not is_structured(output) and done.is_done and verb == "hold":
        options = f" {cluster.words}" if cluster.words else ""
        narrate(f"→ fairway release {word(done.job.key)}{options}")
    return 0 if done.is_done else UNREACHABLE if done.is_done is None else NO


def _standing(done: Done) -> str:
    standing = done.job.record.standing
    reason = f": {standing.reason}" if standing.reason else ""
    return f"{standing.state.lower()}{reason}{f' ({standing.words})' if standing.words else ''}"


def _held(done: Done) -> str:
    already = " already" if done.was_so else ""
    if done.job.record.ledger.released is None:
        by = "an operator" if done.job.record.ledger.hold else "its owner"
        return f"is held{already}, by {by}: it does not start until it is released"
    return f"runs on; when it waits again it is held{already}"


def _released(done: Done) -> str:
    if done.was_so:
        return f"is not held; it is {_standing(done)}"
    return "is not held any more; its turn comes as its queue says"


def _requeued(done: Done) -> str:
    if done.was_so:
        return f"waits already; it is {_standing(done)}"
    return "ends and waits again; its place in the queue and the time that it used are kept"


def _cancelled(done: Done) -> str:
    return "is cancelled" if done.job.is_over else "is cancelled; its pods end with grace"


def _why_not(done: Done) -> str:
    answer = done.job.record.ledger.answer
    if done.job.is_over or answer is None:
        return f"{done.job.key} is over ({_standing(done)})"
    return f"{done.job.key}: {answer.words}"


def _document(verb: str, done: Done) -> dict[str, Any]:
    standing = done.job.record.standing
    return {
        "job": done.job.key,
        "order": verb,
        "done": done.is_done,
        "wasSo": done.was_so,
        "state": str(standing.state),
        "reason": str(standing.reason or ""),
        "message": _why_not(done) if done.is_done is False else standing.words,
    }
