"""The queues of a run: what its operators said, and which of them is meant.

In: an open run. Out: the `BatchSettings` of its schedulers, as they began or as orders had changed them by a time
(`settings_at`), and names looked up with the nearest one in the error.
Called by everything that answers about queues.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from fairway.batch.settings import BatchSettings, read_settings
from fairway.exit_codes import USAGE
from fairway.model import UserError
from fairway.model.batch import AccountSpec, QueueSpec
from fairway.record import Run
from fairway.record.errors import RecordError
from fairway.scenario.batch_orders import Order, planned_orders
from fairway.scenario.fields import Problem, decode_struct

__all__ = ["check_name", "few", "run_settings", "settings_at"]

NAMED = 10


def run_settings(run: Run) -> BatchSettings:
    """What all schedulers of the run were told about queues; `UserError` if it has none."""
    found = [scheduler.batch for scheduler in run.schedulers or () if scheduler.batch is not None]
    if not found or not run.knows_queues:
        what = "nobody is named in it, so it keeps no queues" if run.is_anonymous else "its jobs wait in no queues"
        hint = "fairway sim SCENARIO --save RUN, with spec.batch in the scenario (docs/batch.md), records some"
        raise UserError(f"{run.path} says nothing of queues: {what}", hint)
    try:
        first, *others = [read_settings(plain) for plain in found]
    except ValueError as error:
        raise RecordError(f"{run.path} is no run that Fairway wrote: its queues can not be read: {error}") from error
    for other in others:  # a queue is served by one scheduler; all else is the same for all
        first = replace(first, queues={**other.queues, **first.queues})
    return first


def settings_at(run: Run, at: float) -> BatchSettings:
    """The same, as orders had changed it by that time; a queue that was deleted is there, and closed."""
    settings = run_settings(run)
    written = ((run.scenario.get("spec") or {}).get("batch") or {}).get("orders") or []
    problems: list[Problem] = []
    decoded = [decode_struct(each, Order, "spec.batch.orders", problems) for each in written]
    if problems:
        raise RecordError(f"{run.path} is no run that Fairway wrote: {problems[0].path}: {problems[0].text}")
    queues, accounts = dict(settings.queues), dict(settings.accounts)
    orders = [each for each in decoded if each is not None and (each.queue in queues or each.account in accounts)]
    for order in planned_orders(orders, queues, accounts):
        if order.at > at:
            break
        if isinstance(order.spec, QueueSpec):
            queues[order.subject] = order.spec
        elif isinstance(order.spec, AccountSpec):
            accounts[order.subject] = order.spec
        elif order.verb == "queue":
            queues[order.subject] = msgspec.structs.replace(queues[order.subject], state="Closed")
        else:
            del accounts[order.subject]
    return replace(settings, queues=queues, accounts=accounts)


def check_name(kind: str, name: str | None, known: Iterable[str], option: str) -> None:
    """`UserError` with the nearest names if there is no such thing."""
    names = sorted(known)
    if name is None or name in names:
        return
    close = difflib.get_close_matches(name, names, n=3)
    hint = f"{option} {close[0]}" if close else f"{option} NAME, with one of these"
    there = f"there are {few(names)}" if names else "there is none"
    raise UserError(f"no {kind} “{name}”; {there}", hint if names else "", USAGE)


def few(names: list[str]) -> str:
    """Some names, and how many more there are."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
