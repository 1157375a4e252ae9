"""`fairway extend`: may a job run for longer?

In: a job of a cluster, and how much more, or a limit. Out: the limit that it has then; or that it is refused, by what,
and the longest possible. Called by `fairway.cli.main`; `live.orders` writes and waits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say, word
from fairway.cli.queues.options import QueueCluster, cluster_options
from fairway.cli.queues.ordering import ORDER_CODES, clock, now, on_job, tell_silence
from fairway.exit_codes import NO, UNREACHABLE
from fairway.words import length_text

if TYPE_CHECKING:
    from fairway.batch.order_answer import OrderAnswer
    from fairway.live.orders.caller import Caller
    from fairway.live.orders.found_job import FoundJob
    from fairway.live.orders.limits import LimitOutcome

__all__ = ["extend"]

HELP = f"""\b
Examples:
  fairway extend ml/train +4h              four hours more, if that harms nobody
  fairway extend ml/train 12h              twelve hours in all; less than now is always granted
  fairway extend train +90m -n ml -o json

Ask for another limit of a job of a cluster. It is granted as a whole or not at all: not beyond what its queue allows,
what its account can pay, into maintenance or a reservation of others, nor past a promise to another job. What is
refused says what stops it, and the longest that is possible. Operators write to the job's record; owners, where the
queue lets them, to the annotation fairway.dev/time-limit of their Job or pod.

{ORDER_CODES}"""
COLUMNS = tuple(Column(key, key) for key in ("job", "granted", "limitSeconds", "askedSeconds", "longestSeconds"))


class Span(click.ParamType[tuple[bool, float]]):
    """+4h: so much more; 12h: so much in all."""

    name = "LIMIT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[bool, float]:
        """Is it more, and how many seconds?"""
        from fairway.batch.limits import parse_time_limit

        text = str(value).strip()
        try:
            return text.startswith("+"), parse_time_limit(text.removeprefix("+"), "LIMIT")
        except ValueError as error:
            self.fail(str(error).removeprefix("LIMIT: "), param, ctx)


@click.command(name="extend", cls=Command, help=HELP, context_settings=CONTEXT, short_help="May a job run for longer?")
@click.argument("job", metavar="JOB")
@click.argument("limit", metavar="+TIME|TIME", type=Span())
@cluster_options
@output_option
def extend(job: str, limit: tuple[bool, float], *, cluster: QueueCluster, output: str) -> int:
    """See HELP, which is what users read."""
    is_more, seconds = limit

    async def ask(caller: Caller, found: FoundJob) -> tuple[float, LimitOutcome | None, FoundJob]:
        from fairway.live.orders.limits import ask_limit

        asked = found.limit + seconds if is_more else seconds
        if found.is_over or asked == found.limit:
            return asked, None, found
        outcome = await ask_limit(caller, found, asked)
        return asked, outcome, outcome.job

    asked, outcome, found = on_job(cluster, job, ask)
    answer = None if outcome is None else outcome.answer
    if is_structured(output):
        document = _document(found, asked, answer)
        emit([document], COLUMNS, output, document)
    elif found.is_over:
        narrate(f"{found.key} is over ({found.record.standing.reason or found.record.standing.state})")
    elif outcome is None:
        say(f"{found.key} has {_limit(found)} already{_until(found)}")
    elif answer is None:
        tell_silence(f"{found.key} shall have a limit of {length_text(asked)}")
    elif answer.is_granted:
        say(f"{found.key} has {_limit(found)} now{_until(found)}{_from(answer, asked)}")
        if answer.delayed:
            say(f"  may start later: {', '.join(answer.delayed)}")
    else:
        _tell_refusal(found, answer, cluster)
    if found.is_over or (answer is not None and not answer.is_granted):
        return NO
    return UNREACHABLE if outcome is not None and answer is None else 0


def _tell_refusal(found: FoundJob, answer: OrderAnswer, cluster: QueueCluster) -> None:
    """What stops it, and how far it may go."""
    from fairway.batch.extension import Hindrance, refusal_reason
    from fairway.model.seconds import span_text

    stopped: Any = Hindrance(answer.stopped_by, answer.stopper, answer.stopped_at)  # type: ignore[arg-type]
    more, end = answer.longest - answer.limit, _end(found)
    say(f"refused: {refusal_reason(answer.asked - answer.limit, stopped, clock)}")
    if not 0 < more < math.inf:
        say(f"  no minute more is possible: its limit stays {length_text(found.limit)}{_until(found)}")
        return
    until = f" (until {clock(end + more)})" if end is not None else ""
    options = f" {cluster.words}" if cluster.words else ""
    say(f"  longest possible: +{length_text(more)}{until}      ", nl=False)
    narrate(f"→ fairway extend {word(found.key)} +{span_text(more)}{options}")


def _limit(found: FoundJob) -> str:
    return "no limit" if found.limit == math.inf else f"a limit of {length_text(found.limit)}"


def _end(found: FoundJob) -> float | None:
    """When its limit is reached; None: its time does not run."""
    intervals = found.record.ledger.intervals
    if not intervals or intervals[-1].end < math.inf or found.limit == math.inf:
        return None
    spent = math.fsum(each.end - each.start for each in intervals[:-1])
    return intervals[-1].start + found.limit - spent


def _until(found: FoundJob) -> str:
    end = _end(found)
    return "" if end is None else f": until {clock(end)}, {length_text(max(end - now(), 0.0))} left"


def _from(answer: OrderAnswer, asked: float) -> str:
    before = "" if answer.limit == math.inf else f"; it was {length_text(answer.limit)}"
    return f"{before}, and {length_text(asked)} would be less than it has run" if "not less" in answer.words else before


def _document(found: FoundJob, asked: float, answer: OrderAnswer | None) -> dict[str, Any]:
    limit = None if found.limit == math.inf else found.limit
    document: dict[str, Any] = {"job": found.key, "askedSeconds": asked, "limitSeconds": limit, "end": _end(found)}
    if answer is None:
        return document | {"granted": found.limit == asked or None, "longestSeconds": None, "message": ""}
    longest = None if answer.longest == math.inf else answer.longest
    stopped = {"by": answer.stopped_by, "name": answer.stopper} if answer.stopped_by else None
    said = {"granted": answer.is_granted, "longestSeconds": longest, "message": answer.words, "stopped": stopped}
    return document | said | {"byOwner": answer.by_owner, "delayed": list(answer.delayed)}
