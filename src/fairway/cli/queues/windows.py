"""`fairway maintenance add` and `cancel`: nodes are needed for something else, or no longer.

In: when, for how long, which nodes and how; or the name of a window. Out: what is true then. Called by the group
`maintenance`; `live.orders` writes and waits.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import LiveCluster, live_options
from fairway.cli.output import Column, emit, is_structured, narrate, output_option, say, word
from fairway.cli.queues.options import QueueCluster
from fairway.cli.queues.ordering import ORDER_CODES, TimeOfDay, clock, command_words, now, on_cluster, tell_silence
from fairway.exit_codes import NO, UNREACHABLE
from fairway.model.batch.window import WindowMode
from fairway.words import length_text, nodes_text

if TYPE_CHECKING:
    from fairway.live.orders.caller import Caller
    from fairway.live.orders.window_orders import CalledOff, WindowOutcome

__all__ = ["add", "cancel"]

ADD = f"""\b
Examples:
  fairway maintenance add --start 2026-12-01T06:00Z --for 4h --selector rack=r7 --mode drain
  fairway maintenance add --start +2h --for 30m --selector kubernetes.io/hostname=n17 --message "new disk"
  fairway maintenance add --schedule "0 6 * * 1" --time-zone Europe/Copenhagen --for 1h --all-nodes --name weekly

Announce that nodes of a cluster are needed for something else. From now on no job with a limit is placed across it.
At its start nodes are closed: what runs there is left (avoid), evicted (drain), or ended, requeued and refunded (kill);
at its end they are given back. Times are your own if they name no zone. For operators.

{ORDER_CODES}"""
CANCEL = f"""\b
Examples:
  fairway maintenance cancel rack-r7

Call a window off: what it closed is open again, unless another window or a person keeps it closed. For operators.

{ORDER_CODES}"""
ADDED: Final = tuple(Column(key, key) for key in ("name", "phase", "start", "end", "nodes", "jobs"))
GONE: Final = tuple(Column(key, key) for key in ("name", "was", "nodes", "stillClosed"))
NAMED: Final = 3


class SpanText(click.ParamType[str]):
    """4h, 30m, 1h30m."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As our kinds take it."""
        from fairway.model.seconds import parse_seconds, span_text

        try:
            seconds = parse_seconds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not 0 <= seconds < math.inf:
            self.fail(f"{value!r} is no span of time; allowed: 30m, 4h, 1h30m", param, ctx)
        return span_text(seconds)


