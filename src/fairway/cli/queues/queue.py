"""`fairway queue`: how are the queues doing, and is there room for me?

In: a cluster or a run, and a queue or none. Out: a table of queues; or, of a queue of a cluster and a state, what
`queue_state` does. Called by `fairway.cli.main`; `explain.queues` has the answers.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from fairway.cli.help_text import CONTEXT, Command
from fairway.cli.options.live import repeat, watch_option
from fairway.cli.output import emit, is_structured, output_option, word
from fairway.cli.queues.options import OpenQueues, QueueSource, ask_queues, open_queues, source_options
from fairway.cli.queues.ordering import TimeOfDay
from fairway.cli.queues.queue_state import STATES, change_queue

__all__ = ["queue"]

HELP = """\b
Examples:
  fairway queue                                        who waits and runs where, in this cluster?
  fairway queue --scheduler https://localhost:10259    and is there room for the usual?
  fairway queue --run queues.duckdb --at 12h           of a run, at noon
  fairway queue batch --run queues.duckdb --at 12h -o wide
  fairway queue --run queues.duckdb --at 12h -o json
  fairway queue batch pause --until 18:00              nothing starts until then; open, drain, close are the others

Show the queues of the cluster, or of a run at one time (its end unless --at says otherwise): how many jobs wait and
run, what these hold of the queue's quota (+ what is borrowed), and when the first one that waits will likely start. The
light stands for a job of the usual limit and the smallest common size: free if two of them could start now, busy if one
could, full if none. Of a cluster only its scheduler knows that: --scheduler asks it.

Operators say what happens in a queue from now on, or until a time (+2h, 18:00, 2026-12-01T06:00Z). What runs goes on.

\b
  open    jobs are taken, and start in their turn
  pause   jobs are taken, and nothing starts
  drain   nothing new is taken; who waits starts
  close   nothing new is taken, and nothing starts

\b
Exit codes: 0 yes; 1 a file is wrong, or the cluster has no queues; 2 usage; 3 the queue counts as not there; 4 the
cluster can not be reached or does not let you, or no scheduler answered.
"""


@click.command(
    name="queue", cls=Command, help=HELP, context_settings=CONTEXT, short_help="How are the queues, is there room?"
)
@click.argument("name", metavar="[QUEUE]", required=False)
@click.argument("verb", metavar="[open|pause|drain|close]", type=click.Choice(tuple(STATES)), required=False)
@click.option("--until", type=TimeOfDay(), metavar="TIME", help="With pause, drain, close: when it opens again.")
@source_options
@watch_option
@output_option
def queue(
    name: str | None,
    verb: str | None,
    *,
    until: float | None,
    source: QueueSource,
    watch: float | None,
    output: str,
) -> int | None:
    """See HELP, which is what users read."""
    source.refuse(of_runs=False, watch=watch)
    if until is not None and verb is None:
        raise click.UsageError("--until is for pause, drain and close", click.get_current_context())
    if name is None or verb is None:
        repeat(lambda: _show(source, name, output), watch)
        return None
    if source.is_run or watch is not None:
        what = "--run" if source.is_run else "--watch"
        raise click.UsageError(f"{what} shows queues; {verb} changes one of a cluster", click.get_current_context())
    return change_queue(name, verb, until, source.cluster, output)


def _show(source: QueueSource, name: str | None, output: str) -> None:
    from fairway.explain.queues.queue_table import queue_columns, queue_table

    with open_queues(source, ("queues", "jobrecords")) as opened:
        table = queue_table(opened.moment, name, _lights(source, opened))
        document = opened.about | table.document()
    rows = document["queues"] if is_structured(output) else table.rows()
    columns = queue_columns(table)
    if is_structured(output):
        from fairway.cli.output import Column

        columns = [Column(key, key) for key in (rows[0] if rows else {"queue": ""})]
        rows = [row | {key: _pairs(row[key]) for key in ("held", "quota")} for row in rows] if output == "csv" else rows
    emit(rows, columns, output, document, "queue")
    waiting = next((each.name for each in table.queues if each.waiting), None)
    if waiting is not None and not is_structured(output):
        opened.hint(f"jobs --queue {word(waiting)}")


def _lights(source: QueueSource, opened: OpenQueues) -> Callable[[str], str]:
    """Is there room for the usual? As a run's plan says, or a scheduler; else nobody knows."""
    if opened.run is not None:
        from fairway.explain.queues.past_plan import past_plan
        from fairway.explain.queues.queue_light import light

        plan = past_plan(opened.run)
        return lambda queue: light(plan, queue)
    if source.scheduler is None:
        return lambda queue: ""
    answer = ask_queues(source, "/fairway/v1/queues")
    lights = {each.get("queue"): each.get("light") for each in answer.get("queues", ())}
    return lambda queue: str(lights.get(queue) or "")


def _pairs(amounts: dict[str, int]) -> str:
    """Amounts in one cell."""
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())
