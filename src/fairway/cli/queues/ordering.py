"""What commands that change something on a cluster have in common.

In: the cluster that is meant. Out: a `Caller` for the length of a command; times as people read them; and what is said
when a scheduler did not answer. Used by the commands beside it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from fairway.cli.output import narrate
from fairway.cli.queues.options import QueueCluster
from fairway.cli.run import live_errors

if TYPE_CHECKING:
    from fairway.live.orders.caller import Caller
    from fairway.live.orders.found_job import FoundJob

__all__ = ["ORDER_CODES", "TimeOfDay", "clock", "command_words", "now", "on_cluster", "on_job", "tell_silence"]

T = TypeVar("T")

ORDER_CODES: Final = """\b
Exit codes: 0 it is so now; 3 the answer is no; 4 not allowed, no server can be reached, or no scheduler answered;
2 usage, or a name that nobody has.
"""


def on_cluster(cluster: QueueCluster, act: Callable[[Caller], Awaitable[T]]) -> T:
    """What comes of it; problems become errors with their exit codes."""

    async def story() -> T:
        from fairway.live.api.clock import SystemClock
        from fairway.live.api.connection import Connection
        from fairway.live.orders.caller import Caller

        live = cluster.live
        connection = await Connection.open(
            live.kubeconfig, live.context, user_agent_suffix="command", clock=SystemClock(), warn=narrate
        )
        try:
            caller = Caller(connection)
            found = await act(caller)
        finally:
            await connection.close()
        if caller.deaf is not None:
            narrate(f"note: nothing can be heard of what follows: {caller.deaf.what}")
        return found

    return live_errors(story())


def on_job(cluster: QueueCluster, name: str, act: Callable[[Caller, FoundJob], Awaitable[T]]) -> T:
    """The same about a job, by its name."""

    async def with_job(caller: Caller) -> T:
        from fairway.live.orders.found_job import find_job

        job = await find_job(caller, *cluster.job_name(name, caller.namespace), command_words())
        return await act(caller, job)

    return on_cluster(cluster, with_job)


def command_words() -> str:
    """What is written before a name, for hints: fairway extend."""
    return click.get_current_context().command_path


def tell_silence(what: str, who: str = "the scheduler") -> None:
    """Nobody answered in time."""
    narrate(f"{what}; no answer of {who} within 10 s: it is written, and is heeded when {who} is back")
    narrate("→ kubectl get fjob -A, and the log of fairway run")


def now() -> float:
    """Seconds since 1970."""
    from fairway.live.api.clock import SystemClock

    return SystemClock().now()


def clock(seconds: float) -> str:
    """A moment as clocks here show it: the time, with the day if that is another."""
    moment, today = (dt.datetime.fromtimestamp(each, dt.UTC).astimezone() for each in (seconds, now()))
    return moment.strftime("%H:%M" if moment.date() == today.date() else "%Y-%m-%d %H:%M")


class TimeOfDay(click.ParamType[float]):
    """A time of day: +2h, 18:00 (the next one here), 2026-12-01T06:00Z."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since 1970."""
        from fairway.batch.occurrences import END_OF_TIME

        shown = "allowed: +2h (from now), 18:00 (the next time it is, here), 2026-12-01T06:00Z"
        try:
            moment = _moment(str(value).strip(), now())
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time; {shown}", param, ctx)
        if not 0.0 <= moment < END_OF_TIME:
            self.fail(f"{value!r} is not between the years 1970 and 3000; {shown}", param, ctx)
        return moment


def _moment(text: str, at: float) -> float:
    from fairway.model.seconds import parse_seconds

    if text.startswith("+"):
        return at + parse_seconds(text[1:])
    here = dt.datetime.fromtimestamp(at, dt.UTC).astimezone()
    if len(text) <= 5 and ":" in text:
        hour, today = dt.time.fromisoformat(text.zfill(5)), here.date()
        days = (dt.datetime.combine(day, hour) for day in (today, today + dt.timedelta(days=1)))
        # Each by itself: clocks may be set in the night between them.
        return next(time for day in days if (time := day.astimezone().timestamp()) > at)
    moment = dt.datetime.fromisoformat(text)
    return (moment if moment.tzinfo is not None else moment.astimezone()).timestamp()