@click.command(name="add", cls=Command, help=ADD, context_settings=CONTEXT, short_help="Announce maintenance.")
@click.option("--start", type=TimeOfDay(), metavar="TIME", help="When: 2026-12-01T06:00Z, 18:00, +2h.")
@click.option("--schedule", metavar="CRON", help="Or again and again, as cron writes it.")
@click.option("--time-zone", metavar="ZONE", help="Of --schedule.  [default: UTC]")
@click.option("--for", "duration", type=SpanText(), metavar="TIME", required=True, help="For how long: 4h.")
@click.option("--selector", "selectors", multiple=True, metavar="KEY=VALUE", help="Nodes with this label.")
@click.option("--all-nodes", is_flag=True, help="All nodes.")
@click.option("--mode", type=click.Choice(get_args(WindowMode)), default="avoid", show_default=True, help="See above.")
@click.option("--announce", type=SpanText(), metavar="TIME", help="So long before, jobs are told.  [default: 7d]")
@click.option("--drain-lead", type=SpanText(), metavar="TIME", help="So long before, endless pods go.  [default: 24h]")
@click.option("--message", metavar="TEXT", help="What for.")
@click.option("--name", metavar="NAME", help="How it is called.  [default: from its labels: rack-r7]")
@live_options
@output_option
def add(
    *,
    start: float | None,
    schedule: str | None,
    time_zone: str | None,
    duration: str,
    selectors: Sequence[str],
    all_nodes: bool,
    mode: str,
    announce: str | None,
    drain_lead: str | None,
    message: str | None,
    name: str | None,
    live: LiveCluster | None,
    output: str,
) -> int:
    """See ADD, which is what users read."""
    context = click.get_current_context()
    if (start is None) == (schedule is None):
        raise click.UsageError("say when: --start TIME or --schedule CRON" + (", not both" if start else ""), context)
    if bool(selectors) == all_nodes:
        raise click.UsageError("say which nodes: --selector KEY=VALUE, or --all-nodes", context)
    labels = _labels(selectors)
    spec: dict[str, Any] = {"duration": duration, "nodes": {"selector": labels}, "mode": mode}
    optional = {"schedule": schedule, "timeZone": time_zone, "announce": announce, "drainLead": drain_lead}
    spec |= {key: value for key, value in (optional | {"message": message}).items() if value is not None}
    if start is not None:
        moment = dt.datetime.fromtimestamp(int(start), dt.UTC)
        spec["start"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    called = name or "-".join(part for key, value in labels.items() for part in (key.rpartition("/")[2], value))

    async def order(caller: Caller) -> WindowOutcome:
        from fairway.live.orders.window_orders import add_window

        return await add_window(caller, (called or "all-nodes").lower().replace("_", "-"), spec)

    outcome = on_cluster(_cluster(live), order)
    if is_structured(output):
        document = _document(outcome)
        emit([document], ADDED, output, document)
    elif outcome.problem:
        say(f"{outcome.name} counts as not there: {outcome.problem}")
    elif not outcome.is_heard:
        tell_silence(f"{outcome.name} is written")
    else:
        _show(outcome, live)
    is_vain = outcome.problem or outcome.status.get("phase") == "Done"
    return NO if is_vain else 0 if outcome.is_heard else UNREACHABLE


def _show(outcome: WindowOutcome, live: LiveCluster | None) -> None:
    status, spec = outcome.status, outcome.spec
    phase, num_nodes = str(status["phase"]).lower(), int(status.get("numNodes", 0))
    if phase == "done":
        say(f"{outcome.name} is over already: it would have ended by now")
        return
    begins = dt.datetime.fromisoformat(str(status["start"])).timestamp() if status.get("start") else None
    when = "" if begins is None else f" {clock(begins)}, in {length_text(max(begins - now(), 0.0))},"
    jobs = [str(each) for each in status.get("jobs") or ()]
    in_the_way = "" if not jobs else f" · in its way: {', '.join(jobs[:NAMED])}{', …' if len(jobs) > NAMED else ''}"
    what = f"for {spec['duration']} · {nodes_text(num_nodes)} · {spec['mode']}"
    say(f"{outcome.name} is {phase}:{when} {what}{in_the_way}")
    if not num_nodes:
        narrate("note: no node has these labels now; those that have them when it begins are closed")
    options = "" if live is None else f" {live.arguments}"
    narrate(f"→ fairway maintenance {word(outcome.name)}{options}   # who would run into it")


@click.command(name="cancel", cls=Command, help=CANCEL, context_settings=CONTEXT, short_help="Call maintenance off.")
@click.argument("name", metavar="WINDOW")
@live_options
@output_option
def cancel(name: str, *, live: LiveCluster | None, output: str) -> int:
    """See CANCEL, which is what users read."""

    async def order(caller: Caller) -> CalledOff:
        from fairway.live.orders.window_orders import call_off

        return await call_off(caller, name, command_words())

    gone = on_cluster(_cluster(live), order)
    was = gone.phase.lower() or "not taken up yet"
    if is_structured(output):
        document = {"name": name, "was": gone.phase, "nodes": gone.num_nodes, "stillClosed": gone.num_closed}
        emit([document], GONE, output, document)
    elif gone.num_closed:
        tell_silence(f"{name} is called off; {gone.num_closed} of {nodes_text(gone.num_nodes)} are still closed")
    elif not gone.is_known:
        say(f"{name} is called off; it was {was}. Its nodes are given back, which you may not see: list nodes")
    else:
        nodes = f"; {nodes_text(gone.num_nodes)} given back" if gone.num_nodes else ""
        say(f"{name} is called off; it was {was}{nodes}")
    return UNREACHABLE if gone.num_closed else 0


def _labels(selectors: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for part in (part for selector in selectors for part in selector.split(",")):
        key, sign, value = part.strip().partition("=")
        if not key or not sign:
            raise click.BadParameter(f"{part!r} is no label; write KEY=VALUE", param_hint="--selector")
        labels[key] = value
    return labels


def _cluster(live: LiveCluster | None) -> QueueCluster:
    return QueueCluster() if live is None else QueueCluster(live, is_named=True)


def _document(outcome: WindowOutcome) -> dict[str, Any]:
    status = outcome.status
    return {
        "name": outcome.name,
        "phase": status.get("phase"),
        "start": status.get("start"),
        "end": status.get("end"),
        "nodes": list(status.get("nodes") or ()),
        "jobs": list(status.get("jobs") or ()),
        "spec": dict(outcome.spec),
        "problem": outcome.problem,
    }
