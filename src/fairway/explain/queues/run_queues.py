"""The queues of a run: what its operators said, and which of them is meant.

In: an open run. Out: the `BatchSettings` of its schedulers, as they began or as orders had changed them by a time
(`settings_at`). Called by everything that answers about queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import msgspec

from fairway.batch.settings import BatchSettings, read_settings
from fairway.config.fields import decode_fields
from fairway.config.spans import SPANS, read_span
from fairway.model import UserError
from fairway.model.batch import AccountSpec, QueueSpec
from fairway.model.codec import to_builtins
from fairway.model.field_problem import Problem
from fairway.model.meta import EPOCH
from fairway.model.named import check_name, few
from fairway.record import Run
from fairway.record.errors import RecordError

__all__ = ["check_name", "few", "run_settings", "settings_at"]

S = TypeVar("S", QueueSpec, AccountSpec)


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
    queues, accounts = dict(settings.queues), dict(settings.accounts)
    deleted: dict[tuple[str, str], bool] = {}
    for order in _orders_until(run, at):
        changes = order.get("change") or {}
        if order.get("state"):
            changes = {"state": order["state"], "stateUntil": order.get("until", "")}
        if (name := order.get("queue")) in queues:
            queues[name] = _changed(run, queues[name], changes)
            deleted["queue", name] = bool(order.get("deleted"))
        elif (name := order.get("account")) in accounts:
            accounts[name] = _changed(run, accounts[name], changes)
            deleted["account", name] = bool(order.get("deleted"))
    for kind, name in (key for key, is_gone in deleted.items() if is_gone):
        if kind == "queue":
            queues[name] = msgspec.structs.replace(queues[name], state="Closed")
        else:
            del accounts[name]
    return replace(settings, queues=queues, accounts=accounts).as_of(at, EPOCH.timestamp())


def _orders_until(run: Run, at: float) -> list[dict[str, Any]]:
    """What was said by then, in order of time."""
    written = ((run.scenario.get("spec") or {}).get("batch") or {}).get("orders") or []
    orders = [(read_span(order["at"]), order) for order in written]
    return [order for time, order in sorted(orders, key=lambda item: item[0]) if time <= at]


def _changed(run: Run, spec: S, changes: Mapping[str, Any]) -> S:
    """A queue or an account with what is otherwise of it."""
    if not changes:
        return spec
    problems: list[Problem] = []
    changed = decode_fields(_merged(to_builtins(spec), changes), type(spec), "orders", problems, SPANS)
    if changed is None:
        raise RecordError(f"{run.path} is no run that Fairway wrote: {problems[0].path}: {problems[0].text}")
    return changed


def _merged(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(plain)
    for key, value in changes.items():
        known = whole.get(key)
        is_both = isinstance(known, Mapping) and isinstance(value, Mapping)
        whole[key] = _merged(cast(Mapping[str, Any], known), value) if is_both else value
    return whole
