"""The queues of a run: what its operators said, and which of them is meant.

In: an open run. Out: the `BatchSettings` of its schedulers, and names looked up with the nearest one in the error.
Called by everything that answers about queues.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

from fairway.batch.settings import BatchSettings, read_settings
from fairway.exit_codes import USAGE
from fairway.model import UserError
from fairway.record import Run
from fairway.record.errors import RecordError

__all__ = ["check_name", "few", "run_settings"]

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
